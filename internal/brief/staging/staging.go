// Package staging picks what an agent should have in front of it before it
// begins a contract: the files that the contract is about, their
// tests, the declarations of what they use, and similar code, fitted into a
// budget by value. It finds them by name, by the contract's own words, along
// imports, and by what changed together in history; there is no index of
// symbols here, and no model is asked.
//
// The same repository and contract always give the same context in the same
// order. It writes nothing: package session/native puts the result into the brief
// and into the workspace.
package staging

import (
	"context"
	"io/fs"
	"slices"
	"strings"

	"agency/internal/agency"
)

// Limits bound a context.
type Limits struct {
	MaxTokens int64 // 0: nothing is staged
	Tests     bool
	Similar   bool
}

// Input is what a context is made from.
type Input struct {
	FS       fs.FS // the workspace
	Contract agency.Contract
	// Recent are the files of recent commits, newest first.
	Recent [][]string
	Limits Limits
}

// Kind says what a staged file is there for; it is its folder's name.
type Kind string

// The kinds.
const (
	Source  Kind = "source"
	Test    Kind = "tests"
	API     Kind = "apis"
	Example Kind = "examples"
	History Kind = "history"
)

// Item is one staged file.
type Item struct {
	Kind  Kind
	Path  string // in the repository
	Text  string
	Whole bool // else Text is parts of it, marked where something is left out
	Why   string
	value float64
}

const (
	// maxSeeds is how many files are looked at as what the contract is about.
	maxSeeds = 12
	// leastScore is the share of the best score that a file found by words alone
	// must have.
	leastScore    = 0.25
	bytesPerToken = 3
)

// Stage picks and fits the context of a contract, most valuable first.
func Stage(ctx context.Context, in Input) ([]Item, error) {
	if in.Limits.MaxTokens <= 0 {
		return nil, nil
	}
	repo, err := read(ctx, in.FS)
	if err != nil {
		return nil, err
	}
	p := &picker{in: in, repo: repo, score: map[string]float64{}, why: map[string]string{}}
	p.named()
	p.worded()
	p.neighbours()
	return Fit(p.items(), in.Limits.MaxTokens*bytesPerToken), nil
}

// overhead is what an item costs beside its text, in bytes.
const overhead = 120

// Fit is a context within so many bytes: items are taken in order while they fit; one
// that does not is left out, and what is worth less but smaller may take its place.
func Fit(items []Item, room int64) (out []Item) {
	for _, i := range items {
		if need := int64(len(i.Text)+len(i.Path)) + overhead; need <= room {
			room -= need
			out = append(out, i)
		}
	}
	return out
}

// picker weighs the files of a repository for one contract.
type picker struct {
	in    Input
	repo  *repo
	score map[string]float64
	why   map[string]string // of the largest part of the score
	terms []term
}

func (p *picker) add(path string, points float64, why string) {
	if p.repo.files[path] == nil || points <= 0 {
		return
	}
	if p.score[path] < points {
		p.why[path] = why
	}
	p.score[path] += points
}

// named adds what the contract names itself.
func (p *picker) named() {
	c := p.in.Contract
	for _, name := range c.RelevantFiles {
		p.match(name, 1000, "named by the contract as relevant")
	}
	for _, name := range slices.Concat(c.Writes, c.ExpectedOutputs.FilesModified, c.ExpectedOutputs.FilesCreated) {
		p.match(name, 800, "to be changed by the contract")
	}
	words := text(c)
	for _, path := range p.repo.paths {
		switch base := baseName(path); {
		case len(path) > len(base) && strings.Contains(words, path):
			p.add(path, 400, "named in the contract's text")
		case len(base) > 4 && strings.Contains(base, ".") && containsWord(words, base):
			p.add(path, 200, "named in the contract's text")
		}
	}
}

// match adds the files that a path, folder or glob of a contract means.
func (p *picker) match(pattern string, points float64, why string) {
	pattern, _, _ = strings.Cut(strings.TrimPrefix(pattern, "./"), "#")
	for _, path := range p.repo.paths {
		if path == pattern || strings.HasPrefix(path, strings.TrimSuffix(pattern, "/")+"/") || globMatch(pattern, path) {
			p.add(path, points, why)
		}
	}
}

// seeds are the files that score best so far, without tests.
func (p *picker) seeds() []string {
	all := p.ranked(func(path string) bool { return !isTest(path) && !isProse(path) })
	if len(all) > maxSeeds {
		all = all[:maxSeeds]
	}
	if len(all) > 0 {
		best := p.score[all[0]]
		all = slices.DeleteFunc(all, func(path string) bool { return p.score[path] < best*leastScore })
	}
	return all
}

// ranked are the scored files that a filter takes, best first.
func (p *picker) ranked(takes func(string) bool) []string {
	var out []string
	for _, path := range p.repo.paths {
		if p.score[path] > 0 && takes(path) {
			out = append(out, path)
		}
	}
	slices.SortStableFunc(out, func(a, b string) int {
		switch {
		case p.score[a] > p.score[b]:
			return -1
		case p.score[a] < p.score[b]:
			return 1
		}
		return strings.Compare(a, b)
	})
	return out
}
