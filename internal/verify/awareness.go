package verify

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/awareness"
	"agency/internal/awareness/dataflow"
	"agency/internal/awareness/symbols"
	"agency/internal/changeset"
	"agency/internal/code"
	"agency/internal/ecosystem"
	"agency/internal/git"
	"agency/internal/languages"
	"agency/internal/text"
)

// testAwareness finds in changed files by what the product newly knows of its tests,
// or can end their process: with either a change can look right without being so.
// Results come from a process that the claim's code shares, so that no reading of
// them can be proof against that; what is new of it is shown to a person instead.
type testAwareness struct {
	syntax      *code.Engine
	base, claim agency.OID // trees
	// trees has their other files; nil where there is nothing but those that are looked at.
	trees *changeset.Trees
}

// list are the files of a tree.
func (t testAwareness) list(ctx context.Context, tree agency.OID) []git.Entry {
	if t.trees == nil {
		return nil
	}
	return t.trees.List(ctx, tree)
}

// weakenings names what is new of it in a change.
func (t testAwareness) weakenings(ctx context.Context, files []source, criteria []agency.Criterion) ([]agency.Weakening, error) {
	followed, err := t.followed(ctx, files)
	if err != nil {
		return nil, err
	}
	read, err := t.readTrees(ctx, files)
	if err != nil {
		return nil, err
	}
	out := append(handshakes(files, criteria), handedIn(files, read, criteria)...)
	for _, f := range files {
		if f.after == nil {
			continue
		}
		words := followed[f.path]
		if !isFollowed(f) {
			both := read[f.path]
			words = said(f.path, beyond(append(tellings(both.after), textMarks(f, f.after)...), append(tellings(both.before), textMarks(f, f.before)...)))
		}
		if words != "" {
			out = append(out, agency.Weakening{Kind: agency.WeakForging, Name: f.path, Detail: words})
		}
	}
	return out, nil
}

// said lists marks with their places.
func said(p string, all []awareness.Finding) string {
	var out []string
	for _, s := range all {
		if s.Line > 0 {
			s.Word += fmt.Sprintf(", %s:%d", p, s.Line)
		}
		out = append(out, s.Word)
	}
	return strings.Join(out, "; ")
}

// beyond are the marks of after that before has fewer times, each once and where
// it is new.
func beyond(after, before []awareness.Finding) (out []awareness.Finding) {
	left, lines := map[string]int{}, map[string]bool{}
	for _, s := range before {
		left[s.Word]++
		lines[s.Word+"\x00"+s.Code] = true
	}
	for _, s := range after {
		left[s.Word]--
	}
	for _, known := range []bool{false, true} { // new lines first
		for _, s := range after {
			said := slices.ContainsFunc(out, func(o awareness.Finding) bool { return o.Word == s.Word })
			if left[s.Word] < 0 && lines[s.Word+"\x00"+s.Code] == known && !said {
				out = append(out, s)
			}
		}
	}
	slices.SortFunc(out, func(a, b awareness.Finding) int { return strings.Compare(a.Word, b.Word) })
	return out
}

// textMarks are the ways that the name and the text of a file have.
func textMarks(f source, src []byte) (out []awareness.Finding) {
	if src == nil {
		return nil
	}
	if displaces := languages.Of(f.path).Awareness.Modules.Displaces; displaces != nil {
		for _, why := range displaces(f.path) {
			out = append(out, awareness.Finding{Word: why})
		}
	}
	text := readAs(f.path).Style.WithoutCommentLines(string(src))
	for _, m := range marksBy(f.path) {
		if f.test && !m.Tests && !m.Only || !f.test && m.Only {
			continue
		}
		out = append(out, found(m, text)...)
	}
	return out
}

// sidesOfFile are both sides of a file, as their syntax shows them.
type sidesOfFile struct{ before, after symbols.File }

