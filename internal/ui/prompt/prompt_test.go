package prompt_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agency/internal/ui/prompt"
)

// written is an editor that puts a text at the beginning of the file.
func written(t *testing.T, text string) prompt.Editor {
	t.Helper()
	script := filepath.Join(t.TempDir(), "my editor")
	body := "#!/bin/sh\ntest \"$1\" = -w || exit 3\nprintf '%s' \"$TEXT\" | cat - \"$2\" >\"$2.new\" && mv \"$2.new\" \"$2\"\n"
	if err := os.WriteFile(script, []byte(body), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TEXT", text)
	return prompt.Editor{Env: func(name string) (string, bool) {
		return "'" + script + "' -w", name == "EDITOR"
	}, Max: 200}
}

func TestEditor(t *testing.T) {
	text, err := written(t, "# A heading\n\nwhat is wanted").Text(t.Context(), "say it above")
	if err != nil || text != "# A heading\n\nwhat is wanted" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := written(t, "").Text(t.Context(), "say it above"); err == nil || !strings.Contains(err.Error(), "nothing was written") {
		t.Errorf("nothing: %v", err)
	}
	if _, err := written(t, strings.Repeat("a", 300)).Text(t.Context(), "hint"); err == nil || !strings.Contains(err.Error(), "200 bytes") {
		t.Errorf("too much: %v", err)
	}
	for command, want := range map[string]string{
		"exit 1;":            "was left with exit code 1, as :cq does: nothing is done",
		"no-such-editor-xyz": "the editor no-such-editor-xyz failed",
	} {
		broken := prompt.Editor{Env: func(string) (string, bool) { return command, true }, Max: 200}
		if _, err := broken.Text(t.Context(), "hint"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("an editor that fails: %v", err)
		}
	}
}

func TestLineReadsNothingBeyondIt(t *testing.T) {
	in := strings.NewReader("  too slow \nnext\n")
	var out strings.Builder
	line, err := prompt.Line(in, &out, "why? ", 100)
	if err != nil || line != "too slow" || out.String() != "why? " || in.Len() != len("next\n") {
		t.Errorf("%q, %v, asked %q, %d bytes left", line, err, out.String(), in.Len())
	}
}
