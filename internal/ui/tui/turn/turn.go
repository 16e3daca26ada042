// Package turn shows in a live log what stands behind the events of a turn, on terminals alone:
// what the model said, its edits as small diffs, and the last lines of its commands. All of it
// is read from the record, folded after a few lines, and is once in the log.
package turn

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/ui/tui"
)

// Recorder reads a turn of a conversation (api.View).
type Recorder interface {
	Transcript(ctx context.Context, run agency.RunID, session agency.SessionID, turn ...int) (api.TranscriptDoc, error)
}

// Teller tells of the turns of a run. Its fields stay as they are once it is used; it is safe
// for concurrent use.
type Teller struct {
	From  Recorder
	Run   agency.RunID
	Style func() tui.Style
	Zone  *time.Location
	Whole bool // more of everything

	mu   sync.Mutex
	said map[agency.SessionID]int // the newest turn whose words were told
	open key                      // whose calls these are
	left []call
}

type key struct {
	session agency.SessionID
	turn    int
}

// call is a call of a turn with its result.
type call struct {
	tool   string
	args   json.RawMessage
	result string
	failed bool
}

// How many lines of each are shown; more with Whole.
const (
	mostText, wholeText     = 16, 400
	mostEdit, wholeEdit     = 12, 200
	mostOutput, wholeOutput = 4, 60
)

func (t *Teller) most(few, many int) int {
	if t.Whole {
		return many
	}
	return few
}

// Said is what a session's model said in a turn that is stored, where it is not told yet. by
// says when, and who it is.
func (t *Teller) Said(ctx context.Context, session agency.SessionID, turn int, by agency.Event) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.said[session] >= turn {
		return ""
	}
	return t.words(session, turn, by, t.read(ctx, session, turn))
}

