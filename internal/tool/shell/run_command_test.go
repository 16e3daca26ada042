package shell

import (
	"strings"
	"testing"
	"time"

	"agency/internal/tool"
)

func TestShow(t *testing.T) {
	o := tool.Output{ExitCode: 137, Cause: "timeout", Text: []byte("so far\n"), Dropped: 20000, Shell: "sh"}
	if got, want := show(o, 5*time.Second, strings.Clone), "exit code 137\n[run by sh: this machine has no bash]\nended by: timeout after 5s; it must end by itself, or needs a larger timeout_seconds\n[19 KB of output left out of the middle]\nso far\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A long output is shown by its ends and its errors in little room, and no cut leaves half
// of a secret.
func TestShowLong(t *testing.T) {
	const key = "sk-ant-api03-R2D2c3poLuke9xWz"
	hide := func(s string) string { return strings.ReplaceAll(s, key, "[hidden]") }
	long := &tool.LongOutput{File: ".agency/output/1.txt", Bytes: 14 << 20, Lines: 300_000, ErrorLines: 431}
	for i := range 14 {
		long.Errors = append(long.Errors, tool.OutputLine{N: int64(i + 7), Text: strings.Repeat("e", shownLine-10) + key + strings.Repeat("r", 700)})
	}
	text := strings.Repeat("a", shownHead-10) + key + strings.Repeat("\nabcdefghij", 20000) + key + strings.Repeat("z", shownTail-10)
	got := show(tool.Output{ExitCode: 1, Text: []byte(text), Dropped: 1 << 20, Long: long}, 0, hide)
	if len(got) > 4400 {
		t.Errorf("%d bytes", len(got))
	}
	for _, want := range []string{
		"exit code 1\n[300000 lines, 14 MB, are too long to show; all of it is in .agency/output/1.txt, for read_file", "[it begins]\naaa", "\n7:eee", "of 431 lines that look like errors", "[it ends]\n", strings.Repeat("z", 100),
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
	if strings.Contains(got, key[:8]) || strings.Contains(got, key[20:]) {
		t.Errorf("a part of the secret is shown: %s", got)
	}
	long.File = ""
	if got := show(tool.Output{Text: []byte(text), Long: long}, 0, hide); !strings.Contains(got, "it could not be kept") {
		t.Error(got)
	}
}
