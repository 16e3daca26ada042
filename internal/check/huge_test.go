package check_test

import (
	"strings"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/bounded/boundedtest"
)

// much prints 100 MB of lines, beyond more than is read of an output.
const (
	much   = `yes "a line of a log that goes on and on, and says the same each time" | head -c 104800000; echo; `
	beyond = `yes "a line of a log that goes on and on, and says the same each time" | head -c 640000000; echo; `
)

// TestHugeOutputCostsLittleMemory: what a command prints, and what its runners
// report, may have any size; what the host holds of it has not. Its results
// are found all the same.
func TestHugeOutputCostsLittleMemory(t *testing.T) {
	w := newWorld(t, map[string]string{
		"go.mod": "module ex.com/chatty\n\ngo 1.24\n",
		"chatty_test.go": `package chatty
import ("fmt"; "strings"; "testing")
func TestQuiet(t *testing.T) {}
func TestChatty(t *testing.T) {
	fmt.Println("the first line")
	line := strings.Repeat("x", 1000)
	for range 60_000 { fmt.Println(line) }
	t.Error("the last line")
}
`,
		"names.test.js": `const { test } = require('node:test');
for (let i = 0; i < 150; i++) test(i + ' ' + 'of a name that goes on and on '.repeat(8000), () => {});
test('fails', () => { throw new Error('the last line'); });
`,
	})
	for _, tt := range []struct {
		name, line, shows string
		results           map[string]agency.TestStatus
		whole             bool
	}{
		{"go test", "go test ./...", "the last line", map[string]agency.TestStatus{
			"ex.com/chatty.TestQuiet": passed, "ex.com/chatty.TestChatty": failed,
		}, true},
		{"TAP", "echo TAP version 13; echo ok 1 - a; " + much + "echo not ok 2 - b; echo 1..2; exit 1", "goes on and on", map[string]agency.TestStatus{
			"a": passed, "b": failed,
		}, true},
		{"JUnit", `echo '<testsuite name="s"><testcase name="a"><failure>the first line'; ` + much +
			`echo 'the last line</failure></testcase><testcase name="b"/></testsuite>'; exit 1`, "the last line", map[string]agency.TestStatus{
			"s.a": failed, "s.b": passed,
		}, true},
		{"more than is read", "echo TAP version 13; echo ok 1 - a; " + beyond + "echo not ok 2 - b; echo 1..2; exit 1", "not ok 2 - b", map[string]agency.TestStatus{
			"a": passed,
		}, false},
		{"no results", much + "echo a.go:3: the last line; exit 1", "the last line", map[string]agency.TestStatus{}, false},
		{"report", "node --test --test-reporter=dot names.test.js", "", nil, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.results == nil {
				needs(t, "node", "--test", "--help")
			}
			var r agency.Receipt
			grew, took := boundedtest.Cost(100*time.Millisecond, func() { r = w.run(w.subject(""), test(tt.line)) })
			t.Logf("%d MB in %s", grew>>20, took)
			if grew > 20<<20 {
				t.Errorf("costs %d MB", grew>>20)
			}
			if r.ExitCode != 1 || r.Parsed != tt.whole || !strings.Contains(r.Output, tt.shows) {
				t.Errorf("exit code %d, cause %q, parsed %t:\n%.500s ... %.500s", r.ExitCode, r.Cause, r.Parsed, r.Output, r.Output[max(0, len(r.Output)-500):])
			}
			got := statuses(r)
			if tt.results == nil {
				if len(got) != 151 || got["names.test.js > fails"] != failed {
					t.Errorf("%d results", len(got))
				}
				return
			}
			for name, s := range tt.results {
				if got[name] != s {
					t.Errorf("%s: %q", name, got[name])
				}
			}
			for _, res := range r.Tests {
				if strings.HasSuffix(tt.name, "T") && res.Status == failed && !strings.Contains(res.Output, "the first line") {
					t.Errorf("%s keeps %q", res.Name, res.Output)
				}
			}
		})
	}
}
