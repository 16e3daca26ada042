package check

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"

	"agency/internal/agency"
	"agency/internal/ecosystem"
	"agency/internal/testreport"
)

// selection is what a call is to run.
type selection struct {
	ecosystem.Selection
	// affected, where set, is picked in position of all of this; left is then told
	// what of the call's tests does not run, of the files in code.
	affected *ecosystem.Affected
	left     *func(test string) bool
	code     map[string]bool
}

// chooser says what of the calls of a line is to run; false: nothing of it.
type chooser struct {
	repo  ecosystem.Repo
	call  func(call) (selection, bool)
	depth int
}

// apply is the line with its chosen calls narrowed. A part of the chain that
// holds only tests of which none is chosen is left out; any other test command
// does nothing. False where a chosen call cannot select.
func (ch chooser) apply(line, dir string) (string, bool) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(line), "")
	if err != nil || len(file.Stmts) == 0 {
		return "", false
	}
	f := finder{repo: ch.repo, line: line}
	f.stmts(file.Stmts, position{dir: dir})
	var edits []ecosystem.Edit
	chosen := map[uint]bool{}
	for _, c := range f.calls {
		text, ok := "true", true
		if sel, want := ch.call(c); want {
			if text, ok = ch.narrowed(line, c, sel); !ok || c.Dir == ecosystem.UnknownDir || c.Loop {
				return "", false
			}
			chosen[c.expr.Pos().Offset()] = true
		}
		edits = append(edits, ecosystem.Edit{From: int(c.expr.Pos().Offset()), To: int(c.expr.End().Offset()), Text: text})
	}
	if len(chosen) == 0 {
		return "", false
	}
	return ch.join(line, file, edits, chosen), true
}

// join puts the edited line together, without the tests that nobody chose.
func (ch chooser) join(line string, file *syntax.File, edits []ecosystem.Edit, chosen map[uint]bool) string {
	if len(file.Stmts) != 1 || file.Stmts[0].Negated || file.Stmts[0].Background {
		return apply(line, edits)
	}
	elements, _ := chain(file.Stmts[0])
	f := finder{repo: ch.repo, line: line}
	var parts []string
	for _, e := range elements {
		from, to := e.Pos().Offset(), e.End().Offset()
		hit := false
		for at := range chosen {
			hit = hit || at >= from && at < to
		}
		if !hit && f.onlyTests(e, position{dir: "."}) {
			continue
		}
		var own []ecosystem.Edit
		for _, d := range edits {
			if d.From >= int(from) && d.To <= int(to) {
				own = append(own, ecosystem.Edit{From: d.From - int(from), To: d.To - int(from), Text: d.Text})
			}
		}
		parts = append(parts, apply(line[from:to], own))
	}
	return strings.Join(parts, " && ")
}

// narrowed is one call made to run a selection only.
func (ch chooser) narrowed(line string, c call, sel selection) (string, bool) {
	if c.Script != "" {
		return ch.script(c, sel)
	}
	at := int(c.expr.Pos().Offset())
	edits, ok := c.selecting(sel, ch.repo)
	for i := range edits {
		edits[i].From -= at
		edits[i].To -= at
	}
	return apply(line[at:c.expr.End().Offset()], edits), ok
}

// script puts the text of a package script in position of its call: only what a
// script says itself can be told what to run, whatever stands around it.
func (ch chooser) script(c call, sel selection) (string, bool) {
	if ch.depth++; ch.depth > maxScripts || ch.repo.FS == nil {
		return "", false
	}
	scripts := (&finder{repo: ch.repo}).scripts(c.Dir)
	text := scripts[c.Script]
	for _, w := range c.Words[c.At+1:] {
		if w != "--" {
			text += " " + ecosystem.Quote(w)
		}
	}
	ch.call = func(inner call) (selection, bool) { return sel, inner.runner == c.runner }
	narrowed, ok := ch.apply(text, c.Dir)
	if !ok {
		return "", false
	}
	for _, p := range launchers() {
		if p.InPlace != nil {
			narrowed = p.InPlace(c.Call, scripts, narrowed)
		}
	}
	return narrowed, true
}