// Around is what stands around an event: before the first of a turn what was said in it, below
// a call what it did.
func (t *Teller) Around(ctx context.Context, ev agency.Event) tui.Around {
	d, err := agency.DecodeDetail(ev)
	if err != nil { // of a newer version
		return tui.Around{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch d := d.(type) {
	case *agency.ToolCalled:
		before := t.begin(ctx, d.Session, d.Turn, ev)
		return tui.Around{Before: before, Below: t.below(d)}
	case *agency.ToolRefused:
		before := t.begin(ctx, d.Session, d.Turn, ev)
		return tui.Around{Before: before, Below: t.why(d.Session, d.Tool)}
	case *agency.TurnCompleted:
		return tui.Around{Before: t.begin(ctx, d.Session, d.Turn, ev)}
	}
	return tui.Around{}
}

// begin reads a turn where it is not the open one, and gives what was said in it.
func (t *Teller) begin(ctx context.Context, session agency.SessionID, turn int, ev agency.Event) string {
	if of := (key{session, turn}); t.open != of {
		lines := t.read(ctx, session, turn)
		t.open, t.left = of, calls(lines)
		return t.words(session, turn, ev, lines)
	}
	return ""
}

// read reads a turn; what cannot be read is not shown: the events are the log.
func (t *Teller) read(ctx context.Context, session agency.SessionID, turn int) []api.MessageLine {
	doc, err := t.From.Transcript(ctx, t.Run, session, turn)
	if err != nil {
		return nil
	}
	return doc.Lines
}

// calls are the calls of a turn with their results.
func calls(lines []api.MessageLine) (out []call) {
	at := map[string]int{}
	for _, l := range lines {
		switch l.Kind {
		case "tool_call":
			at[l.CallID] = len(out)
			out = append(out, call{tool: l.Tool, args: l.Args})
		case "tool_result":
			if i, known := at[l.CallID]; known {
				out[i].result, out[i].failed = l.Text, l.Error
			}
		}
	}
	return out
}

// words are what was said in a turn: beside who said it where it is a short line.
func (t *Teller) words(session agency.SessionID, turn int, by agency.Event, lines []api.MessageLine) string {
	var text []string
	answered := false
	for _, l := range lines {
		if l.Role == "assistant" && l.Turn == turn {
			answered = true
			if l.Kind == "text" && strings.TrimSpace(l.Text) != "" {
				text = append(text, strings.TrimSpace(l.Text))
			}
		}
	}
	if answered && t.said[session] < turn {
		if t.said == nil {
			t.said = map[agency.SessionID]int{}
		}
		defer func() { t.said[session] = turn }()
	}
	if len(text) == 0 || t.said[session] >= turn {
		return ""
	}
	st := t.Style()
	ev := agency.Event{RunID: t.Run, Time: by.Time, Role: by.Role, ContractID: by.ContractID, Type: "says", Severity: agency.SeverityInfo}
	whole := strings.Join(text, "\n\n")
	if ev.Summary = whole; !strings.Contains(whole, "\n") {
		words := tui.Line(whole)
		if head, fits := strings.CutSuffix(tui.EventLine(st, t.Zone, ev), words); fits {
			return head + strings.TrimSuffix(tui.Markdown(st, words), "\n") + "\n"
		}
	}
	ev.Summary = ""
	body := strings.Split(strings.TrimRight(tui.Body(st, whole), "\n"), "\n")
	return strings.TrimRight(tui.EventLine(st, t.Zone, ev), " ") + "\n" + fold(st, "  ", body, t.most(mostText, wholeText), "agency inspect "+tui.ShortRun(t.Run)+" --transcript "+short(session))
}

// short is a session's name within its run.
func short(id agency.SessionID) string {
	if i := strings.IndexByte(string(id), '/'); i >= 0 {
		return string(id[i+1:])
	}
	return string(id)
}

// take takes the next call of a tool out of those that are left.
func (t *Teller) take(tool string) (call, bool) {
	for i, c := range t.left {
		if c.tool == tool {
			t.left = append(t.left[:i:i], t.left[i+1:]...)
			return c, true
		}
	}
	return call{}, false
}

// why is the whole answer to a call that failed or was refused, where more is wanted than its own
// line says.
func (t *Teller) why(session agency.SessionID, tool string) string {
	c, known := t.take(tool)
	if !known || !t.Whole {
		return ""
	}
	return output(t.Style(), t.Run, session, c.result, wholeOutput)
}

// below is what a call did: an edit as a diff, a command by its last lines.
func (t *Teller) below(d *agency.ToolCalled) string {
	if d.Error != "" {
		return t.why(d.Session, d.Tool)
	}
	c, known := t.take(d.Tool)
	if !known {
		return ""
	}
	st := t.Style()
	if lines, _ := edit(c); len(lines) > 0 {
		return fold(st, "    ", paint(st, lines), t.most(mostEdit, wholeEdit), "agency diff "+tui.ShortRun(t.Run))
	}
	if runs(d.Tool) {
		return output(st, t.Run, d.Session, c.result, t.most(mostOutput, wholeOutput))
	}
	return ""
}

// runs tells whether a tool's answer is what a command printed. What checks come to is an event
// of their own.
func runs(tool string) bool { return tool == "run_command" || tool == "command_output" }

// exitCode begins what a command comes to.
const exitCode = "exit code "

// output is the end of what a command printed.
func output(st tui.Style, run agency.RunID, session agency.SessionID, text string, most int) string {
	var lines []string
	for l := range strings.Lines(tui.Clean(text)) {
		if l = strings.TrimRight(l, " \n"); l != "" {
			lines = append(lines, l)
		}
	}
	var b strings.Builder
	if len(lines) > 0 && strings.HasPrefix(lines[0], exitCode) { // says how it ended, above what it printed
		if lines[0] != exitCode+"0" {
			b.WriteString(line(st, "    ", tui.Red, lines[0]))
		}
		lines = lines[1:]
	}
	if n := len(lines) - most; n > 1 {
		b.WriteString(line(st, "    ", tui.Dim, fmt.Sprintf("+%d lines before, agency inspect %s --transcript %s", n, tui.ShortRun(run), short(session))))
		lines = lines[n:]
	}
	for _, l := range lines {
		b.WriteString(line(st, "    ", tui.Dim, strings.ReplaceAll(l, "\t", "    ")))
	}
	return b.String()
}

// fold is the beginning of lines that fit, and where the rest is.
func fold(st tui.Style, indent string, lines []string, most int, rest string) string {
	n := len(lines) - most
	if n > 1 {
		lines = lines[:most]
	}
	text := ""
	if len(lines) > 0 {
		text = strings.Join(lines, "\n") + "\n"
	}
	if n > 1 {
		text += line(st, indent, tui.Dim, fmt.Sprintf("+%d lines more, %s", n, rest))
	}
	return text
}

// line is a line of the log in the terminal's columns.
func line(st tui.Style, indent string, ink tui.Ink, text string) string {
	if st.Width > 0 {
		st.Width = max(1, st.Width-1-len(indent))
	}
	return indent + st.Paint(ink, tui.Cut(st, text)) + "\n"
}

// Transcript is a session's conversation, block by block, edits as the lines that differ. What
// every agent of its role is told stands before it, and is only named.
func Transcript(st tui.Style, d api.TranscriptDoc) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s  %s\n", st.Paint(tui.Bold, string(d.Session.ID)), d.Session.Role, cmp.Or(d.Session.Outcome, "at work"))
	block := func(head string, lines []string) {
		b.WriteString("\n" + st.Paint(tui.Cyan, head) + "\n")
		for _, line := range lines {
			b.WriteString("  " + line + "\n")
		}
	}
	if n := strings.Count(strings.TrimSpace(d.System), "\n") + 1; d.System != "" {
		fmt.Fprintf(&b, "%s\n", st.Paint(tui.Dim, fmt.Sprintf("after a system prompt of %s, which --json has", agency.Things(n, "line", "lines"))))
	}
	for _, l := range d.Lines {
		head := fmt.Sprintf("turn %d  %s  %s", l.Turn, l.Role, l.Kind)
		if l.By != "" {
			head += "  answered by " + tui.Line(l.By)
		}
		switch changed, path := edit(call{tool: l.Tool, args: l.Args}); {
		case l.Kind == "tool_call" && len(changed) > 0:
			for i, line := range changed {
				changed[i] = st.Paint(inkOf(line), line)
			}
			block(strings.TrimRight(head+"  "+tui.Line(l.Tool+" "+path), " "), changed)
		case l.Kind == "tool_call":
			block(head+"  "+tui.Line(l.Tool), lines(tui.PlainArgs(string(l.Args))))
		case l.Error:
			block(head+"  error", lines(strings.TrimRight(l.Text, "\n")))
		case l.Role == "assistant":
			block(head, strings.Split(strings.TrimRight(tui.Markdown(tui.Style{Color: st.Color, Width: max(0, st.Width-2)}, l.Text), "\n"), "\n"))
		default:
			block(head, lines(strings.TrimRight(l.Text, "\n")))
		}
	}
	return b.String()
}
