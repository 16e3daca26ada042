package tui

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/api"
)

// The tables of stats fit a terminal of 80 columns, and a model without a price or a
// first attempt says so.
func TestStatsTable(t *testing.T) {
	one := agency.Effort{Turns: 1}
	try := func(model string, helped ...agency.Part) agency.Try {
		return agency.Try{Parts: append(helped, agency.Part{Model: model, Effort: agency.Effort{Turns: 2}, CostUSD: 0.5})}
	}
	free := agency.Try{Parts: []agency.Part{{Model: "local/a-model-with-a-rather-long-name", Effort: one, Unpriced: true}}}
	s := agency.StatsOf([]agency.Outcome{
		{Mode: agency.ModeMultiAgent, Role: "test_engineer", Complexity: agency.Medium, Complete: true, Attempts: 2, Tries: []agency.Try{try("p/a"), free}, CostUSD: 0.5, Unpriced: true, Seconds: 4000},
		{Mode: agency.ModeSingle, Role: "generalist", Complexity: agency.Small, Attempts: 1, Tries: []agency.Try{try("p/a", agency.Part{Model: "p/helper", Effort: one})}, CostUSD: 0.5, Seconds: 10},
	})
	got := Stats(Style{Width: 80}, s)
	for line := range strings.Lines(got) {
		if n := columns(strings.TrimRight(line, "\n")); n > 79 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	for _, want := range []string{
		`(?m)^all contracts +2 +50 % +0 % +1\.5 +\$0\.50\+ +33 min 25 s$`, `(?m)^p/a +2 +0 % +0 % +1\.0 +\$0\.50$`, `(?m)^p/helper +0 +- +- +- +-$`,
		`(?m)^local/a-model-with-a-rather-long-name +1 +100 % +- +1\.0 +unpriced$`, `(?m)^test_engineer +1 .* 1 h 06 min$`,
	} {
		if !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

func TestPercent(t *testing.T) {
	for share, want := range map[float64]string{0: "0 %", 0.004: "0 %", 0.666: "67 %", 0.999: "99 %", 1: "100 %"} {
		if got := percent(share); got != want {
			t.Errorf("%v: %s, want %s", share, got, want)
		}
	}
}

// A check shows the end of what it printed, its failed tests by name, and where the whole lies.
func TestChecks(t *testing.T) {
	var d api.InspectDoc
	d.ID = "make-it-abcdefgh"
	d.Receipts = []api.ReceiptDoc{
		{
			Kind: agency.CheckTest, Command: "make test", ExitCode: 1, Passed: 1, Failed: 1, Stage: "claim", Contract: "main", Tree: "0123456789abcdef", Seconds: 1.5,
			Red: &agency.Red{Tests: []agency.RedTest{{Name: "TestX\x1b[2J"}}}, Output: strings.Repeat("a line\n", 60) + "the\x1b[2J end\n",
		},
		{Kind: agency.CheckBuild, Command: "make", Output: "built\n"},
		{
			Kind: agency.CheckTest, Command: "make events", ExitCode: 1,
			Output: `{"Action":"output","Package":"p","Test":"TestY","Output":"    y_test.go:3: want \u003c1\u003e\n"}` + "\n" +
				`{"Action":"fail","Package":"p","Test":"TestY","Elapsed":0}` + "\n" + `{"Action":"mine"}` + "\nmake: failed\n",
		},
	}
	got := Checks(Style{}, d, true)
	for _, want := range []string{
		"test  make test  exit code 1, passed 1, failed 1, skipped 0  (claim of main, tree 0123456789, 1.5 s)\n  failed: TestX\n",
		"  | the end\n\n", "build  make  passes  (- of make-it-abcdefgh", "  | built\n",
		"  | y_test.go:3: want <1>\n  | {\"Action\":\"mine\"}\n  | make: failed\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	if n := strings.Count(got, "| a line"); n != 60 {
		t.Errorf("%d lines of all output", n)
	}
	d.Receipts = append(d.Receipts,
		api.ReceiptDoc{Kind: agency.CheckTest, Command: "make test", Contract: "main", Stage: "base"},
		api.ReceiptDoc{Kind: agency.CheckTest, Command: "make test", Contract: "main", Stage: "cut", Trial: "trial with the change cut out", ExitCode: 2, Output: "cut"},
		api.ReceiptDoc{Kind: agency.CheckTest, Command: "make test", Contract: "add", Stage: "claim", ExitCode: 1, Output: "long ago"},
		api.ReceiptDoc{Kind: agency.CheckTest, Command: "make test", Contract: "add", Stage: "claim"},
	)
	got = Checks(Style{}, d, false)
	at := 0
	for _, want := range []string{
		"test  make test  exit code 1, passed 1, failed 1, skipped 0  (claim of main,", "  +21 lines before, agency inspect abcdefgh --checks --verbose\n", "| make: failed\n",
		"\nbuild  make  passes", "\ntest  make test  passes  (claim of add,", "\nBefore, on the base, and in trials", "\n  test  make test  passes  (base of main,",
		"\n  test  make test  exit code 2  (trial with the change cut out of main,", "\n  test  make test  exit code 1  (claim of add,", "agency inspect abcdefgh --checks --verbose",
	} {
		i := strings.Index(got[at:], want)
		if i < 0 {
			t.Fatalf("no %q where it belongs in:\n%s", want, got)
		}
		at += i
	}
	if strings.Contains(got, "| cut") || strings.Contains(got, "long ago") || strings.Contains(got, "| built") {
		t.Errorf("output of what nobody needs:\n%s", got)
	}
	if n := strings.Count(got, "| a line"); n != mostOutput-1 {
		t.Errorf("%d lines of output", n)
	}
}

// Markdown is painted where there are colours, and the text itself where there are none.
func TestMarkdown(t *testing.T) {
	text := "# Head\n\n1. **Do** this thing and then that thing, too\n2. `run`\n\n```go\nfunc **x**() {}\n```\n\x1b[2J> said\n> ```\n> **x**\n> ```\n"
	if got, want := Markdown(Style{Width: 30}, text), strings.ReplaceAll(text, "\x1b[2J", ""); got != want {
		t.Errorf("without colours %q, want %q", got, want)
	}
	want := "\x1b[1mHead\x1b[0m\n\n1. \x1b[1mDo\x1b[0m this thing and then\n   that thing, too\n2. \x1b[36mrun\x1b[0m\n\n  \x1b[36mfunc **x**() {}\x1b[0m\n\x1b[2m>\x1b[0m said\n\x1b[2m>\x1b[0m   \x1b[36m**x**\x1b[0m\n"
	if got := Markdown(Style{Color: true, Width: 30}, text); got != want {
		t.Errorf("with colours %q,\nwant %q", got, want)
	}
}

// Emphasis, code and links are painted, line by line and with nothing left out that somebody
// may want to read; what only looks like it is text.
func TestInline(t *testing.T) {
	st := Style{Color: true, Width: 68}
	for _, c := range []struct{ text, want string }{
		{"a **bold word**, *it* and _it_, ***both***.", "a <1>bold word</>, <3>it</> and <3>it</>, <1;3>both</>."},
		{"**bold with `a*b*c` and _it_**", "<1>bold with </><1;36>a*b*c</> <1>and </><1;3>it</>"},
		{"``a `tick` in it`` and `_x_`", "<36>a `tick` in it</> and <36>_x_</>"},
		{"see [the _docs_](https://x.test/a_b_c(d))!", "see the <3>docs</> (<36>https://x.test/a_b_c(d)</>)!"},
		{"[https://x.test](https://evil.test) ![pic](p.png)", "https://x.test (<36>https://evil.test</>) pic (<36>p.png</>)"},
		{"<https://x.test/a_b_> and <b>", "<36>https://x.test/a_b_</> and <b>"},
		{"snake_case_name, _private.py, __init__.py, 2 * 3 * 4, 2*3*4 f(*p)*q", ""},
		{"*.go and *.md, foo/*.go, bar/*.go, **/*.ts, *T and *U, a[i](x)", ""},
		{"**open, *open, `open, [open](a b), [x] y", ""},
		{`\*not it\* and \n`, `*not it* and \n`},
		{"## A **head** of `x`", "<1>A </><1>head</> <1>of </><1;36>x</>"},
		{"- one *emphasis that is so long that it takes two lines of the terminal*", "- one <3>emphasis that is so long that it takes two lines of the</>\n  <3>terminal</>"},
		{"| a | b |\n|---|---|\n| **x** | `y z` |", "<2>a  b</>\n<1>x</>  <36>y z</>"},
		{"```\n| a | b |\n*x* [y](z)\n```", "  <36>| a | b |</>\n  <36>*x* [y](z)</>"},
		{"*\x1b[8mhidden* \u202e_rlo_ \u200b", "<3>hidden</> \\u202e_rlo_ \\u200b"},
	} {
		if c.want == "" {
			c.want = c.text
		}
		got := strings.TrimSuffix(Markdown(st, c.text), "\n")
		if safe := Safe(st, got); safe != got {
			t.Errorf("%q: its colours do not come through: %q", c.text, safe)
		}
		got = strings.ReplaceAll(got, "\x1b[0m", "</>")
		got = regexp.MustCompile("\x1b\\[([0-9;]+)m").ReplaceAllString(got, "<$1>")
		if got != c.want {
			t.Errorf("%q:\n%q, want\n%q", c.text, got, c.want)
		}
	}
	if got := cut("a \x1b[1mbold one\x1b[0m", 6); got != "a \x1b[1mbol…\x1b[0m" {
		t.Errorf("%q", got)
	}
}

// A long gate is folded where keys answer it: what a person decides by stands before the commands
// and the empty lines, and of each part the beginning and the end.
func TestFoldedGate(t *testing.T) {
	body := "Goal: it works\n\nCriteria:\n- verified: it works\n" + strings.Repeat("    - TestX\n", 20) +
		"\nChanges on `b`:\n" + strings.Repeat("  a.go  +1 -1\n", 20) + "  20 files changed\n\nChecks:\n- lint\n- test\n\nunproved: 3 lines\n\nWhat it says:\n\n" + strings.Repeat("> much\n", 30) + "\nCost: $1\n"
	g := agency.Gate{RunID: "r", ID: "r.merge-1", Kind: agency.GateMerge, Summary: "ready", Body: body}
	beside := "\n  run  r\n  cost  $1\n  anomalies\n" + strings.Repeat("  red  a test\n", 20)
	got := Gate(Style{Width: 80, Fold: 30}, g, beside)
	for _, want := range []string{
		"  Goal: it works\n  Criteria:\n  - verified: it works\n", "  Changes on `b`:\n    a.go  +1 -1\n", "    …\n    20 files changed\n  Checks:\n  - lint\n  - test\n  unproved: 3 lines\n  What it says:\n",
		"… v shows all of it\n  run  r\n", "  anomalies\n  red  a test\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	if n := strings.Count(got, "\n"); n > 30 || strings.Contains(got, "agency approve") {
		t.Errorf("%d lines:\n%s", n, got)
	}
	small := Gate(Style{Width: 80, Fold: 19}, g, "\n  run  r\n  cost  $1\n")
	for _, want := range []string{"Goal: it works", "verified: it works", "20 files changed", "- test\n", "unproved: 3 lines", "v shows all of it"} {
		if !strings.Contains(small, want) {
			t.Errorf("no %q in:\n%s", want, small)
		}
	}
	if whole := Gate(Style{Width: 80}, g, beside); strings.Count(whole, "TestX") != 20 || strings.Count(whole, "> much") != 30 || strings.Count(whole, "red") != 20 || !strings.Contains(whole, "agency approve") {
		t.Errorf("the whole is\n%s", whole)
	}
}

// What is cut at the end of a line is what matters least: of a check its command, of a table that
// ends in numbers the names.
func TestWhatIsCut(t *testing.T) {
	ev := event(1, agency.RoleGeneralist, agency.SeverityInfo, "claim: `go test -count=1 ./internal/...`: passed 12, failed 0, skipped 1", agency.TestsRun{})
	if got := EventLine(Style{Width: 80}, time.UTC, ev); !strings.HasSuffix(got, "`: passed 12, failed 0, skipped 1") || columns(got) > 79 || !strings.Contains(got, "`go test …`") {
		t.Errorf("%q", got)
	}
	if got := EventLine(Style{Width: 200}, time.UTC, ev); !strings.Contains(got, ev.Summary) {
		t.Errorf("%q", got)
	}
	long := strings.Repeat("contract-", 8)
	c := api.CostDoc{ByContract: map[string]api.Spend{long + "a": {CostUSD: 1.25, Requests: 1234567, In: 123456789, Tokens: 987654321}}}
	got := Costs(Style{Width: 80}, c)
	if !strings.Contains(got, "987654321  $1.25\n") || !strings.Contains(got, "COUNTED   COST\n") || !strings.Contains(got, "\ncontract-") {
		t.Errorf("cut:\n%s", got)
	}
	for line := range strings.Lines(got) {
		if columns(line) > 80 {
			t.Errorf("%d columns: %s", columns(line), line)
		}
	}
	if whole := Costs(Style{}, c); !strings.Contains(whole, long+"a ") {
		t.Errorf("where no width is known names are cut:\n%s", whole)
	}
}

// TestCodeIsAsWritten: what is read in code can be copied: nothing in it is a heading, a quote or a
// list, whatever fence it has, also while it comes.
func TestCodeIsAsWritten(t *testing.T) {
	st := Style{Color: true, Width: 60}
	for _, fence := range []string{"```", "~~~", "````"} {
		code := []string{"# remove the build folder", "rm -rf build", "## second", "> fold", "| a | b |", "- **x**", "\\*", "``", "~~", "    # indented"}
		if fence != "```" {
			code = append(code, "```", "# of an example", "```")
		}
		text := "Do:\n" + fence + "bash\n" + strings.Join(code, "\n") + "\n" + fence + "\n# Head\n"
		var got []string
		for _, line := range rendered(st, text, "") {
			got = append(got, strings.TrimPrefix(inked([]string{line}), "  "))
		}
		if want := append(append([]string{"Do:"}, code...), "Head"); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", fence, got, want)
		}
		whole := rendered(st, text, "")
		for i, c := range text {
			if c != '\n' {
				continue
			}
			for _, line := range streamed(st, text[:i+1], "", 4) {
				if !slices.Contains(whole, line) {
					t.Errorf("%s: %q is none of the lines that it will be", fence, line)
				}
			}
		}
	}
	if got := rendered(st, "    # code without a fence\n", ""); len(got) != 1 || got[0] != "    # code without a fence" {
		t.Errorf("%q", got)
	}
}
