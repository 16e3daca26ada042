package textmerge_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agency/internal/textmerge"
)

// The cases are files: "-- name --" and then base, ours, theirs and what is
// wanted, each after a line of "=====" and its word. A wanted text that begins
// with "conflict: " is the doubt.
func TestMerge(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range strings.Split("\n"+string(b), "\n-- ")[1:] {
			name, rest, _ := strings.Cut(c, " --\n")
			texts := strings.Split(rest+"\n\n", "=====\n")
			if len(texts) != 4 {
				t.Fatalf("%s: %s has %d texts", file, name, len(texts))
			}
			title, at, _ := strings.Cut(name, " @ ")
			t.Run(title, func(t *testing.T) { one(t, at, texts) })
		}
	}
}

func one(t *testing.T, at string, texts []string) {
	texts[3] = strings.TrimSuffix(texts[3], "\n")
	got, err := textmerge.Merge(at, []byte(texts[0]), []byte(texts[1]), []byte(texts[2]))
	if why, refused := strings.CutPrefix(texts[3], "conflict: "); refused {
		if err == nil || !strings.Contains(err.Error(), strings.TrimSpace(why)) {
			t.Errorf("want a doubt with %q, got %v and\n%s", why, err, got)
		}
		return
	}
	if err != nil || string(got) != texts[3] {
		t.Errorf("%v\n%s\nwant\n%s", err, got, texts[3])
	}
}
