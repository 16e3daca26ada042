package main

import (
	"strings"
	"testing"

	"agency/internal/doctor"
	"agency/internal/ui/tui"
)

// TestFindings lays findings out: details in one column, long names on a line of
// their own, nothing wider than a terminal, and no escape sequence of what was
// found.
func TestFindings(t *testing.T) {
	fs := []doctor.Finding{
		{Name: "git", Level: doctor.OK, Detail: "2.39.5"},
		{Name: "record", Level: doctor.OK},
		{Name: "sandbox: make a user namespace by unshare", Level: doctor.Bad, Detail: "was not stopped: \x1b[31mgot\nthrough", Mend: "report this"},
		{Name: "sandbox", Level: doctor.Warn, Detail: strings.Repeat("word ", 40) + "end", Mend: strings.Repeat("mend ", 30) + "end"},
	}
	plain := (&terminal{}).findings(fs)
	for _, want := range []string{
		"ok       git                2.39.5\nok       record\nbad      sandbox: make a user namespace by unshare\n                            was not stopped: ",
		"\n                            mend: report this\nwarning  sandbox            word word ",
	} {
		if !strings.Contains(plain, want) {
			t.Errorf("no %q in\n%s", want, plain)
		}
	}
	if n := strings.Count(plain, "\n"); n != 7 || strings.ContainsRune(plain, '\x1b') {
		t.Errorf("%d lines:\n%q", n, plain)
	}
	wide := (&terminal{style: tui.Style{Live: true, Width: 80}}).findings(fs)
	for line := range strings.Lines(wide) {
		if len(line) > 80 || !strings.HasPrefix(line, "ok") && !strings.HasPrefix(line, "bad") && !strings.HasPrefix(line, "warning") &&
			!strings.HasPrefix(line, strings.Repeat(" ", 28)) {
			t.Errorf("%q", line)
		}
	}
}
