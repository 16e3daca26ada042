package verify

import (
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"
)

// hasParts tells whether a file decides how tests run by a part of it only:
// the rest of it, such as dependencies, may change.
func hasParts(p string) bool {
	switch base := path.Base(p); base {
	case "package.json", "deno.json", "deno.jsonc", "pyproject.toml", "setup.cfg", "setup.py", "Cargo.toml", "pom.xml", "go.mod", "build.rs":
		return true
	default:
		return strings.HasSuffix(base, ".gradle") || strings.HasSuffix(base, ".gradle.kts")
	}
}

// changedPart names the part by which an edited file decides how tests run
// otherwise than before; "" where it does not.
func changedPart(p string, before, after []byte) string {
	if !hasParts(p) {
		return ""
	}
	was, now := partsOf(p, before), partsOf(p, after)
	var changed []string
	for name := range now {
		if now[name] != was[name] && (before != nil || matters(p, name)) {
			changed = append(changed, name)
		}
	}
	for name := range was {
		if _, ok := now[name]; !ok {
			changed = append(changed, name)
		}
	}
	slices.Sort(changed)
	return strings.Join(changed, ", ")
}

// matters tells whether a part of a file that is new decides anything yet: the
// scripts of a new package do not decide about the tests that there were.
func matters(p, _ string) bool { return path.Base(p) == "build.rs" }

func partsOf(p string, src []byte) map[string]string {
	if len(src) == 0 {
		return nil
	}
	switch base := path.Base(p); base {
	case "package.json", "deno.json", "deno.jsonc":
		return jsonParts(src)
	case "pyproject.toml":
		return tables(src, regexp.MustCompile(`^tool\.(pytest|coverage|tox|nox|ruff|mypy|pyright|pylint|flake8|hatch\.envs|poe|pdm\.scripts)\b|^build-system|^project\.entry-points`))
	case "setup.cfg":
		return tables(src, regexp.MustCompile(`^(tool:pytest|pytest|flake8|mypy|coverage|pylint|aliases|tox|options\.entry_points)\b`))
	case "Cargo.toml":
		return tables(src, regexp.MustCompile(`^(lib|test|bench|bin|example|profile|lints|workspace\.lints|patch|features)\b`))
	case "go.mod":
		return lineParts(src, regexp.MustCompile(`^(replace|toolchain|godebug|tool|exclude)\b|=>`))
	case "pom.xml":
		return xmlParts(src)
	default: // programs: all of their text
		return map[string]string{"the whole file": strings.Join(strings.Fields(string(dependencies.ReplaceAll(src, nil))), " ")}
	}
}

// dependencies is the block of a Gradle file that may change.
var dependencies = regexp.MustCompile(`(?ms)^\s*dependencies\s*\{.*?^\s*\}`)

// jsonKeys are the keys of a package file that decide how tests run.
var jsonKeys = []string{"scripts", "tasks", "jest", "vitest", "mocha", "ava", "nyc", "c8", "tap", "babel", "eslintConfig", "imports", "type", "resolutions", "overrides", "pnpm", "test", "lint", "compilerOptions"}

func jsonParts(src []byte) map[string]string {
	var doc map[string]json.RawMessage
	if json.Unmarshal(src, &doc) != nil {
		return map[string]string{"the whole file": string(src)}
	}
	out := map[string]string{}
	for _, k := range jsonKeys {
		var v any
		if json.Unmarshal(doc[k], &v) != nil {
			continue
		}
		if b, err := json.Marshal(v); err == nil { // in one form
			out[k] = string(b)
		}
	}
	return out
}

var tableHead = regexp.MustCompile(`^\s*\[+\s*([^\]]+?)\s*\]+`)

// tables are the tables of a TOML or INI file whose name matches, each with its
// lines.
func tables(src []byte, wanted *regexp.Regexp) map[string]string {
	out := map[string]string{}
	name := ""
	for line := range strings.Lines(string(src)) {
		line = strings.TrimSpace(line)
		if m := tableHead.FindStringSubmatch(line); m != nil && !strings.Contains(line, "=") {
			name = ""
			if plain := strings.ReplaceAll(m[1], `"`, ""); wanted.MatchString(plain) {
				name = "[" + plain + "]"
				out[name] += "\n"
			}
			continue
		}
		if name != "" && line != "" && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, ";") {
			out[name] += line + "\n"
		}
	}
	return out
}

// lineParts are the directives of a go.mod that decide with what it is built,
// also where they stand in a block.
func lineParts(src []byte, wanted *regexp.Regexp) map[string]string {
	out := map[string]string{}
	block := ""
	for line := range strings.Lines(string(src)) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), "//")
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case words[0] == ")":
			block = ""
		case len(words) == 2 && words[1] == "(":
			block = words[0]
		case wanted.MatchString(block) || wanted.MatchString(line):
			name := words[0]
			if block != "" {
				name = block
			} else if !wanted.MatchString(name) {
				name = "replace"
			}
			out[name] += strings.Join(words, " ") + "\n"
		}
	}
	return out
}

// pomParts are the elements of a Maven project that decide how tests run.
var pomParts = []string{"build", "profiles", "properties", "parent", "modules", "reporting"}

// testProperty is a property that decides whether or how tests run.
var testProperty = regexp.MustCompile(`(?s)<([\w.-]*(?i:skip|surefire|failsafe|argLine|includes|excludes|groups)[\w.-]*)>[^<]*</`)

func xmlParts(src []byte) map[string]string {
	out := map[string]string{}
	for _, name := range pomParts {
		form := regexp.MustCompile(`(?s)<` + name + `>.*?</` + name + `>`)
		var all []string
		for _, m := range form.FindAllString(string(src), -1) {
			if name == "properties" { // mostly versions
				m = strings.Join(testProperty.FindAllString(m, -1), " ")
			}
			if m = strings.Join(strings.Fields(m), " "); m != "" {
				all = append(all, m)
			}
		}
		if len(all) > 0 {
			out[name] = strings.Join(all, "\n")
		}
	}
	return out
}
