package agentfile

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/txtar"

	"agency/internal/agency"
)

// limit tells a hang from a slow machine that others use too: without the bounds it
// takes minutes.
const limit = 30 * time.Second

// hostile are files made to hurt, as large as they may be.
func hostile() map[string]string {
	out := map[string]string{}
	for name, unit := range map[string]string{
		"keys": "name%: a\n", "unknown keys": "descriptiom%: a\n", "tools": "tools: [" + strings.Repeat("raed_file,", 200) + "]\n", "loose": "description: a: b: c\n",
		"lines": "\n", "fences": "----\n", "brackets": "[\n", "aliases": "a: &a [*a]\n", "quotes": "description: ': \n", "text": "x\n",
	} {
		var b strings.Builder
		b.WriteString("---\n")
		for n := 0; b.Len() < maxFile-200-len(unit); n++ {
			b.WriteString(strings.ReplaceAll(unit, "%", strings.Repeat("x", n%9)+string(rune('a'+n%26))))
		}
		out[name] = b.String() + "---\nWork.\n"
	}
	out["commas"] = "---\ntools: " + strings.Repeat("a,", 8000) + "\n---\nWork.\n"
	out["body"] = "---\n---\n" + strings.Repeat("\n", maxFile-20) + "x"
	return out
}

func check(t *testing.T, raw []byte) {
	t.Helper()
	start := time.Now()
	f, err := Parse("agents/x.md", raw)
	if took := time.Since(start); took > limit {
		t.Errorf("took %v", took)
	}
	if err != nil {
		if agency.KindOf(err) != agency.KindInvalid || err.Error() == "" || len(err.Error()) > 200_000 {
			t.Errorf("%.1000v", err)
		}
		return
	}
	if f.Name == "" || len(f.Name) > maxName || !isName(f.Name) || len(f.Description) > maxDescription || !utf8.ValidString(f.Description) {
		t.Errorf("%q, %q", f.Name, f.Description)
	}
	if strings.TrimSpace(f.Body) == "" || !utf8.ValidString(f.Body) || strings.Contains(f.Body, "\x00") {
		t.Errorf("body %q", f.Body)
	}
	for _, k := range f.links() {
		if !isName(k.to) || len(k.to) > maxName {
			t.Errorf("%s names %q", k.key, k.to)
		}
	}
	for _, n := range f.Notes {
		if strings.ContainsAny(n, "\n\x1b") {
			t.Errorf("note %q", n)
		}
	}
}

func TestHostileFilesAreQuick(t *testing.T) {
	for name, text := range hostile() {
		t.Run(name, func(t *testing.T) { check(t, []byte(text)) })
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range hostile() {
		f.Add([]byte(text[:min(len(text), 400)]))
	}
	a, err := txtar.ParseFile("testdata/bad.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range a.Files {
		f.Add(file.Data)
	}
	f.Fuzz(func(t *testing.T, raw []byte) { check(t, raw) })
}
