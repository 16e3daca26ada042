package turn_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/ui/tui"
	"agency/internal/ui/tui/turn"
)

const session = agency.SessionID("r-abcdefgh/main/attempt-1")

// record is a conversation by its turns.
type record map[int][]api.MessageLine

func (r record) Transcript(_ context.Context, _ agency.RunID, _ agency.SessionID, turn ...int) (api.TranscriptDoc, error) {
	lines, known := r[turn[0]]
	if !known {
		return api.TranscriptDoc{}, errors.New("it is not stored yet")
	}
	return api.TranscriptDoc{Lines: lines}, nil
}

func says(turn int, text string) api.MessageLine {
	return api.MessageLine{Turn: turn, Role: "assistant", Kind: "text", Text: text}
}

func calls(id, tool string, args map[string]any) api.MessageLine {
	b, _ := json.Marshal(args)
	return api.MessageLine{Role: "assistant", Kind: "tool_call", CallID: id, Tool: tool, Args: b}
}

func answers(id, text string) api.MessageLine {
	return api.MessageLine{Role: "user", Kind: "tool_result", CallID: id, Text: text}
}

func called(turn int, tool, failed string) agency.Event {
	ev := agency.NewEvent("r-abcdefgh", agency.SeverityInfo, tool, agency.ToolCalled{Session: session, Turn: turn, Tool: tool, Error: failed})
	ev.Time, ev.Role = time.Date(2026, 3, 1, 22, 4, 0, 0, time.UTC), agency.RoleGeneralist
	return ev
}

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return b.String()
}

func teller(r record) *turn.Teller {
	return &turn.Teller{From: r, Run: "r-abcdefgh", Style: func() tui.Style { return tui.Style{Live: true, Width: 60} }, Zone: time.UTC}
}

