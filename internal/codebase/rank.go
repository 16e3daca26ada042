package codebase

import (
	"bytes"
	"cmp"
	"path"
	"slices"
	"strings"

	"agency/internal/store/fulltext"
)

// ranking is a list of what was found, the better the sooner, and how much it counts.
type ranking struct {
	hits   []fulltext.Hit
	weight float64
}

// fused makes one list of several by reciprocal ranks, of the files as they are now.
func fused(lists []ranking, all []source, terms []string, most int) (out []Passage) {
	score := map[string]float64{}
	for _, list := range lists {
		rank := 0
		for _, h := range list.hits {
			name, _, _ := strings.Cut(h.Label, "\x00")
			if k, now := slices.BinarySearchFunc(all, name, source.compare); !now || all[k].key != h.Key {
				continue
			}
			rank++
			score[h.Label] += list.weight / float64(rankOf+rank) * standing(name, terms)
		}
	}
	labels := make([]string, 0, len(score))
	for l := range score {
		labels = append(labels, l)
	}
	slices.SortFunc(labels, func(a, b string) int { return cmp.Or(cmp.Compare(score[b], score[a]), strings.Compare(a, b)) })
	of := map[string]int{}
	for _, l := range labels {
		p := ofLabel(l)
		if of[p.Path]++; of[p.Path] <= maxOfFile {
			out = append(out, p)
		}
		if len(out) == most {
			break
		}
	}
	return out
}

// standing weighs what is about the code, and not the code that is asked for, below it:
// tests, what is measured and shown by example, documents; unless they are asked for.
func standing(p string, terms []string) float64 {
	asked := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(terms, w) })
	}
	base := path.Base(p)
	test := strings.Contains(base, "_test.") || strings.Contains(base, ".test.") || strings.Contains(base, ".spec.") || strings.HasPrefix(base, "test_")
	for part := range strings.SplitSeq(path.Dir(p), "/") {
		test = test || slices.Contains(beside, strings.ToLower(part))
	}
	switch path.Ext(base) {
	case ".md", ".rst":
		if !asked("doc", "docs", "document", "documentation", "readme", "changelog") {
			return 0.8
		}
	}
	if test && !asked("test", "tests", "benchmark", "benchmarks", "example", "examples") {
		return 0.6
	}
	return 1
}

// beside are folders of tests and the like.
var beside = strings.Fields("t test tests testing testdata __tests__ spec specs e2e integration fixtures bench benchmark benchmarks example examples")

// byText ranks files by the words that their text has, rare ones before frequent ones, and
// shows of each the line with the most.
func byText(all []source, terms []string, most int) Searched {
	lower := make([][]byte, len(all))
	count := make([]int, len(terms))
	for i, s := range all {
		lower[i] = bytes.ToLower(s.text)
		for k, w := range terms {
			if bytes.Contains(lower[i], []byte(w)) {
				count[k]++
			}
		}
	}
	type ranked struct {
		i     int
		score float64
	}
	var list []ranked
	for i := range all {
		r := ranked{i: i}
		for k, w := range terms {
			if bytes.Contains(lower[i], []byte(w)) {
				r.score += 1 / float64(count[k])
			}
		}
		if r.score > 0 {
			list = append(list, r)
		}
	}
	slices.SortStableFunc(list, func(a, b ranked) int { return cmp.Compare(b.score, a.score) })
	out := Searched{Certainty: Text}
	for _, r := range list[:min(len(list), most)] {
		best, at, n := -1.0, 0, 0
		for line := range bytes.Lines(lower[r.i]) {
			have := 0.0
			for k, w := range terms {
				if bytes.Contains(line, []byte(w)) {
					have += 1 / float64(count[k])
				}
			}
			if have > best {
				best, at = have, n
			}
			n += len(line)
		}
		text, line := lineAt(all[r.i].text, min(at, len(all[r.i].text)))
		out.Passages = append(out.Passages, Passage{Path: all[r.i].path, Line: line, End: line, Text: text})
	}
	return out
}
