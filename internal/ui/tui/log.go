package tui

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"agency/internal/agency"
	"agency/internal/api"
)

// LogOptions say how a live log looks.
type LogOptions struct {
	Style   Style
	Verbose bool           // also events that matter only to whoever looks for a fault
	Quiet   bool           // gates, failures and the end alone
	Zone    *time.Location // of the times shown; nil: UTC
	Now     func() time.Time
	// Width asks for the terminal's columns, which may change while it is
	// written to; nil: those of Style.
	Width func() int
	// Away tells that the terminal is another's at the moment: nothing is drawn below the log
	// then; nil: it never is.
	Away func() bool
	// Start is when the run started, for the progress line's clock.
	Start time.Time
	// Health is asked how the run's agents are; nil: nobody knows.
	Health Health
}

// Health is how the agents of a run are, by its events.
type Health interface {
	// Add takes an event in, and gives a line where it shows an agent that gets on
	// again.
	Add(agency.Event) string
	// Line is how those are that do not just work; empty: all do.
	Line() string
}

// Log prints events as they come, a line each, and below them on a terminal
// what is said now and one line of progress. It is safe for concurrent use.
type Log struct {
	out io.Writer
	o   LogOptions

	mu       sync.Mutex
	progress Progress
	saying   Saying
	awaited  Awaited
	asked    string // stands in the place of the progress
	held     int    // by how many who have the terminal to themselves
	kept     strings.Builder
	shown    []int // columns of the lines below the log that stand on the terminal
	runWidth int
	stopped  bool
}

// NewLog makes a log that writes to out.
func NewLog(out io.Writer, o LogOptions) *Log {
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	return &Log{out: out, o: o}
}

// Around is what stands in the log before an event and below it, whole lines.
type Around struct{ Before, Below string }

// Event prints one event, and what became of the progress.
func (l *Log) Event(ev agency.Event) error { return l.EventIn(ev, Around{}) }

// EventIn is Event with what stands around it.
func (l *Log) EventIn(ev agency.Event, around Around) (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	d, _ := agency.DecodeDetail(ev) // none of a newer version
	better := l.add(ev, d)
	if better != "" && !l.o.Quiet {
		told := agency.NewEvent(ev.RunID, agency.SeverityInfo, better, agency.Log{})
		told.Time, told.Role, told.ContractID = ev.Time, ev.Role, ev.ContractID
		defer func() { err = errors.Join(err, l.write(l.line(told)+"\n")) }()
	}
	text := around.Before
	if l.shows(ev, d) {
		l.runWidth = max(l.runWidth, len(ev.RunID)+2)
		text += l.line(ev) + "\n"
	}
	if text += around.Below; text == "" {
		return l.redraw()
	}
	return l.write(text)
}

// shows tells whether an event is for who reads the log.
func (l *Log) shows(ev agency.Event, d agency.Detail) bool {
	switch {
	case l.o.Quiet:
		return ev.Category == agency.CategoryGate || ev.Severity.AtLeast(agency.SeverityError) || ev.ContractID == "" && StateAfter(ev).Final()
	case l.o.Verbose:
		return true
	}
	return ev.Severity.AtLeast(agency.SeverityInfo) && (l.width() <= 0 || !routine(ev, d))
}

// Print writes text above the progress line.
func (l *Log) Print(text string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.write(text)
}

// Note writes what the command says, fitted to the terminal, above the progress line.
func (l *Log) Note(text string) error {
	return l.Print(Fit(Style{Width: l.width()}, "agency: "+text+"\n"))
}

// Seen takes an event in that is not shown: what was before the log began
// counts in its progress line.
func (l *Log) Seen(ev agency.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	d, _ := agency.DecodeDetail(ev) // as above
	l.add(ev, d)
}

// add takes an event in, and gives what it shows of an agent that gets on again.
func (l *Log) add(ev agency.Event, d agency.Detail) string {
	l.progress.Take(ev, d)
	l.awaited.Take(ev, d)
	l.saying.Take(d)
	if l.o.Health == nil {
		return ""
	}
	better := l.o.Health.Add(ev)
	l.progress.Health = l.o.Health.Line()
	return better
}

// Tick redraws the progress line, whose clock went on.
func (l *Log) Tick() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.redraw()
}

// Say takes in what agents say, and shows the end of it above the progress.
func (l *Log) Say(said ...api.Delta) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.saying.Add(said...)
	l.awaited.Hear(l.now(), said...)
	return l.redraw()
}

// Told prints what was said in a turn, which stands below the log no more.
func (l *Log) Told(id agency.SessionID, turn int, text string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.saying.Told(id, turn)
	return l.write(text)
}

// Stands takes in how far the run is, what it has spent and what it is likely to come to, for
// the progress line: the host knows its contracts, of which the log shows only those that have
// begun, and the answers of turns that have not ended.
func (l *Log) Stands(c api.CostDoc) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.progress.Forecast, l.progress.Share = c.Forecast, c.Progress
	l.progress.paid(agency.Spent{USD: c.Total.CostUSD, Tokens: c.Total.Tokens})
	l.progress.Unpriced = l.progress.Unpriced || c.Total.Unpriced
}

