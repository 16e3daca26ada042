package verify

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"agency/internal/code"
)

// bySyntax tells whether a file's marks are read from its syntax: Kotlin counts
// as Java, and has none here.
func bySyntax(f source) bool {
	switch f.lang {
	case golang:
		return true
	case rust, java:
		return code.LanguageOf(f.path) != ""
	}
	return false
}

// syntaxMarks are the new ways by which the changed files of Go, Rust and Java
// know of their tests, in words, by path. What only moved from one file to
// another is not new.
func (j *job) syntaxMarks(ctx context.Context, files []source) (map[string]string, error) {
	out := map[string]string{}
	for lang, side := range map[language]func(context.Context, []source, bool, func(string) bool) (map[string][]aware, error){
		golang: j.goSide, rust: j.rustSide, java: j.javaSide,
	} {
		of := slices.DeleteFunc(slices.Clone(files), func(f source) bool { return f.lang != lang || !bySyntax(f) })
		if len(of) == 0 {
			continue
		}
		exists, err := j.existing(ctx)
		if err != nil {
			return nil, err
		}
		before, err := side(ctx, of, false, exists)
		if err != nil {
			return nil, err
		}
		after, err := side(ctx, of, true, exists)
		if err != nil {
			return nil, err
		}
		gone := map[string]int{}
		for _, f := range of {
			for _, m := range freshOf(after[f.path], before[f.path], string(f.after), string(f.before)) {
				gone[spotOf(m, f.before)]++
			}
		}
		for _, f := range of {
			fresh := freshOf(before[f.path], after[f.path], string(f.before), string(f.after))
			fresh = slices.DeleteFunc(fresh, func(m aware) bool {
				at := spotOf(m, f.after)
				gone[at]--
				return gone[at] >= 0
			})
			if f.after != nil && len(fresh) > 0 {
				out[f.path] = sayMarks(fresh)
			}
		}
	}
	return out, nil
}

// spotOf is a mark with what stands on its line.
func spotOf(m aware, src []byte) string {
	lines := strings.Split(string(src), "\n")
	if m.line < 1 || m.line > len(lines) {
		return m.id()
	}
	return m.id() + "\x00" + strings.TrimSpace(lines[m.line-1])
}

// sayMarks writes marks as one line, each with the lines where it is.
func sayMarks(marks []aware) string {
	at := map[string][]int{}
	var words []string
	for _, m := range marks {
		if _, ok := at[m.word]; !ok {
			words = append(words, m.word)
		}
		at[m.word] = append(at[m.word], m.line)
	}
	slices.Sort(words)
	for i, w := range words {
		lines := slices.DeleteFunc(at[w], func(n int) bool { return n == 0 })
		slices.Sort(lines)
		if lines = slices.Compact(lines); len(lines) > 0 {
			words[i] = fmt.Sprintf("%s at line %s", w, strings.ReplaceAll(strings.Trim(fmt.Sprint(lines), "[]"), " ", ", "))
		}
	}
	return strings.Join(words, ", ")
}

// existing tells what files and folders the claim has.
func (j *job) existing(ctx context.Context) (func(string) bool, error) {
	have := map[string]bool{}
	if j.run != nil {
		entries, err := j.tree(ctx, j.task.claim)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			for p := e.Path; p != "." && !have[p]; p = path.Dir(p) {
				have[p] = true
			}
		}
	}
	return func(p string) bool { return have[p] }, nil
}

// read reads a source by tree-sitter; what is too large or too much to be read
// is a mark of its own: nobody has looked.
func (j *job) syntaxOf(ctx context.Context, p string, src []byte) (n code.Node, fault []aware, err error) {
	n, err = j.v.o.Syntax.Tree(ctx, p, src)
	if err != nil && skipped(err) == nil {
		return n, []aware{{word: "cannot be looked at (" + strings.TrimPrefix(err.Error(), "read ") + ")", key: "unread"}}, nil
	}
	return n, nil, err
}

// common are the marks of any language in the literals of a file.
func common(f *synFile) (out []aware) {
	for _, fn := range f.funcs {
		fn.body.texts(func(text string, line int) {
			for _, m := range anywhere() {
				if m.form.MatchString(text) || m.form.MatchString("'"+text+"'") {
					out = append(out, aware{word: m.word, line: line})
				}
			}
		})
	}
	return out
}
