package check_test

import (
	"strings"
	"testing"
	"time"

	"agency/internal/check"
	"agency/internal/ecosystem"
)

// A report that takes longer to read than it may is unreadable: the receipt says
// which, and why, and stands for nothing.
func TestUnreadableReportIsNoResult(t *testing.T) {
	w := newWorld(t, map[string]string{"a.xml": "", "b.txt": "x"})
	c := check.New(check.Options{Runner: w.runner, DB: w.db, LayerDir: w.layers, Environment: ecosystem.Environment{Tools: toolsOf(t, w.dir)}})
	line := test(`{ echo '<testsuite name="s"><testcase name="a"/>'; yes '<testcase name="b"/>' | head -n 150000; echo '</testsuite>'; } > a.xml`)
	r, err := c.Run(t.Context(), w.subject("t"), line)
	if err != nil || !r.OK() || !r.Parsed || r.Passed != 2 {
		t.Fatalf("%v: cause %q, passed %d", err, r.Cause, r.Passed)
	}
	c.ReadFor(time.Nanosecond)
	s := w.subject("t")
	s.Fresh = true
	r, err = c.Run(t.Context(), s, line)
	if err != nil || r.OK() || r.Parsed || !strings.Contains(r.Why(), `unreadable: "a.xml" takes longer than 1ns to read`) {
		t.Errorf("%v: cause %q, parsed %t", err, r.Why(), r.Parsed)
	}
	if said := check.Headline(r); !strings.Contains(said, "results are missing") || !strings.Contains(said, "a.xml") {
		t.Errorf("%q", said)
	}
}