// What a model says stands before the first of what it did, edits below their calls as the
// lines that differ, commands by their last lines, and nothing of it can steer the terminal.
func TestATurn(t *testing.T) {
	r := record{1: {
		says(1, "## Plan\n\nI fix it.\x1b[2J"),
		calls("a", "read_file", map[string]any{"path": "calc.go"}),
		calls("b", "edit_file", map[string]any{"path": "calc.go", "old_text": "one\ntwo\nthree\n", "new_text": "one\n2\x1b[2J\nthree\n"}),
		calls("c", "edit_file", map[string]any{"path": "calc.go", "old_text": "not there", "new_text": "x"}),
		calls("d", "write_file", map[string]any{"path": "new.txt", "content": numbered(20)}),
		calls("e", "run_command", map[string]any{"command": "make"}),
		answers("a", "package calc"), answers("b", "edited"), answers("c", "error: old_text does not occur"), answers("d", "written"), answers("e", "exit code 3\n"+numbered(9)+"\x1b]0;title\x07done\n"),
	}}
	of := teller(r)
	var got strings.Builder
	for _, ev := range []agency.Event{called(1, "read_file", ""), called(1, "edit_file", ""), called(1, "edit_file", "error: old_text does not occur"), called(1, "write_file", ""), called(1, "run_command", "")} {
		a := of.Around(t.Context(), ev)
		got.WriteString(a.Before + ev.Summary + "\n" + a.Below)
	}
	want := `22:04:00  says
  ## Plan

  I fix it.
read_file
edit_file
     one
    -two
    +2
     three
edit_file
write_file
` + strings.ReplaceAll("    +"+strings.ReplaceAll(numbered(12), "\n", "\n    +"), "\n    +\x00", "")
	want = strings.TrimSuffix(want, "    +") + `    +8 lines more, agency diff abcdefgh
run_command
    exit code 3
    +6 lines before, agency inspect abcdefgh --transcript …
    line 7
    line 8
    line 9
    done
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("shown (-want +got):\n%s", diff)
	}
}

// Why a call failed or was refused is said by its line; all of it is wanted with --verbose.
func TestWhyACallFailed(t *testing.T) {
	why := "error: old_text does not occur in the file; the nearest place is\n1\tpackage calc\n"
	r := record{1: {calls("a", "edit_file", map[string]any{"path": "calc.go", "old_text": "x"}), calls("b", "nonsense", nil), answers("a", why), answers("b", why)}}
	refused := agency.NewEvent("r-abcdefgh", agency.SeverityWarning, "nonsense", agency.ToolRefused{Session: session, Turn: 1, Tool: "nonsense"})
	for _, whole := range []bool{false, true} {
		of := teller(r)
		of.Whole = whole
		for _, ev := range []agency.Event{called(1, "edit_file", why), refused} {
			if got := of.Around(t.Context(), ev).Below; (got == "    error: old_text does not occur in the file; the neares…\n    1    package calc\n") != whole || !whole && got != "" {
				t.Errorf("whole: %v: %s: %q", whole, ev.Type, got)
			}
		}
	}
}

// A conversation shows edits as the lines that differ, the arguments of all else as they are, and
// lets nobody steer the terminal.
func TestTranscript(t *testing.T) {
	d := api.TranscriptDoc{Lines: []api.MessageLine{
		says(1, "I **fix**\x1b[2J it."),
		calls("a", "edit_file", map[string]any{"path": "calc.go", "old_text": "one\ntwo", "new_text": "one\n2\x1b[2J"}),
		calls("b", "write_file", map[string]any{"path": "new.txt", "content": "a\nb\n"}),
		calls("c", "run_command", map[string]any{"command": "make"}),
		answers("c", "exit code 0\x1b[1m"),
		{Role: "user", Kind: "tool_result", CallID: "d", Text: "use the helper", By: "ann\x1b[2J"},
	}}
	for i := range d.Lines {
		d.Lines[i].Turn = 1
	}
	d.Session.ID, d.Session.Role = session, agency.RoleGeneralist
	const head = "r-abcdefgh/main/attempt-1  generalist  at work\n"
	want := head + `
turn 1  assistant  text
  I **fix** it.

turn 1  assistant  tool_call  edit_file calc.go
   one
  -two
  +2

turn 1  assistant  tool_call  write_file new.txt
  +a
  +b

turn 1  assistant  tool_call  run_command
  {"command":"make"}

turn 1  user  tool_result
  exit code 0

turn 1  user  tool_result  answered by ann
  use the helper
`
	if diff := cmp.Diff(want, turn.Transcript(tui.Style{}, d)); diff != "" {
		t.Errorf("shown (-want +got):\n%s", diff)
	}
	if got := turn.Transcript(tui.Style{Color: true}, d); !strings.Contains(got, "\x1b[31m-two\x1b[0m\n  \x1b[32m+2\x1b[0m\n") || !strings.Contains(got, "I \x1b[1mfix\x1b[0m it.\n") {
		t.Errorf("in colours %q", got)
	}
}

// What is said is told once: when it is heard to be whole, or with the turn's events; and a
// short line beside who says it.
func TestSaidOnce(t *testing.T) {
	r := record{}
	of := teller(r)
	by := called(1, "", "")
	if got := of.Said(t.Context(), session, 1, by); got != "" {
		t.Errorf("told before it is stored: %q", got)
	}
	r[1] = []api.MessageLine{says(1, "I look.")}
	if got := of.Said(t.Context(), session, 1, by); got != "22:04:00  says               I look.\n" {
		t.Errorf("told %q", got)
	}
	for _, ev := range []agency.Event{called(1, "read_file", ""), agency.NewEvent("r", agency.SeverityInfo, "", agency.TurnCompleted{Session: session, Turn: 1})} {
		if a := of.Around(t.Context(), ev); a != (tui.Around{}) {
			t.Errorf("told again: %+v", a)
		}
	}
	r[2] = []api.MessageLine{says(2, "On.")}
	if a := of.Around(t.Context(), agency.NewEvent("r", agency.SeverityInfo, "", agency.TurnCompleted{Session: session, Turn: 2})); !strings.HasSuffix(a.Before, "On.\n") {
		t.Errorf("a turn without calls tells %+v", a)
	}
	if got := of.Said(t.Context(), session, 2, by); got != "" {
		t.Errorf("told again: %q", got)
	}
}

// What an agent says is broken between words in the terminal's columns, none of it cut.
func TestTranscriptFitsTheTerminal(t *testing.T) {
	words := strings.Repeat("some-words that follow ", 8)
	d := api.TranscriptDoc{Lines: []api.MessageLine{{Role: "assistant", Kind: "text", Text: words + "\n\n| a | b |\n|---|---|\n| x | " + words + "|\n"}}}
	got := turn.Transcript(tui.Style{Color: true, Width: 60}, d)
	if n := strings.Count(got, "some-words"); n != 16 {
		t.Errorf("%d of 16 words in\n%s", n, got)
	}
	for line := range strings.Lines(got) {
		if strings.Contains(line, "words") && len(line) > 60 {
			t.Errorf("%d columns: %s", len(line)-1, line)
		}
	}
}