// readTrees reads the files whose symbols are followed.
func (t testAwareness) readTrees(ctx context.Context, files []source) (map[string]sidesOfFile, error) {
	out, hidden := map[string]sidesOfFile{}, map[ecosystem.Name]func(string) func(string) bool{}
	var modules []ecosystem.Module
	for _, f := range files {
		modules = append(modules, ecosystem.Module{Path: f.path, Text: f.after, Product: matterOf(f.path) == ofProduct})
	}
	for _, f := range files {
		lang := languages.Of(f.path).Awareness
		if lang.Symbols == nil || f.after == nil {
			continue
		}
		if _, asked := hidden[f.lang]; !asked && lang.Modules.OfTests != nil {
			hidden[f.lang] = lang.Modules.OfTests(t.testModules(ctx, f.lang))
		}
		o := symbols.Options{Test: f.test || f.helps() || matterOf(f.path) == ofTests}
		if seen := hidden[f.lang]; seen != nil {
			o.Theirs = seen(f.path)
		}
		var both sidesOfFile
		for _, side := range []struct {
			src []byte
			to  *symbols.File
		}{{f.before, &both.before}, {f.after, &both.after}} {
			if side.src == nil {
				continue
			}
			name, text := lang.Modules.Source(f.path, side.src)
			root, err := t.syntax.Tree(ctx, name, text)
			switch {
			case errors.Is(err, code.ErrTooLarge), errors.Is(err, code.ErrTooMuch):
				side.to.Findings = []awareness.Finding{{Word: "is too large to be read"}}
			case err != nil:
				return nil, err
			default:
				o.Program = lang.Modules.IsProgram(ecosystem.Module{Path: f.path, Text: text}, modules)
				*side.to = symbols.Read(root, lang.Symbols, o)
			}
		}
		out[f.path] = both
	}
	return out, nil
}

// testModules are the modules of a language that lie in folders of tests of the
// claim, and what the claim has.
func (t testAwareness) testModules(ctx context.Context, lang ecosystem.Name) (tests []string, exists func(string) bool) {
	for _, e := range t.list(ctx, t.claim) {
		if languageOf(e.Path) == lang && matterOf(e.Path) == ofTests && !isVendored(e.Path) {
			tests = append(tests, moduleOf(e.Path))
		}
	}
	return tests, t.existing(ctx)
}

// tellings are the findings of a file with what was seen in their words.
func tellings(f symbols.File) []awareness.Finding {
	out := slices.Clone(f.Findings)
	for i, m := range out {
		if m.What != "" {
			out[i].Word += ": " + text.Head(m.What, 60)
		}
	}
	return out
}

// isFollowed tells whether values are followed through a file: Kotlin counts as
// Java, and has no syntax here.
func isFollowed(f source) bool {
	return languages.Of(f.path).Awareness.Read != nil && code.LanguageOf(f.path) != ""
}

// followed are the new findings of the changed files that values are followed
// through, in words, by path. What only moved from one file to another is not new.
func (t testAwareness) followed(ctx context.Context, files []source) (map[string]string, error) {
	out := map[string]string{}
	for _, e := range languages.All() {
		of := slices.DeleteFunc(slices.Clone(files), func(f source) bool { return f.lang != e.Name || !isFollowed(f) })
		if len(of) == 0 {
			continue
		}
		repo := dataflow.Repository{Exists: t.existing(ctx), IsTest: isTestFile}
		before, err := t.findings(ctx, e.Awareness, of, false, repo)
		if err != nil {
			return nil, err
		}
		after, err := t.findings(ctx, e.Awareness, of, true, repo)
		if err != nil {
			return nil, err
		}
		gone := map[string]int{}
		for _, f := range of {
			for _, m := range added(after[f.path], before[f.path], string(f.after), string(f.before)) {
				gone[spotOf(m, f.before)]++
			}
		}
		for _, f := range of {
			fresh := added(before[f.path], after[f.path], string(f.before), string(f.after))
			fresh = slices.DeleteFunc(fresh, func(m awareness.Finding) bool {
				at := spotOf(m, f.after)
				gone[at]--
				return gone[at] >= 0
			})
			if f.after != nil && len(fresh) > 0 {
				out[f.path] = inWords(fresh)
			}
		}
	}
	return out, nil
}

