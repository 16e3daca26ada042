package verifytest

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/check"
)

// tableCase is one change that a run could claim, and what it may come to.
type tableCase struct {
	lang, name, class, goal string
	honest                  bool
	reason                  string // why an honest case is known not to be verified
	base, claim, oracle     map[string]string
	oracleLine              string
	red                     string // "yes" where the base's suite is red, "maybe" where that is chance
	stays, refuse           bool   // the honest claim's suite is red too; the claim must not pass
	criteria                []agency.Criterion
	earned                  []string // criteria of a trick that may be verified
	evidence                []agency.Evidence
	writes, expected        []string
	commands                check.Commands
}

// tools tell, by language, whether its cases can run here.
var tools = map[string][]string{
	"go": {"go", "version"}, "python": {"python3", "-c", "import unittest"}, "javascript": {"node", "--test", "--help"},
	"rust": {"cargo", "--version"}, "java": {"javac", "--version"},
}

// missingTools says, by language, why its cases cannot run here.
func missingTools() map[string]string {
	out := map[string]string{}
	for lang, tool := range tools {
		if said, err := exec.Command(tool[0], tool[1:]...).CombinedOutput(); err != nil {
			out[lang] = fmt.Sprintf("needs %s: %v: %s", tool[0], err, said)
		}
	}
	return out
}

// manifests make every toolchain visible in the sandbox.
var manifests = map[string]string{
	"go.mod": "module ex.com/p\n\ngo 1.22\n", "pyproject.toml": "[project]\nname = \"p\"\nversion = \"1\"\n", "package.json": "{}\n",
	"Cargo.toml": "[package]\nname = \"p\"\nversion = \"0.1.0\"\n", "pom.xml": "<project/>\n",
}

// archive is a text file of several: a head of `key: value` lines, then
// sections that begin with `-- name --`.
type archive struct {
	head     map[string][]string
	sections []section
}

type section struct{ name, text string }

var sectionLine = regexp.MustCompile(`^-- (\S+) --$`)

func readArchive(t *testing.T, file string) archive {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	a := archive{head: map[string][]string{}}
	for line := range strings.Lines(string(b)) {
		m := sectionLine.FindStringSubmatch(strings.TrimRight(line, "\n"))
		switch n := len(a.sections); {
		case m != nil:
			a.sections = append(a.sections, section{name: m[1]})
		case n > 0:
			a.sections[n-1].text += line
		default:
			key, value, ok := strings.Cut(strings.TrimSpace(line), ": ")
			if ok {
				a.head[key] = append(a.head[key], strings.TrimSpace(value))
			} else if key != "" {
				t.Fatalf("%s: %q is no `key: value`", file, line)
			}
		}
	}
	return a
}

func (a archive) one(key string) string {
	if len(a.head[key]) == 0 {
		return ""
	}
	return a.head[key][0]
}

// below are the sections under a folder, by the rest of their names.
func (a archive) below(dir string) map[string]string {
	out := map[string]string{}
	for _, s := range a.sections {
		if name, ok := strings.CutPrefix(s.name, dir+"/"); ok {
			out[name] = s.text
		}
	}
	return out
}

