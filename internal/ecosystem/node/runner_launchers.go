package node

import (
	"path"
	"slices"
	"strings"

	"agency/internal/ecosystem"
)

func launchers() ecosystem.Launchers {
	return ecosystem.Launchers{
		Launches: launches, Manifest: "package.json", Starters: append([]string{"bun"}, managers...), Around: around,
		OnlyScript: func(starter, name string) bool { return starter == npm && name != "start" && name != "env" },
		Scripts:    packageScripts, ScriptName: scriptName, InPlace: inPlace,
	}
}

// around are the scripts that npm runs for a name; the others run the one alone.
func around(starter, name string) []string {
	if starter != "" && starter != npm {
		return []string{name}
	}
	return []string{"pre" + name, name, "post" + name}
}

// launches is how many words name a program that starts another one.
func launches(w []string) int {
	switch base := path.Base(w[0]); base {
	case "cross-env", "c8", "nyc", "npx":
		return 1
	case "pnpm", "yarn", "npm":
		if len(w) > 1 && w[1] == "exec" {
			return 2
		}
		if len(w) > 1 && base != "npm" && slices.Contains([]string{"jest", "vitest", "mocha", "_mocha"}, path.Base(w[1])) {
			return 1
		}
	case "node":
		if len(w) > 1 && strings.Contains(w[1], "node_modules/") {
			return 1
		}
	}
	return 0
}

// scriptName is scriptOf, and knows scripts that yarn and pnpm run by their name
// alone.
func scriptName(words []string, scripts map[string]string) (name string, at int, ok bool) {
	if name, at, ok = scriptOf(words); ok || len(words) < 2 {
		return name, at, ok
	}
	switch path.Base(words[0]) {
	case "yarn", "pnpm":
		_, ok = scripts[words[1]]
		return words[1], 1, ok && onlyOwn(words[2:])
	}
	return "", 0, false
}

// scriptOf reads `npm test` and its like: the script and the index of the
// last word that names it.
func scriptOf(w []string) (name string, at int, ok bool) {
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

// inPlace runs a script's text as a package manager would, what is to run before it
// first.
func inPlace(c ecosystem.Call, scripts map[string]string, text string) string {
	before := ""
	if scripts["pre"+c.Script] != "" {
		before = path.Base(c.Words[0]) + " run pre" + c.Script + " && "
	}
	return `(PATH="$PWD/node_modules/.bin:$PATH"; export PATH; ` + before + text + ")"
}
