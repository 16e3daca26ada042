package config

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agency/internal/agency"
	"agency/internal/race"
)

// limit tells a hang from a slow machine: these files load in well under a
// second, and without the bounds of this package in minutes.
var limit = func() time.Duration {
	if race.Enabled {
		return 100 * time.Second
	}
	return 10 * time.Second
}()

// hostile are files made to hurt, at the largest size that is read.
func hostile() map[string]string {
	fill := func(head, unit, tail string, size int) string {
		return head + strings.Repeat(unit, max(0, size-len(head)-len(tail))/len(unit)) + tail
	}
	var laughs strings.Builder
	laughs.WriteString("a0: &a0 {k: v}\n")
	for i := 1; i < 30; i++ {
		fmt.Fprintf(&laughs, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 9), ","))
	}
	var merges strings.Builder
	merges.WriteString("agents:\n  a0: &a0 {x: 1}\n")
	for i := 1; i < 400; i++ {
		fmt.Fprintf(&merges, "  a%d: &a%d {<<: [*a%d, *a%d], k%d: 1}\n", i, i, i-1, i-1, i)
	}
	lines := func(unit string) string { return fill("", unit, "", maxFile) }
	m := map[string]string{
		"laughs": laughs.String(), "merges": merges.String(), "laughs in a list": laughs.String() + "shared_writes: *a29\n",
		"keys": keysOf(90_000), "comments": lines("# x\n"), "items": "shared_writes:\n" + lines("- x\n"), "documents": lines("---\n"),
		"literal": "a: |\n" + lines("  xyz\n"), "folded": "a: >\n" + lines("  x y z\n"), "plain": "a:\n" + lines("  xyz\n"),
		"literal with holes": "a: |\n" + fill("", "  x"+strings.Repeat("\n", maxBlank), "", maxFile/2),
		"folded with holes":  "a: >\n" + fill("", "  x"+strings.Repeat("\n", maxBlank), "", maxFile/2),
		"holes":              fill("", "x:"+strings.Repeat("\n", maxBlank), "", maxFile/2),
		"quoted lines":       "a: \"" + lines("x\n ") + "\"", "single quoted lines": "a: '" + lines("x\n ") + "'",
		"escapes": "a: \"" + lines("\\n\\\n"), "spaces": lines(strings.Repeat(" ", 1000) + "\n"), "directives": lines("%a b\n"),
		"anchors": lines("&a\n"), "tags": lines("!a\n"), "question marks": lines("?\n"), "braces": lines("{\n"), "brackets": lines("[\n"),
		"dashes": lines("- - - -\n"), "staircase": staircase(400), "quotes": lines("\"\"\n"), "colons": lines(":\n"),
		"pipes": lines("- |\n"), "pipe lines": "a: |+\n" + lines("\n  x\n"), "carriage returns": lines("\r"), "ampersands": lines("*a\n"),
	}
	for name, unit := range map[string]string{"long braces": "{", "long brackets": "[", "long dashes": "- ", "long colons": "a: ", "long quotes": "\"\"", "long tags": "!a ", "long anchors": "&a ", "long commas": "[,"} {
		m[name] = fill("", unit, "", maxLine)
	}
	return m
}

func staircase(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

func TestHostileFilesAreQuick(t *testing.T) {
	if race.Enabled {
		t.Skip("it is about time, and nothing here runs beside anything else")
	}
	for name, text := range hostile() {
		t.Run(name, func(t *testing.T) {
			var err error
			best := time.Hour // of three: others may use the machine
			for range 3 {
				start := time.Now()
				_, err = Load(repoInput(text[:min(len(text), maxFile)]))
				if best = min(best, time.Since(start)); best <= limit {
					break
				}
			}
			if best > limit {
				t.Errorf("%v", best)
			}
			if len(fmt.Sprint(err)) > 100_000 {
				t.Errorf("an error of %d bytes", len(fmt.Sprint(err)))
			}
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	data, err := os.ReadFile("testdata/printed.yaml")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := Load(repoInput(string(data))); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzLoad(f *testing.F) {
	for name, text := range hostile() {
		f.Add(text[:min(len(text), 400)], name)
	}
	for _, path := range []string{"testdata/printed.yaml"} {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b), "mode: single")
	}
	f.Add(string(Template(Detected{Commands: Commands{Test: "x"}})), "sandbox: {read: ['~/x', '${HOME}']}")
	f.Fuzz(func(t *testing.T, repo, user string) {
		in := repoInput(repo)
		in.UserFile = Source{Path: "own.yaml", Data: []byte(user)}
		in.Env = envOf("HOME", "/home/u", "K", "v")
		start := time.Now()
		l, err := Load(in)
		if d := time.Since(start); d > limit {
			t.Errorf("took %v", d)
		}
		if err != nil {
			if agency.KindOf(err) != agency.KindInvalid || err.Error() == "" {
				t.Errorf("%v", err)
			}
			return
		}
		_ = l.Supported()
		_ = l.TrustHash()
		checkShown(t, l)
	})
}

// checkShown: what is shown, and what is stored, reads back as it was.
func checkShown(t *testing.T, l *Loaded) {
	t.Helper()
	b, err := json.Marshal(l.Config)
	if err != nil {
		t.Fatal(err)
	}
	var copied Config
	if err := json.Unmarshal(b, &copied); err != nil {
		t.Fatal(err)
	}
	shown := Show(l)
	in := repoInput("")
	in.RepoFile.Data = shown
	if _, err := Load(in); err != nil && !strings.Contains(string(shown), "********") && !strings.Contains(string(shown), "$") {
		t.Errorf("%v\n%s", err, shown)
	}
	if diff := cmp.Diff(l.Config.Budget, copied.Budget); diff != "" {
		t.Error(diff)
	}
}
