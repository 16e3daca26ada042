package tui

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"agency/internal/agency"
)

// LogOptions say how a live log looks.
type LogOptions struct {
	Style   Style
	Verbose bool           // also events that matter only to whoever looks for a fault
	Zone    *time.Location // of the times shown; nil: UTC
	Now     func() time.Time
	// Start is when the run started, for the progress line's clock.
	Start time.Time
}

// Log prints events as they come, a line each, and below them on a terminal
// one line of progress. It is safe for concurrent use.
type Log struct {
	out io.Writer
	o   LogOptions

	mu       sync.Mutex
	progress Progress
	shown    bool // the progress line stands on the terminal
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

// Event prints one event, and what became of the progress.
func (l *Log) Event(ev agency.Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.progress.Add(ev)
	if !l.o.Verbose && !ev.Severity.AtLeast(agency.SeverityInfo) {
		return l.redraw()
	}
	l.runWidth = max(l.runWidth, len(ev.RunID)+2)
	return l.write(l.line(ev) + "\n")
}

// Print writes text above the progress line.
func (l *Log) Print(text string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.write(text)
}

// Tick redraws the progress line, whose clock went on.
func (l *Log) Tick() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.redraw()
}

// Stop takes the progress line away; nothing draws it again.
func (l *Log) Stop() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = true
	return l.emit(l.erase())
}

// Progress is the state that the log has seen.
func (l *Log) Progress() Progress {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.progress
}

func (l *Log) write(text string) error {
	s := l.erase() + text
	return l.emit(s + l.draw())
}

func (l *Log) redraw() error {
	if !l.o.Style.Live || l.stopped {
		return nil
	}
	return l.emit(l.erase() + l.draw())
}

func (l *Log) emit(s string) error {
	if s == "" {
		return nil
	}
	_, err := io.WriteString(l.out, s)
	return err
}

func (l *Log) erase() string {
	if !l.shown {
		return ""
	}
	l.shown = false
	return "\r\x1b[K"
}

func (l *Log) draw() string {
	if !l.o.Style.Live || l.stopped {
		return ""
	}
	text := l.progress.line(l.elapsed())
	if text == "" {
		return ""
	}
	l.shown = true
	return l.o.Style.paint(dim, cut(text, l.o.Style.Width-1))
}

func (l *Log) elapsed() time.Duration {
	if l.o.Now == nil || l.o.Start.IsZero() {
		return 0
	}
	return l.o.Now().Sub(l.o.Start)
}

// line is `[RUN] HH:MM:SS  TIER|ROLE  EVENT  text` (INTERFACES 6). Its columns
// keep their width, so that the eye can run down the last one.
func (l *Log) line(ev agency.Event) string {
	st := l.o.Style
	run := "[" + string(ev.RunID) + "]"
	if st.Live {
		run = "[" + shortRun(ev.RunID) + "]"
	} else {
		run = pad(run, l.runWidth)
	}
	who := pad(cut(who(ev), 14), 14)
	kind := pad(string(ev.Type), 17)
	text := Line(ev.Summary)
	if ev.ContractID != "" && ev.ContractID != "main" {
		text = string(ev.ContractID) + ": " + text
	}
	head := fmt.Sprintf("%s %s  %s  %s  ", run, ev.Time.In(l.o.Zone).Format(time.TimeOnly), who, kind)
	if st.Live && st.Width > 0 {
		text = cut(text, max(20, st.Width-1-utf8.RuneCountInString(head)))
	}
	code := colorOf(ev)
	return fmt.Sprintf("%s %s  %s  %s  %s", st.paint(dim, run), st.paint(dim, ev.Time.In(l.o.Zone).Format(time.TimeOnly)),
		st.paint(dim, who), st.paint(code, kind), strings.TrimRight(st.paint(textColor(ev), text), " "))
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
// role, else the part of the system that speaks.
func who(ev agency.Event) string {
	switch {
	case ev.Tier != "" && ev.Role != "":
		return ev.Tier + "|" + string(ev.Role)
	case ev.Role != "":
		return string(ev.Role)
	case ev.Tier != "":
		return ev.Tier
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
