package check

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxScripts bounds how deep package scripts that call each other are read.
const maxScripts = 5

// script follows `npm test`, `yarn run x` and their like into package.json. A
// script counts as a call of the runner in it; one that runs several runners
// only where they take their orders from the environment.
func (f *finder) script(c call) (call, bool) {
	if c.dir == unknownDir || f.repo == nil {
		return c, false
	}
	name, at, ok := f.scriptName(c)
	if !ok {
		return c, false
	}
	inner, ok := f.scriptRunner(c.dir, name, maxScripts)
	if !ok {
		return c, false
	}
	c.runner, c.at, c.script, c.inner, c.buried = inner.runner, at, name, inner.words[inner.at:], inner.buried
	return c, true
}

// scriptName is scriptName, and knows scripts that yarn and pnpm run by their
// name alone.
func (f *finder) scriptName(c call) (name string, at int, ok bool) {
	if name, at, ok = scriptName(c.words); ok || len(c.words) < 2 {
		return name, at, ok
	}
	switch path.Base(c.words[0]) {
	case "yarn", "pnpm":
		_, ok = f.scripts(c.dir)[c.words[1]]
		return c.words[1], 1, ok && onlyOwn(c.words[2:])
	}
	return "", 0, false
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

// scriptRunner is the runner of a script.
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
	n := len(inside.calls)
	if n == 0 || n > 1 && !env {
		return call{}, false
	}
	c := inside.calls[n-1]
	c.buried = c.buried || c.expr != last
	if c.script != "" { // a script that calls a script: its words, as if they stood here
		// npm takes options that follow a script's name for its own.
		c.buried = c.buried || path.Base(c.words[0]) == "npm" && !slices.Contains(c.words[c.at:], "--")
		c.words, c.at = c.inner, 0
	}
	return c, true
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

// packageKey is the text of one key of a package file.
func packageKey(manifest []byte, key string) string {
	var doc map[string]json.RawMessage
	if json.Unmarshal(manifest, &doc) != nil {
		return ""
	}
	return string(doc[key])
}
