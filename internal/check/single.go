package check

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// selection is what a call is to run: whole files or folders, tests, or tests
// in files. Paths are relative to the folder of the call.
type selection struct {
	paths []string
	names []string // without their file; parts of a name stand between " > "
	// exact: the names are whole ones, as a receipt has them; else what a person
	// wrote of them.
	exact bool
	// affected, where set, is picked in place of all of this; left is then told
	// what of the call's tests does not run, of the files in code.
	affected *Affected
	left     *func(test string) bool
	code     map[string]bool
}

// chooser says what of the calls of a line is to run; false: nothing of it.
type chooser struct {
	repo  files
	call  func(call) (selection, bool)
	plain func(goCall, string) (string, bool) // the text behind the words go test
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
	f := finder{repo: ch.repo}
	f.stmts(file.Stmts, place{dir: dir})
	var edits []edit
	chosen := map[uint]bool{}
	for _, c := range f.calls {
		text, ok := "true", true
		if sel, want := ch.call(c); want {
			if text, ok = ch.narrowed(line, c, sel); !ok || c.dir == unknownDir || c.loop {
				return "", false
			}
			chosen[c.expr.Pos().Offset()] = true
		}
		edits = append(edits, edit{int(c.expr.Pos().Offset()), int(c.expr.End().Offset()), text})
	}
	for i, c := range goTests(line) {
		text, want := "", false
		if ch.plain != nil {
			text, want = ch.plain(c, f.goDirs[i])
		}
		if !want {
			edits = append(edits, edit{c.start, c.end, "true"})
			continue
		}
		chosen[uint(c.start)] = true
		edits = append(edits, edit{c.start, c.end, text})
	}
	if len(chosen) == 0 {
		return "", false
	}
	return ch.join(line, file, edits, chosen), true
}

// join puts the edited line together, without the tests that nobody chose.
func (ch chooser) join(line string, file *syntax.File, edits []edit, chosen map[uint]bool) string {
	if len(file.Stmts) != 1 || file.Stmts[0].Negated || file.Stmts[0].Background {
		return apply(line, edits)
	}
	elements, _ := chain(file.Stmts[0])
	f := finder{repo: ch.repo}
	var parts []string
	for _, e := range elements {
		from, to := e.Pos().Offset(), e.End().Offset()
		hit := false
		for at := range chosen {
			hit = hit || at >= from && at < to
		}
		if !hit && f.onlyTests(e, place{dir: "."}) {
			continue
		}
		var own []edit
		for _, d := range edits {
			if d.from >= int(from) && d.to <= int(to) {
				own = append(own, edit{d.from - int(from), d.to - int(from), d.text})
			}
		}
		parts = append(parts, apply(line[from:to], own))
	}
	return strings.Join(parts, " && ")
}

// narrowed is one call made to run a selection only.
func (ch chooser) narrowed(line string, c call, sel selection) (string, bool) {
	if c.script != "" {
		return ch.script(c, sel)
	}
	at := int(c.expr.Pos().Offset())
	edits, ok := c.selecting(sel, ch.repo)
	for i := range edits {
		edits[i].from -= at
		edits[i].to -= at
	}
	return apply(line[at:c.expr.End().Offset()], edits), ok
}

// script puts the text of a package script in place of its call: only what a
// script says itself can be told what to run, whatever stands around it.
func (ch chooser) script(c call, sel selection) (string, bool) {
	if ch.depth++; ch.depth > maxScripts || ch.repo.FS == nil {
		return "", false
	}
	scripts := (&finder{repo: ch.repo}).scripts(c.dir)
	text := scripts[c.script]
	for _, w := range c.words[c.at+1:] {
		if w != "--" {
			text += " " + quote(w)
		}
	}
	ch.call = func(inner call) (selection, bool) { return sel, inner.runner == c.runner }
	ch.plain = nil
	narrowed, ok := ch.apply(text, c.dir)
	if !ok {
		return "", false
	}
	before := ""
	if scripts["pre"+c.script] != "" {
		before = path.Base(c.words[0]) + " run pre" + c.script + " && "
	}
	return `(PATH="$PWD/node_modules/.bin:$PATH"; export PATH; ` + before + narrowed + ")", true
}

// rerunOthers chooses single tests of runners other than Go's, named as in a
// receipt. False where a test belongs to no call.
func rerunOthers(calls []call, tests []string) (func(call) (selection, bool), bool) {
	by := map[uint][]string{}
	for _, t := range tests {
		if _, whole := IsPackage(t); whole {
			return nil, false
		}
		i := owner(calls, t)
		if i < 0 {
			return nil, false
		}
		at := calls[i].expr.Pos().Offset()
		by[at] = append(by[at], t)
	}
	return func(c call) (selection, bool) {
		own := by[c.expr.Pos().Offset()]
		return c.exactly(own), len(own) > 0
	}, true
}

// owner is the call that reported a test: that of the deepest folder which the
// name begins with, if its runner names tests so.
func owner(calls []call, test string) int {
	best := -1
	for i, c := range calls {
		if c.dir == unknownDir || c.loop || !c.names(test) || (c.dir != "." && !strings.HasPrefix(test, c.dir+"/")) {
			continue
		}
		if best < 0 || len(c.dir) > len(calls[best].dir) {
			best = i
		}
	}
	return best
}

// names tells whether a runner gives tests names of this form.
func (c call) names(test string) bool {
	file, _, inFile := strings.Cut(test, between)
	switch c.runner {
	case runNode, runJest, runVitest, runMocha:
		return inFile && path.Ext(file) != ""
	case runPytest:
		return strings.Contains(test, ".py::")
	case runCargo, runNextest:
		return strings.Contains(test, "::") && !strings.Contains(test, " doc::") && !strings.Contains(test, ".py::")
	case runUnittest, runMaven, runGradle:
		return !inFile && !strings.Contains(test, "::") && strings.Contains(test, ".")
	}
	return false
}

var repeated = regexp.MustCompile(` \(\d+\)$`)

// exactly parts the names of a receipt into files and what is selected in them.
func (c call) exactly(tests []string) selection {
	sel := selection{exact: true}
	add := func(to *[]string, s string) {
		if !slices.Contains(*to, s) {
			*to = append(*to, s)
		}
	}
	for _, t := range tests {
		if c.dir != "." {
			t = strings.TrimPrefix(t, c.dir+"/")
		}
		switch c.runner {
		case runNode, runJest, runVitest, runMocha:
			file, name, _ := strings.Cut(t, between)
			add(&sel.paths, file)
			add(&sel.names, repeated.ReplaceAllString(name, ""))
		case runCargo:
			_, name, _ := strings.Cut(t, "::")
			add(&sel.names, name)
		default:
			add(&sel.names, t)
		}
	}
	return sel
}