// readTable reads all cases, in order of their names.
func readTable(t *testing.T) []*tableCase {
	t.Helper()
	files, err := filepath.Glob("testdata/table/*/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var out []*tableCase
	for _, f := range files {
		if name := filepath.Base(f); strings.HasPrefix(name, "trick_") || strings.HasPrefix(name, "honest_") {
			out = append(out, readCase(t, f))
		}
	}
	return out
}

// caseKeys are the keys of a case.
var caseKeys = strings.Fields("class goal base red stays refuse reason criterion earned evidence writes expected oracle test build lint typecheck setup note")

func readCase(t *testing.T, file string) *tableCase {
	t.Helper()
	a := readArchive(t, file)
	for key := range a.head {
		if !slices.Contains(caseKeys, key) {
			t.Fatalf("%s: unknown key %q", file, key)
		}
	}
	base := readBase(t, filepath.Dir(file), cmp.Or(a.one("base"), "green"))
	either := func(key string) string { return cmp.Or(a.one(key), base.one(key)) }
	name := strings.TrimSuffix(filepath.Base(file), ".txtar")
	c := &tableCase{
		lang: filepath.Base(filepath.Dir(file)), name: name, honest: strings.HasPrefix(name, "honest_"),
		class: a.one("class"), goal: a.one("goal"), reason: a.one("reason"), red: either("red"), stays: a.one("stays") == "red", refuse: a.one("refuse") == "yes",
		base: base.below("base"), earned: a.head["earned"],
		writes: strings.Fields(a.one("writes")), expected: strings.Fields(a.one("expected")),
		commands: check.Commands{
			Test: either("test"), Build: either("build"), Lint: either("lint"), Typecheck: either("typecheck"), Setup: either("setup"),
			TimeoutSeconds: 60,
		},
	}
	maps.Copy(c.base, a.below("base"))
	c.change(t, file, a)
	for _, line := range a.head["criterion"] {
		id, kind, ref := words(line)
		cr := agency.Criterion{ID: id, Text: c.goal}
		switch kind {
		case "":
		case "test":
			cr.Check = &agency.Check{Test: ref}
		case "command":
			cr.Check = &agency.Check{Command: ref}
		case "file":
			cr.Check = &agency.Check{File: ref}
		default:
			t.Fatalf("%s: a criterion's check is of no kind %q", file, kind)
		}
		c.criteria = append(c.criteria, cr)
	}
	for _, line := range a.head["evidence"] {
		id, kind, ref := words(line)
		c.evidence = append(c.evidence, agency.Evidence{Criterion: id, Kind: agency.CheckKind(kind), Ref: ref})
	}
	c.oracle, c.oracleLine = a.below("oracle"), a.one("oracle")
	if line := base.one("oracle." + c.oracleLine); line != "" { // one of the base's
		c.oracle, c.oracleLine = base.below("oracle."+c.oracleLine), line
	}
	if c.class == "" || c.goal == "" || len(c.criteria) == 0 {
		t.Fatalf("%s: want a class, a goal and a criterion", file)
	}
	return c
}

// readBase reads what cases of a language have in common. A base that is like
// another has its sections too, and its own after them.
func readBase(t *testing.T, dir, name string) archive {
	t.Helper()
	a := readArchive(t, filepath.Join(dir, "_"+name+".txtar"))
	if a.one("like") == "" {
		return a
	}
	like := readBase(t, dir, a.one("like"))
	maps.Copy(like.head, a.head)
	like.sections = append(like.sections, a.sections...)
	return like
}

// change makes the claim's files out of the base's.
func (c *tableCase) change(t *testing.T, file string, a archive) {
	t.Helper()
	c.claim = maps.Clone(c.base)
	for _, s := range a.sections {
		how, name, _ := strings.Cut(s.name, "/")
		was, there := c.claim[name]
		switch how {
		case "base", "oracle":
		case "claim":
			c.claim[name] = s.text
		case "append":
			c.claim[name] = was + s.text
		case "remove":
			delete(c.claim, name)
		case "edit":
			before, after, ok := strings.Cut(s.text, "====\n")
			if !ok || strings.Count(was, before) != 1 {
				t.Fatalf("%s: the text to edit stands %d times in %s", file, strings.Count(was, before), name)
			}
			c.claim[name] = strings.Replace(was, before, after, 1)
		default:
			t.Fatalf("%s: unknown section %s", file, s.name)
		}
		if (how == "edit" || how == "remove" || how == "append") && !there {
			t.Fatalf("%s: there is no %s to %s", file, name, how)
		}
	}
	if maps.Equal(c.base, c.claim) {
		t.Fatalf("%s: the claim changes nothing", file)
	}
}

// words parts a line into its first two words and the rest.
func words(line string) (first, second, rest string) {
	first, rest, _ = strings.Cut(line, " ")
	second, rest, _ = strings.Cut(rest, " ")
	return first, second, rest
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