// choose picks single tests, named as in a receipt, of their calls. False where a
// test belongs to no call.
func choose(calls []call, tests []string, repo ecosystem.Repo) (func(call) (selection, bool), bool) {
	by := map[int][]string{}
	for _, t := range tests {
		i := owner(calls, t, repo)
		if _, whole := testreport.IsPackage(t); whole || i < 0 {
			return nil, false
		}
		by[calls[i].From] = append(by[calls[i].From], t)
	}
	return func(c call) (selection, bool) {
		own := by[c.From]
		return c.exactly(own), len(own) > 0
	}, true
}

// owner is the call that reported a test: the one that its runner is sure of, else
// that of the deepest folder which the name begins with, if its runner names tests
// so.
func owner(calls []call, test string, repo ecosystem.Repo) int {
	best, maybe := -1, -1
	for i, c := range calls {
		if c.runner.Owner != nil {
			if at, sure := ownerBy(c.runner, calls, test, repo); sure {
				return at
			} else if at >= 0 {
				maybe = at
			}
			continue
		}
		if c.Dir == ecosystem.UnknownDir || c.Loop || !c.runner.Names(test) || (c.Dir != "." && !strings.HasPrefix(test, c.Dir+"/")) {
			continue
		}
		if best < 0 || len(c.Dir) > len(calls[best].Dir) {
			best = i
		}
	}
	if best < 0 {
		return maybe
	}
	return best
}

// ownerBy is the call of a runner that reported a test.
func ownerBy(r *ecosystem.Runner, calls []call, test string, repo ecosystem.Repo) (at int, sure bool) {
	var own []ecosystem.Call
	var of []int
	for i, c := range calls {
		if c.runner == r {
			own, of = append(own, c.Call), append(of, i)
		}
	}
	if at, sure = r.Owner(own, test, repo); at < 0 {
		return at, false
	}
	return of[at], sure
}

// selecting are the edits that make a call run a selection. False where the
// runner cannot, or the call already selects by name.
func (c call) selecting(sel selection, repo ecosystem.Repo) ([]ecosystem.Edit, bool) {
	if sel.affected == nil {
		return c.runner.Select(c.Call, sel.Selection, repo)
	}
	if c.runner.Affected == nil {
		return nil, false
	}
	edits, left, ok := c.runner.Affected(c.Call, *sel.affected, repo)
	if left == nil {
		left = func(test string) bool {
			f, ok := testreport.SplitFile(test)
			return ok && sel.code[f] && !sel.affected.Hits(f)
		}
	}
	*sel.left = left
	return edits, ok
}

// exactly parts the names of a receipt into files and what is selected in them.
func (c call) exactly(tests []string) selection {
	sel := selection{Selection: ecosystem.Selection{Exact: true}}
	add := func(to *[]string, s string) {
		if !slices.Contains(*to, s) {
			*to = append(*to, s)
		}
	}
	for _, t := range tests {
		if c.Dir != "." && !c.runner.Direct {
			t = strings.TrimPrefix(t, c.Dir+"/")
		}
		if c.runner.Pick != nil {
			var file string
			if file, t = c.runner.Pick(t); file != "" {
				add(&sel.Paths, file)
			}
		}
		add(&sel.Names, t)
	}
	return sel
}

// OneCall is the only call of a test runner in a line.
type OneCall struct {
	Language ecosystem.Name
	Dir      string // its working folder, relative to the checkout
	// Says is the text that decides what it loads: the line, the package scripts
	// behind it and the configuration of its runner.
	Says string
	// Together tells whether it runs the tests of all files in one process, where
	// each can need what another one did.
	Together bool
}

// FindOneCall tells whether all tests of a line are run by one call whose tests
// can be picked by files.
func FindOneCall(line string, repo fs.FS) (OneCall, bool) {
	f := ecosystem.Repo{FS: repo}
	calls := findCalls(line, f)
	if len(calls) != 1 || calls[0].Dir == ecosystem.UnknownDir || calls[0].Loop {
		return OneCall{}, false
	}
	c := calls[0]
	if c.runner.Language == "" {
		return OneCall{}, false
	}
	one := OneCall{Language: c.runner.Language, Dir: c.Dir, Says: line, Together: c.runner.Together}
	if c.runner.Config != nil {
		one.Says += c.runner.Config(c.Call, f)
	}
	return one, true
}

// Narrowed is a line that runs only tests which a change can affect.
type Narrowed struct {
	Line string
	// Both: the base has to run this line too, for names do not tell what of its
	// results the line leaves out.
	Both bool
	// Left tells whether a test by its name is one that the line leaves out, where
	// its runner does not know more and no result of its file came.
	Left func(test string) bool
}

