package check

import (
	"encoding/json"
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxScripts bounds how deep package scripts that call each other are read.
const maxScripts = 5

// script follows `npm test`, `yarn run x` and their like into package.json. A
// script counts as a call of the runner that it ends with; one that runs
// several runners, or does something after them, only where the runner takes
// its orders from the environment.
func (f *finder) script(c call) (call, bool) {
	name, at, ok := scriptName(c.words)
	if !ok || c.dir == unknownDir || f.repo == nil {
		return c, false
	}
	inner, ok := f.scriptRunner(c.dir, name, maxScripts)
	if !ok {
		return c, false
	}
	c.runner, c.at, c.script, c.inner = inner.runner, at, name, inner.words[inner.at:]
	return c, true
}

// scriptName reads `npm test` and its like: the script and the index of the
// last word that names it.
func scriptName(w []string) (name string, at int, ok bool) {
	if len(w) == 0 {
		return "", 0, false
	}
	i := 1
	for i < len(w) && (w[i] == "--silent" || w[i] == "-s" || w[i] == "--if-present") {
		i++
	}
	if i >= len(w) {
		return "", 0, false
	}
	switch path.Base(w[0]) {
	case "npm", "pnpm", "yarn":
	case "node":
		if run, ok := strings.CutPrefix(w[i], "--run="); ok {
			return run, i, true
		}
		if w[i] != "--run" {
			return "", 0, false
		}
	default:
		return "", 0, false
	}
	switch w[i] {
	case "test", "t", "tst":
		return "test", i, onlyOwn(w[i+1:])
	case "run", "run-script", "--run":
		for i++; i < len(w) && (w[i] == "--silent" || w[i] == "-s" || w[i] == "--if-present"); i++ {
		}
		if i < len(w) && !strings.HasPrefix(w[i], "-") {
			return w[i], i, onlyOwn(w[i+1:])
		}
	}
	return "", 0, false
}

// onlyOwn tells whether what follows a script's name stays in this package.
func onlyOwn(w []string) bool {
	for _, a := range w {
		if a == "--" {
			return true
		}
		if a == "-w" || a == "-ws" || a == "-r" || strings.HasPrefix(a, "--workspace") || a == "--recursive" || strings.HasPrefix(a, "--filter") {
			return false
		}
	}
	return true
}

// scriptRunner is the runner that a script ends with.
func (f *finder) scriptRunner(dir, name string, depth int) (call, bool) {
	if depth == 0 {
		return call{}, false
	}
	line := f.scripts(dir)[name]
	file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(line), "")
	if err != nil || len(file.Stmts) == 0 {
		return call{}, false
	}
	inside := finder{repo: f.repo}
	inside.stmts(file.Stmts, place{dir: dir})
	last := lastCall(file.Stmts[len(file.Stmts)-1])
	env := true
	for _, c := range inside.calls {
		env = env && c.runner == runNode
	}
	switch n := len(inside.calls); {
	case n == 0:
		return call{}, false
	case n == 1 && inside.calls[0].expr == last, env:
		c := inside.calls[n-1]
		if c.script != "" { // a script that calls a script: its words, as if they stood here
			c.words, c.at = c.inner, 0
		}
		return c, true
	}
	return call{}, false
}

// lastCall is the call to which words at the end of a script belong.
func lastCall(s *syntax.Stmt) *syntax.CallExpr {
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		return c
	case *syntax.BinaryCmd:
		if c.Op == syntax.AndStmt || c.Op == syntax.OrStmt {
			return lastCall(c.Y)
		}
	}
	return nil
}

func (f *finder) scripts(dir string) map[string]string {
	var pkg struct {
		Scripts map[string]string `json:"scripts"`
	}
	if json.Unmarshal(f.repo.readFile(path.Join(dir, "package.json")), &pkg) != nil {
		return nil
	}
	return pkg.Scripts
}
