package staging

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"agency/internal/agency"
)

const (
	// maxAlike is how many ended contracts are staged at most, leastAlike the share of a
	// contract's words, by weight, that one must have.
	maxAlike   = 2
	leastAlike = 0.35
	// sameFile is what a file counts that one changed and the other names.
	sameFile = 0.2
	// maxEnded is how many bytes of an ended contract are staged.
	maxEnded = 3 << 10
)

// Ended is a contract that has ended, with what can be learnt of it.
type Ended struct {
	Contract agency.Contract
	Failed   []string // why attempts at it were not enough, oldest first
	Diff     string   // of what landed; empty: nothing did
}

// Alike are those of ended contracts that are most like one that begins, the most alike
// first: by the words that they share, of which rare ones count more, and by files.
func Alike(c agency.Contract, ended []agency.Contract) []agency.Contract {
	own := termsOf(c)
	words := make([]map[string]bool, len(ended))
	in := map[string]int{} // how many contracts have a word
	for i, e := range ended {
		words[i] = map[string]bool{}
		for _, t := range termsOf(e) {
			words[i][t.word] = true
			in[t.word]++
		}
	}
	weight := func(t term) float64 { return t.weight * math.Log(1+float64(len(ended)+1)/float64(in[t.word]+1)) }
	all := 0.0
	for _, t := range own {
		all += weight(t)
	}
	type scored struct {
		agency.Contract
		score float64
	}
	var out []scored
	for i, e := range ended {
		shared := 0.0
		for _, t := range own {
			if words[i][t.word] {
				shared += weight(t)
			}
		}
		score := shared / max(all, 1)
		if slices.ContainsFunc(slices.Concat(c.Writes, c.RelevantFiles), func(f string) bool {
			return slices.Contains(e.ActualOutputs.FilesModified, f) || slices.Contains(e.ActualOutputs.FilesCreated, f)
		}) {
			score += sameFile
		}
		if score >= leastAlike {
			out = append(out, scored{e, score})
		}
	}
	slices.SortStableFunc(out, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), b.CompletedAt.Compare(a.CompletedAt), strings.Compare(string(a.ID), string(b.ID)))
	})
	picked := make([]agency.Contract, min(len(out), maxAlike))
	for i := range picked {
		picked[i] = out[i].Contract
	}
	return picked
}

// Item shows an ended contract: what it asked for, what failed on the way, what landed.
func (e Ended) Item() Item {
	c := e.Contract
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n%s\n", c.Title, strings.TrimSpace(c.Description))
	if len(e.Failed) > 0 {
		b.WriteString("\nWhat was not enough on the way:\n")
		for _, f := range e.Failed {
			fmt.Fprintf(&b, "- %s\n", f)
		}
	}
	how := "a contract like this one, which failed"
	if c.Status == agency.StatusComplete {
		how = "a contract like this one, which has landed"
	}
	if e.Diff != "" {
		fmt.Fprintf(&b, "\nWhat landed:\n%s", e.Diff)
	}
	text, whole := b.String(), true
	if len(text) > maxEnded {
		text, whole = strings.ToValidUTF8(text[:maxEnded], "")+"\n[... the rest left out ...]\n", false
	}
	return Item{Kind: History, Path: string(c.RunID) + "/" + string(c.ID), Text: text, Whole: whole, Why: how}
}