// Stop takes the progress line away; nothing draws it again.
func (l *Log) Stop() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = true
	return l.emit(l.erase(), "")
}

// Ask has a question stand below the log in the place of the progress; empty: none.
func (l *Log) Ask(text string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = text
	return l.redraw()
}

// Hold keeps all that the log would print until the release, while something else has the
// terminal.
func (l *Log) Hold() (release func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.emit(l.erase(), "") // a terminal that is gone is noticed by the next event
	l.held++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.held--; l.held == 0 {
			text := l.kept.String()
			l.kept.Reset()
			_ = l.write(text) // likewise
		}
	}
}

func (l *Log) write(text string) error {
	if l.held > 0 {
		l.kept.WriteString(text)
		return nil
	}
	gone := l.erase()
	return l.emit(gone, text+l.draw())
}

func (l *Log) redraw() error {
	if !l.o.Style.Live || l.stopped || l.held > 0 {
		return nil
	}
	if l.o.Away != nil && l.o.Away() {
		l.shown = nil // what stands there is not the log's any more
		return nil
	}
	gone := l.erase()
	return l.emit(gone, l.draw())
}

// emit writes what takes the progress line away, then text.
func (l *Log) emit(gone, text string) error {
	if gone != "" {
		if err := cursor(l.out, gone); err != nil {
			return err
		}
	}
	if text == "" {
		return nil
	}
	_, err := io.WriteString(l.out, text)
	return err
}

// erase takes the lines below the log away. A terminal that became narrower has
// broken them, and the cursor stands on the last row.
func (l *Log) erase() string {
	if len(l.shown) == 0 {
		return ""
	}
	rows := len(l.shown) - 1
	if width := l.width(); width > 0 {
		for _, n := range l.shown {
			rows += max(0, n-1) / width
		}
	}
	l.shown = nil
	if rows == 0 {
		return "\r\x1b[K"
	}
	return fmt.Sprintf("\r\x1b[%dA\x1b[J", rows)
}

func (l *Log) width() int {
	if l.o.Width != nil {
		return l.o.Width()
	}
	return l.o.Style.Width
}

func (l *Log) draw() string {
	if !l.o.Style.Live || l.stopped || l.o.Away != nil && l.o.Away() {
		return ""
	}
	l.progress.Awaits, l.progress.Calls = l.awaited.Line(l.now()), l.saying.Doing()
	text, color := l.progress.line(l.elapsed()), dim
	if l.asked != "" {
		text, color = l.asked, bold+";"+yellow
	}
	if text == "" {
		return ""
	}
	text = cut(text, l.width()-1)
	l.shown = []int{columns(text)}
	text = l.o.Style.paint(color, text)
	if l.o.Quiet {
		return text
	}
	st := l.o.Style
	st.Width = l.width()
	said := l.saying.Seen(st)
	for i := len(said) - 1; i >= 0; i-- {
		l.shown = slices.Insert(l.shown, 0, columns(said[i]))
		text = said[i] + "\n" + text
	}
	return text
}

func (l *Log) now() time.Time {
	if l.o.Now == nil {
		return time.Time{}
	}
	return l.o.Now()
}

func (l *Log) elapsed() time.Duration {
	if l.o.Now == nil || l.o.Start.IsZero() {
		return 0
	}
	return Passed(l.o.Start, l.o.Now())
}

// line is `[RUN] HH:MM:SS  TIER|ROLE  EVENT  text`. Its columns
// keep their width, so that the eye can run down the last one.
func (l *Log) line(ev agency.Event) string {
	st, width := l.o.Style, l.width()
	run := "[" + string(ev.RunID) + "]"
	if width > 0 {
		run = "[" + shortRun(ev.RunID) + "]"
	} else {
		run = pad(run, l.runWidth)
	}
	text := Line(ev.Summary)
	if ev.ContractID != "" && ev.ContractID != agency.MainContract && ev.Role != agency.RoleAgent {
		text = string(ev.ContractID) + ": " + text
	}
	if ev.Type == "claimed" {
		text = ownWords(st, text)
	}
	head := []column{
		{run + " ", dim, 120},
		{ev.Time.In(l.o.Zone).Format(time.TimeOnly) + "  ", dim, 50},
		{pad(cut(who(ev), 14), 14) + "  ", dim, 100},
		{pad(l.word(ev), 17) + "  ", colorOf(ev), 0},
	}
	var b strings.Builder
	left := width - 1
	for _, c := range head {
		if width > 0 && width < c.from {
			continue
		}
		left -= columns(c.text)
		word := strings.TrimRight(c.text, " ")
		b.WriteString(st.paint(c.color, word) + c.text[len(word):])
	}
	if width > 0 {
		if left = max(8, left); failedCall(ev) {
			text = cut(text, left)
		} else {
			text = fitted(text, left, width-1-left, telling(ev))
		}
	}
	b.WriteString(strings.TrimRight(st.paint(textColor(ev), text), " "))
	return b.String()
}

