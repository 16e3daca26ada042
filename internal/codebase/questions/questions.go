// Package questions judges a search of code by questions with known answers: how many have
// an answer among the first five files, and the mean reciprocal rank. It knows no search;
// grep with a question's words is what each is held against.
package questions

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Set are the questions about one repository.
type Set struct {
	Name, URL, Commit string // "": the repository that the questions lie in
	Questions         []Question
}

// Question has an answer in one of some files; a folder has a slash at its end.
type Question struct {
	Text  string
	Files []string
}

// Read reads sets: "= NAME URL COMMIT" begins one, a line of it is "QUESTION | PATH#SYMBOL
// ...", where the symbol is for people; "#" begins a comment.
func Read(r io.Reader) (out []Set, err error) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		text, files, ok := strings.Cut(line, "|")
		switch head := strings.Fields(line); {
		case line == "" || line[0] == '#':
		case line[0] == '=' && len(head) == 4:
			out = append(out, Set{Name: head[1], URL: head[2], Commit: head[3]})
		case !ok:
			return nil, fmt.Errorf("%q is no question", line)
		default:
			if len(out) == 0 {
				out = append(out, Set{})
			}
			q := Question{Text: strings.TrimSpace(text)}
			for f := range strings.FieldsSeq(files) {
				path, _, _ := strings.Cut(f, "#")
				q.Files = append(q.Files, path)
			}
			out[len(out)-1].Questions = append(out[len(out)-1].Questions, q)
		}
	}
	return out, lines.Err()
}

// Rank is the place of the first path that answers the question, from 1; 0: none does.
func (q Question) Rank(paths []string) int {
	for i, p := range paths {
		for _, want := range q.Files {
			if p == want || strings.HasSuffix(want, "/") && strings.HasPrefix(p, want) {
				return i + 1
			}
		}
	}
	return 0
}

// Tally is how well questions were answered.
type Tally struct{ n, five, reciprocal float64 }

// Add counts a question by the rank of its answer.
func (y *Tally) Add(rank int) {
	y.n++
	if rank > 0 {
		y.reciprocal += 1 / float64(rank)
	}
	if rank > 0 && rank <= 5 {
		y.five++
	}
}

// Recall is the part of the questions with an answer among the first five files, MRR the
// mean of the reciprocal ranks.
func (y Tally) Recall() float64 { return y.five / max(1, y.n) }

// MRR is described with Recall.
func (y Tally) MRR() float64 { return y.reciprocal / max(1, y.n) }

func (y Tally) String() string {
	return fmt.Sprintf("recall@5 %.2f, MRR %.2f over %.0f", y.Recall(), y.MRR(), y.n)
}

// Halves are tallies of every other question: the engine is tuned by the first, and the
// second is held out.
type Halves [2]Tally

// Judge asks all questions of a set.
func (s Set) Judge(answer func(question string) (paths []string, err error)) (h Halves, err error) {
	for i, q := range s.Questions {
		paths, err := answer(q.Text)
		if err != nil {
			return h, fmt.Errorf("%s: %w", q.Text, err)
		}
		h[i%2].Add(q.Rank(paths))
	}
	return h, nil
}

// All are both halves together.
func (h Halves) All() Tally { return h[0].With(h[1]) }

// With are the questions of both tallies.
func (y Tally) With(o Tally) Tally {
	return Tally{y.n + o.n, y.five + o.five, y.reciprocal + o.reciprocal}
}

// File is a file for Grep.
type File struct{ Path, Text string }

// Grep ranks files by how many lines hold one of the question's words, as grep -c would say:
// at most ten.
func Grep(files []File, question string) (out []string) {
	words := slices.DeleteFunc(strings.Fields(strings.ToLower(question)), func(w string) bool { return slices.Contains(little, w) })
	type ranked struct {
		path string
		n    int
	}
	var list []ranked
	for _, f := range files {
		r := ranked{path: f.Path}
		for line := range strings.Lines(strings.ToLower(f.Text)) {
			if slices.ContainsFunc(words, func(w string) bool { return strings.Contains(line, w) }) {
				r.n++
			}
		}
		if r.n > 0 {
			list = append(list, r)
		}
	}
	slices.SortStableFunc(list, func(a, b ranked) int { return b.n - a.n })
	for _, r := range list[:min(len(list), 10)] {
		out = append(out, r.path)
	}
	return out
}

// little are words that nobody would grep for.
var little = strings.Fields("a an and are as at be but by can do does for from has have how i if in into is it its not of on one only or other so some " +
	"such that the their them then there these this to up was what when where which who whom whose why will with within without we you")