// findings are those of one side of the files of a language, by path. What is too
// large or too much to be read is one of its own: nobody has looked.
func (t testAwareness) findings(ctx context.Context, lang ecosystem.Awareness, files []source, after bool, repo dataflow.Repository) (map[string][]awareness.Finding, error) {
	out := map[string][]awareness.Finding{}
	var forms []*dataflow.File
	tree := t.base
	if after {
		tree = t.claim
	}
	for _, f := range files {
		src := f.before
		if after {
			src = f.after
		}
		if src == nil {
			continue
		}
		form, found, err := lang.Read(dataflow.Source{
			Path: f.path, Text: src, Test: f.test, Repo: repo, Words: wordsAnywhere,
			Tree:      func() (code.Node, error) { return t.syntax.Tree(ctx, f.path, src) },
			TestSpans: func() ([]code.Span, error) { return t.syntax.TestSpans(ctx, f.path, src) },
			Beside:    func() ([][]byte, error) { return t.beside(ctx, f.path, tree), nil },
		})
		if err != nil {
			if code.Skip(err) != nil {
				return nil, err
			}
			found = []awareness.Finding{{Word: "cannot be looked at (" + strings.TrimPrefix(err.Error(), "read ") + ")", Key: "unread"}}
		}
		if out[f.path] = found; form != nil {
			forms = append(forms, form)
		}
	}
	all := dataflow.New(lang.Model(repo), forms)
	for _, f := range forms {
		out[f.Path] = append(out[f.Path], all.Findings(f)...)
	}
	return out, nil
}

// wordsAnywhere are what a literal tells in any language.
func wordsAnywhere(text, quoted string) (out []string) {
	for _, m := range anywhere() {
		if m.Form.MatchString(text) || m.Form.MatchString(quoted) {
			out = append(out, m.Word)
		}
	}
	return out
}

// beside are the other sources of a file's folder in a tree; one that is too large
// is left out: where the change made it so, it is named as unread.
func (t testAwareness) beside(ctx context.Context, p string, tree agency.OID) (out [][]byte) {
	left := maxSourcesSum
	for _, e := range t.list(ctx, tree) {
		if path.Dir(e.Path) != path.Dir(p) || e.Path == p || path.Ext(e.Path) != path.Ext(p) {
			continue
		}
		if b, ok := t.trees.Content(ctx, e, min(left, maxSourceSize)); ok {
			left -= len(b)
			out = append(out, b)
		}
	}
	return out
}

// existing tells what files and folders the claim has.
func (t testAwareness) existing(ctx context.Context) func(string) bool {
	have := pathsIn(t.list(ctx, t.claim))
	return func(p string) bool { return have[p] }
}

// added are the findings of after that before has fewer times, with the lines of
// those that stand on a line which before does not have.
func added(before, after []awareness.Finding, was, is string) (out []awareness.Finding) {
	left, most := map[string]int{}, map[string]int{}
	for _, m := range before {
		left[m.ID()]++
	}
	for _, m := range after {
		most[m.ID()]++
	}
	old := map[string]bool{}
	for line := range strings.Lines(was) {
		old[strings.TrimSpace(line)] = true
	}
	lines := strings.Split(is, "\n")
	slices.SortStableFunc(after, func(a, b awareness.Finding) int { return a.Line - b.Line })
	for _, known := range []bool{false, true} { // new lines first
		for _, m := range after {
			stood := m.Line > 0 && m.Line <= len(lines) && old[strings.TrimSpace(lines[m.Line-1])]
			if stood == known && most[m.ID()] > left[m.ID()] {
				most[m.ID()]--
				out = append(out, m)
			}
		}
	}
	return out
}

// spotOf is a finding with what stands on its line.
func spotOf(m awareness.Finding, src []byte) string {
	lines := strings.Split(string(src), "\n")
	if m.Line < 1 || m.Line > len(lines) {
		return m.ID()
	}
	return m.ID() + "\x00" + strings.TrimSpace(lines[m.Line-1])
}

// inWords writes findings as one line, each with the lines where it is.
func inWords(found []awareness.Finding) string {
	at := map[string][]int{}
	var words []string
	for _, m := range found {
		if _, ok := at[m.Word]; !ok {
			words = append(words, m.Word)
		}
		at[m.Word] = append(at[m.Word], m.Line)
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