// Only makes a line with one call run the tests that a change can affect. False
// where its runner cannot, or would leave out none.
func Only(line string, a ecosystem.Affected, repo fs.FS) (Narrowed, bool) {
	_, ok := FindOneCall(line, repo)
	if !ok {
		return Narrowed{}, false
	}
	a.Hit, a.Code = slices.Sorted(slices.Values(a.Hit)), slices.Sorted(slices.Values(a.Code))
	n := Narrowed{Both: len(a.Packages) > 0}
	code := map[string]bool{}
	for _, f := range a.Code {
		code[f] = true
	}
	ch := chooser{repo: ecosystem.Repo{FS: repo}, call: func(c call) (selection, bool) { return selection{affected: &a, left: &n.Left, code: code}, true }}
	n.Line, ok = ch.apply(line, ".")
	return n, ok && len(n.Line) < maxLine
}

// maxLine bounds a line that names many files: the system takes no word of more
// than 128 KiB.
const maxLine = 100 << 10

// List makes of a test line that is one call the line that lists what it tests, in a
// format of its runner. False where nobody can tell.
func List(line, format string) (string, bool) {
	calls := directly(findCalls(line, ecosystem.Repo{}), true)
	if len(calls) != 1 || calls[0].runner.List == nil {
		return "", false
	}
	edits, ok := calls[0].runner.List(calls[0].Call, format)
	return apply(line, edits), ok
}

// Rerun makes a test line that runs only these tests, named as in a receipt. In
// repo are the files of the repository, for package scripts; it may be nil.
// False where a name belongs to no call of the line, or its runner cannot
// select.
func Rerun(line string, tests []string, repo fs.FS) (string, bool) {
	f := ecosystem.Repo{FS: repo}
	call, ok := choose(findCalls(line, f), tests, f)
	if !ok || len(tests) == 0 {
		return "", false
	}
	return chooser{repo: f, call: call}.apply(line, ".")
}

// Shuffled is a test line that runs the same tests in another order. False where
// no runner of it can do so, or it does already: then the line is as it was. In
// repo are the files of the repository; it may be nil.
func Shuffled(line string, repo fs.FS) (string, bool) {
	f := ecosystem.Repo{FS: repo}
	var edits []ecosystem.Edit
	for _, c := range findCalls(line, f) {
		if c.runner.Shuffle != nil {
			edits = append(edits, c.runner.Shuffle(c.Call, f)...)
		}
	}
	return apply(line, edits), len(edits) > 0
}

// Target makes a command look at one part of a repository only, named as an
// agent writes it: a file, a folder, a package, a test by its name or a piece of
// it, a path and a name with a space between, or a name as receipts have it. Of
// commands that run no known runner only such that name all of Go's packages
// can be narrowed. In repo are the files of the repository; it may be nil.
func Target(line, target string, repo fs.FS) (string, error) {
	target = strings.TrimSpace(target)
	if target == "" || strings.HasPrefix(target, "-") || strings.HasPrefix(target, "/") || strings.ContainsFunc(target, unicode.IsControl) {
		return "", agency.Errorf(agency.KindInvalid,
			"target %q is neither a file, folder or package such as ./internal/config nor the name of a test; leave it out, or use run_command", target)
	}
	f := ecosystem.Repo{FS: repo}
	if rerun, ok := Rerun(line, []string{target}, repo); ok && (repo == nil || !f.Has(tidy(target))) {
		return rerun, nil
	}
	calls := findCalls(line, f)
	switch {
	case len(calls) == 1 && calls[0].runner.Spell != nil:
		if spelled, ok := calls[0].runner.Spell(target); ok {
			return Narrow(line, spelled)
		}
	case len(calls) > 0:
		t := aim{line: line, target: target, repo: f, calls: calls}
		return t.narrowed()
	}
	for _, r := range runners() {
		if r.Whole == nil {
			continue
		}
		if narrowed, ok := r.Whole(line, target); ok {
			return narrowed, nil
		}
	}
	return "", agency.Errorf(agency.KindInvalid, "the command `%s` cannot be narrowed; leave target out, or use run_command", line)
}