// fitted is a text in so many columns: cut, or where all of it tells something
// broken into a few lines that stand below each other. So is what came of a command
// that does not fit beside the least of that.
func fitted(text string, width, indent int, whole bool) string {
	short, came := squeezed(text, width)
	if !whole && came && columns(short) > width {
		text, whole = short, true
	}
	if !whole || width < leastWidth {
		return cut(short, width)
	}
	lines := strings.Split(wrapLine(text, width), "\n")
	if len(lines) > mostLines {
		lines[mostLines-1] = strings.Join(lines[mostLines-1:], " ")
		lines = lines[:mostLines]
	}
	for i := range lines {
		lines[i] = cut(lines[i], width)
	}
	return strings.Join(lines, "\n"+strings.Repeat(" ", indent))
}

// squeezed is a text that is too long with less of the command that it quotes; came: what came
// of that stands behind it.
func squeezed(text string, width int) (short string, came bool) {
	over := columns(text) - width
	before, rest, _ := strings.Cut(text, "`")
	command, after, quoted := strings.Cut(rest, "`")
	if over <= 0 || !quoted || after == "" {
		return text, false
	}
	return before + "`" + cut(command, max(leastCommand, columns(command)-over)) + "`" + after, strings.HasPrefix(after, ": ")
}

// leastCommand is how much of a command is left at least.
const leastCommand = 8

// mostLines bounds how many lines one event takes on a terminal.
const mostLines = 5

// telling events are what a person watches for: how things went, and why.
func telling(ev agency.Event) bool {
	switch ev.Type {
	case "run_started", "plan_submitted", "plan_estimated", "verdict_submitted", "review_submitted", "joint_verdict", "run_judged", "path_amendment", "merged", "merge_conflicted", "escalated", "failed",
		"state_changed", "run_succeeded", "run_failed":
		return true
	}
	if ev.Type == "log" && strings.HasPrefix(ev.Summary, "seen: ") { // its evidence stands at its end
		return true
	}
	return ev.Category == agency.CategoryGate || ev.Severity.AtLeast(agency.SeverityWarning)
}

// failedCall tells of a call that was refused or failed, which is for its agent to mend: a line says what
// it was and why, and all of it stands in the conversation.
func failedCall(ev agency.Event) bool {
	return ev.Type == "tool_refused" || ev.Type == "tool_called"
}

// routine events say on a terminal what its progress line says as well, or what
// the next event says better. The log of a program has all of them.
func routine(ev agency.Event, d agency.Detail) bool {
	if ev.Severity.AtLeast(agency.SeverityWarning) {
		return false
	}
	switch d := d.(type) {
	case *agency.TurnCompleted:
		return true
	case *agency.ToolCalled:
		return d.Error == "" && slices.Contains(endings, d.Tool)
	case *agency.LintRun:
		return d.ExitCode == 0
	case *agency.MessageDelivered, *agency.MessageProcessed:
		return true
	case *agency.Spawned:
		return ev.Role == agency.RoleImplementer // of many; the steps of their tier are shown
	case *agency.Completed:
		return d.Session != "" || ev.Role == agency.RoleImplementer // that of its contract says how it ended
	}
	return false
}

// endings are the tools whose effect is an event of its own.
var endings = []string{"submit_plan", "submit_review", "signal_complete", "final_report"}

// column is a part of a line that a terminal shows from a width on: what is
// said matters more there than when, to whom and in which run.
type column struct {
	text, color string
	from        int
}

// shortRun is the end of a run's id, which tells runs apart and which every
// command accepts.
func shortRun(id agency.RunID) string {
	if i := strings.LastIndexByte(string(id), '-'); i >= 0 && len(id)-i > 4 {
		return string(id[i+1:])
	}
	return string(id)
}

// who stands in the column TIER|ROLE: the tier where there is one, else the
// role, else the part of the system that speaks. An agent of a file has its name.
func who(ev agency.Event) string {
	switch {
	case ev.Role == agency.RoleAgent && ev.ContractID != "":
		return ev.ContractID.Post()
	case ev.Role.Tier() != "": // t4_implementer: T4 implementer
		tier, role, _ := strings.Cut(string(ev.Role), "_")
		return strings.ToUpper(tier) + " " + role
	case ev.Role != "":
		return string(ev.Role)
	default:
		return string(ev.Category)
	}
}

func colorOf(ev agency.Event) string {
	switch {
	case ev.Category == agency.CategoryGate && ev.Severity == agency.SeverityWarning:
		return bold + ";" + yellow
	case ev.Severity == agency.SeverityError, ev.Severity == agency.SeverityCritical:
		return red
	case ev.Severity == agency.SeverityWarning:
		return yellow
	case ev.Type == "merged", ev.Type == "run_succeeded", ev.Type == "completed":
		return green
	case ev.Severity == agency.SeverityDebug:
		return dim
	default:
		return cyan
	}
}

func textColor(ev agency.Event) string {
	if ev.Severity == agency.SeverityDebug {
		return dim
	}
	return plain
}
