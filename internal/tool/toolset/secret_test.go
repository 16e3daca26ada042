package toolset

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/tool"
)

// An agent sees a mark where a file has a secret, and cannot put the mark in
// the secret's place; a mark that stands in a file by itself is text like any.
func TestTheMarkTakesNoSecretsPlace(t *testing.T) {
	const key = "sk-ant-api03-R2D2c3poLuke9xWz"
	dir := t.TempDir()
	for name, text := range map[string]string{
		"conf.txt": "a: 1\nkey: " + key + "\nb: 2\n", "mark.txt": "say " + agency.Redacted + "\n", "long.txt": strings.Repeat("x", 2000-10) + key + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files, err := tool.OpenFiles(dir, "/repo")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = files.Close() }() // only a folder's handle
	e := env(files)
	e.Redact = agency.NewRedactor(key).Bytes
	for _, tc := range []struct{ tool, args, want, file, text string }{
		{"read_file", `{"path":"conf.txt"}`, "key: [redacted]\n", "", ""},
		{"read_file", `{"path":"long.txt"}`, "x[redacted]\n", "", ""},
		{"search_files", `{"pattern":"key"}`, "conf.txt:2:key: [redacted]", "", ""},
		{"edit_file", `{"path":"conf.txt","old_text":"key: [redacted]","new_text":"key: none"}`, "error: conf.txt: old_text contains [redacted], which stands in what you are shown for a secret", "conf.txt", "key: " + key},
		{"edit_file", `{"path":"conf.txt","old_text":"a: 1","new_text":"a: 2\nkey: [redacted]"}`, "error: conf.txt: the file holds a secret", "conf.txt", "a: 1\n"},
		{"write_file", `{"path":"conf.txt","content":"a: 2\nkey: [redacted]\n"}`, "error: conf.txt: the file holds a secret", "conf.txt", key},
		{"edit_file", `{"path":"conf.txt","old_text":"a: 1","new_text":"a: 2"}`, "edited conf.txt", "conf.txt", "a: 2\nkey: " + key + "\n"},
		{"edit_file", `{"path":"mark.txt","old_text":"say [redacted]","new_text":"print [redacted] [redacted]"}`, "edited mark.txt", "mark.txt", "print [redacted] [redacted]\n"},
		{"write_file", `{"path":"new.txt","content":"const mark = \"[redacted]\"\n"}`, "created new.txt", "new.txt", "const mark = \"[redacted]\"\n"},
	} {
		res, err := named([]string{tc.tool})[0].Run(t.Context(), e, json.RawMessage(tc.args))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(res.Text, tc.want) || strings.Contains(res.Text, key[13:]) || strings.HasPrefix(tc.want, "error") != res.Failed {
			t.Errorf("%s %s: %+v", tc.tool, tc.args, res)
		}
		if tc.file == "" {
			continue
		}
		if b, err := os.ReadFile(filepath.Join(dir, tc.file)); err != nil || !strings.Contains(string(b), tc.text) {
			t.Errorf("%s %s: %s is %q, %v", tc.tool, tc.args, tc.file, b, err)
		}
	}
}