// aim is a target on its way to the calls that it means.
type aim struct {
	line, target string
	repo         ecosystem.Repo
	calls        []call
}

// narrowed finds what the target means and has the calls select it.
func (a aim) narrowed() (string, error) {
	p, name := a.parted()
	dirs := a.parts(p, name)
	if len(dirs) == 0 {
		return "", a.refuse("nothing of the name is in the repository: want a file, a folder, or the name of a test")
	}
	ch := chooser{repo: a.repo, call: func(c call) (selection, bool) {
		sel := selection{Selection: ecosystem.Selection{Paths: inside(c.Dir, p)}}
		if name != "" {
			sel.Names = []string{name}
		}
		if c.runner.Direct { // one that selects something itself does nothing
			_, ok := c.selecting(sel, a.repo)
			return sel, ok && dirs[c.Dir]
		}
		return sel, dirs[c.Dir]
	}}
	out, ok := ch.apply(a.line, ".")
	if !ok {
		return "", a.refuse("its runner cannot select that")
	}
	return out, nil
}

func (a aim) refuse(why string) error {
	return agency.Errorf(agency.KindInvalid, "target %q: the test command `%s` cannot be narrowed to it: %s", a.target, a.line, why).
		WithMend("leave target out, name a test as the last results did, or use run_command")
}

// parted parts the target into a path that is there and a name.
func (a aim) parted() (p, name string) {
	for _, sep := range []string{testreport.Separator, "::", " ", "#"} {
		head, rest, ok := strings.Cut(a.target, sep)
		if q := tidy(head); ok && a.repo.FS != nil && a.repo.Has(q) {
			return q, strings.TrimSpace(rest)
		}
	}
	if q := tidy(a.target); a.repo.Has(q) {
		return q, ""
	}
	return "", a.target
}

// tidy is a path as fs.FS takes it: ./web/... is web.
func tidy(p string) string {
	return path.Clean(strings.TrimPrefix(strings.TrimSuffix(strings.TrimSuffix(p, "..."), "/"), "./"))
}

// parts are the folders of the calls that a target means: those below its path,
// else the deepest that holds it; of a bare name all whose files say it.
func (a aim) parts(p, name string) map[string]bool {
	all := map[string]bool{}
	for _, c := range a.calls {
		all[c.Dir] = true
	}
	delete(all, ecosystem.UnknownDir)
	out, deepest := map[string]bool{}, ""
	for d := range all {
		switch {
		case p == "" && (len(all) == 1 || a.says(d, name, all)):
			out[d] = true
		case p == "":
		case d == p || strings.HasPrefix(d, p+"/") || p == ".":
			out[d] = true
		case (d == "." || strings.HasPrefix(p, d+"/")) && len(d) > len(deepest):
			deepest = d
		}
	}
	if p != "" && len(out) == 0 && deepest != "" {
		out[deepest] = true
	}
	return out
}

// says tells whether a file of a part, and not of a part below it, holds the
// last piece of a name.
func (a aim) says(dir, name string, all map[string]bool) bool {
	for _, sep := range []string{testreport.Separator, "::", "#", "/"} {
		if i := strings.LastIndex(name, sep); i >= 0 {
			name = name[i+len(sep):]
		}
	}
	if i := strings.LastIndexByte(name, '.'); i >= 0 && !strings.Contains(name, " ") {
		name = name[i+1:]
	}
	name, _, _ = strings.Cut(name, "[")
	found := a.repo.Below(dir, ".", func(p string) bool {
		for d := range all {
			if d != dir && strings.HasPrefix(path.Join(dir, p), d+"/") {
				return false
			}
		}
		return sourceFile(p) && strings.Contains(string(a.repo.Text(path.Join(dir, p))), name)
	})
	return len(found) > 0
}

// sourceFile tells the sources that a runner may run.
func sourceFile(p string) bool {
	ext := path.Ext(p)
	return slices.ContainsFunc(runners(), func(r *ecosystem.Runner) bool { return slices.Contains(r.Sources, ext) })
}

// inside is a path as a call in a folder writes it; none where the path is the
// folder, or holds it.
func inside(dir, p string) []string {
	switch {
	case p == "", p == ".", p == dir, strings.HasPrefix(dir, p+"/"):
		return nil
	case dir == ".":
		return []string{p}
	}
	return []string{strings.TrimPrefix(p, dir+"/")}
}
