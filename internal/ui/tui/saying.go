package tui

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/text"
)

// Saying is what the agents of a run say at the moment: a fold of what a stream tells.
// Its zero value is nobody; copies that were made before keep what they know.
type Saying struct {
	of   map[agency.SessionID]saying
	last agency.SessionID         // who said something last
	over map[agency.SessionID]int // turns up to here are over: what is heard of them is late
}

// saying is the end of one answer.
type saying struct {
	by    api.Delta // of its newest piece, without the text
	parts []spoken
	told  bool // its words stand in the log
}

// spoken is what was said of one kind.
type spoken struct {
	kind api.DeltaKind
	text string
}

// mostSaid bounds what is kept of an answer, in bytes.
const mostSaid = 16 << 10

// Add takes in what was said.
func (s *Saying) Add(said ...api.Delta) {
	s.of = maps.Clone(s.of)
	if s.of == nil {
		s.of = map[agency.SessionID]saying{}
	}
	for _, d := range said {
		if d.Turn > 0 && d.Turn <= s.over[d.Session] {
			continue
		}
		now := s.of[d.Session]
		switch {
		case d.Begins:
			now = saying{}
		case d.Lost > 0:
			now.parts = []spoken{{d.Kind, text.Ellipsis}}
		}
		now.add(d)
		if d.Done {
			d.Kind = now.by.Kind
		} else if d.Text != "" {
			s.last = d.Session
		}
		d.Text, now.by = "", d
		s.of[d.Session] = now
	}
}

// add adds a piece, and leaves out what is too old.
func (s *saying) add(d api.Delta) {
	if d.Text == "" {
		return
	}
	s.parts = slices.Clone(s.parts)
	if n := len(s.parts); n == 0 || s.parts[n-1].kind != d.Kind {
		s.parts = append(s.parts, spoken{kind: d.Kind})
	}
	s.parts[len(s.parts)-1].text += d.Text
	size := 0
	for i := len(s.parts) - 1; i >= 0; i-- {
		p := &s.parts[i]
		if size += len(p.text); size > mostSaid+mostSaid/4 {
			p.text = text.Ellipsis + strings.ToValidUTF8(p.text[min(len(p.text), size-mostSaid):], "")
			s.parts = s.parts[i:]
			return
		}
	}
}

// text is what was said, each kind on lines of its own.
func (s saying) text() string {
	all := make([]string, len(s.parts))
	for i, p := range s.parts {
		all[i] = p.text
	}
	return strings.Join(all, "\n")
}

// Text is what a session says in an answer of a turn that is newer than one, clean; empty:
// nothing is known of it.
func (s Saying) Text(id agency.SessionID, after int) string {
	now := s.of[id]
	if now.by.Turn <= after {
		return ""
	}
	return Clean(now.text())
}

// Line is the latest line that a session says, in so many columns: of a longer one its
// end, where it goes on. Empty: it says nothing now.
func (s Saying) Line(id agency.SessionID, width int) string {
	now, known := s.of[id]
	if !known || now.by.Done || width < 1 {
		return ""
	}
	line := ""
	for l := range strings.Lines(now.text()) {
		if l = Line(l); l != "" {
			line = l
		}
	}
	return end(line, width)
}

// Told takes the words of an answer out of what is said: they stand in the log. What it calls
// stays until it is over.
func (s *Saying) Told(id agency.SessionID, turn int) {
	if now, known := s.of[id]; known && now.by.Turn == turn {
		s.of = maps.Clone(s.of)
		now.told = true
		s.of[id] = now
	}
}

// Take takes out what an event ends: a turn that is over with all that it called, an answer
// that broke off.
func (s *Saying) Take(d agency.Detail) {
	switch d := d.(type) {
	case *agency.TurnCompleted:
		s.end(d.Session, d.Turn)
		s.over = maps.Clone(s.over)
		if s.over == nil {
			s.over = map[agency.SessionID]int{}
		}
		s.over[d.Session] = d.Turn
	case *agency.Retried:
		s.end(d.Session, math.MaxInt)
	case *agency.Completed:
		s.end(d.Session, math.MaxInt)
	case *agency.Failed:
		s.end(d.Session, math.MaxInt)
	}
}

func (s *Saying) end(id agency.SessionID, turn int) {
	if now, known := s.of[id]; known && now.by.Turn <= turn {
		s.of = maps.Clone(s.of)
		delete(s.of, id)
	}
}

// mostSeen is how many lines of what is said stand below the log.
const mostSeen = 6

// Seen is the end of what is said now, in so many columns and a few lines: of one who speaks as
// it comes, of several a line each.
func (s Saying) Seen(width int) []string {
	var who []agency.SessionID
	for _, id := range slices.Sorted(maps.Keys(s.of)) {
		if now := s.of[id]; len(now.lines()) > 0 {
			who = append(who, id)
		}
	}
	if len(who) != 1 {
		var out []string
		for _, id := range who[:min(len(who), mostSeen)] {
			name := s.name(id) + ": "
			out = append(out, name+end(last(s.of[id].lines()), width-columns(name)))
		}
		return out
	}
	var out []string
	lines := s.of[who[0]].lines()
	for _, l := range lines[max(0, len(lines)-mostSeen):] {
		for one := range strings.SplitSeq(wrapLine("  "+l, width), "\n") {
			out = append(out, cut(one, width))
		}
	}
	return out[max(0, len(out)-mostSeen):]
}

func last(lines []string) string { return strings.TrimSpace(lines[len(lines)-1]) }

// lines are those that are not told yet, clean.
func (s saying) lines() (out []string) {
	for _, p := range s.parts {
		words := p.text
		switch {
		case p.kind == api.DeltaTool:
			words = PlainArgs(words)
		case s.told:
			continue
		}
		for l := range strings.Lines(Clean(words)) {
			if l = strings.TrimRight(l, " \n"); strings.TrimSpace(l) != "" {
				out = append(out, strings.ReplaceAll(l, "\t", "    "))
			}
		}
	}
	return out
}

// PlainArgs shows the texts in the arguments of a call as they are meant.
func PlainArgs(args string) string { return plainArgs.Replace(args) }

var plainArgs = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t", `\"`, `"`)

// Doing is the tool that an answer called last, while its calls are carried out.
func (s Saying) Doing() string {
	now := s.of[s.last]
	if n := len(now.parts); now.by.Done && n > 0 && now.parts[n-1].kind == api.DeltaTool {
		lines := strings.Split(now.parts[n-1].text, "\n")
		tool, _, _ := strings.Cut(lines[len(lines)-1], " ")
		return Line(tool)
	}
	return ""
}

// name is who speaks.
func (s Saying) name(id agency.SessionID) string {
	by := s.of[id].by
	if by.Contract != "" && by.Contract != agency.MainContract {
		return Line(by.Contract.Post())
	}
	return Line(string(by.Role))
}

// Awaited are the models that are waited for: those that were asked and say nothing, and those
// that are to be asked again. Its zero value waits for none.
type Awaited struct {
	of    map[agency.SessionID]await
	names map[agency.SessionID]string // of the models of those at work: provider/model
	over  map[agency.SessionID]int    // turns up to here are over: what is heard of them is late
}

// await is one model that is waited for.
type await struct {
	since time.Time // when it was asked
	told  time.Time // when the try before had ended
	again time.Time // when it is asked again; zero: it was asked
	why   string
	try   int  // the next one
	of    int  // so many; 0: nobody says
	began bool // it has said something, and was heard last at since
}

// silent is from when on a model that says nothing is waited for, and stalled from when on one
// that has begun to.
const silent, stalled = 3 * time.Second, 5 * time.Second

// Hear takes in what models say at a time, and that they are asked.
func (a *Awaited) Hear(now time.Time, said ...api.Delta) {
	for _, d := range said {
		if d.Begins {
			a.name(d.Session, d.Model)
		}
		switch of, waits := a.of[d.Session]; {
		case d.Turn > 0 && d.Turn <= a.over[d.Session]:
		case waits && of.again.IsZero() && d.Done: // of a try before it says nothing
			delete(a.of, d.Session)
		case d.Text != "" && !d.Done && (!waits || of.again.IsZero()):
			a.set(d.Session, await{since: now, began: true})
		case d.Begins && d.Text == "" && (d.Asked.IsZero() || d.Asked.After(of.told)): // not the try that was told of since
			if d.Asked.IsZero() || d.Asked.After(now) {
				d.Asked = now
			}
			a.set(d.Session, await{since: d.Asked})
		}
	}
}

// Take takes an event in; its details are nil where they are of a newer version.
func (a *Awaited) Take(ev agency.Event, d agency.Detail) {
	switch d := d.(type) {
	case *agency.Spawned:
		a.name(d.Session, d.Model)
	case *agency.Retried:
		if d.Session != "" {
			a.name(d.Session, d.Provider)
			a.set(d.Session, await{told: ev.Time, again: ev.Time.Add(time.Duration(d.WaitSeconds * float64(time.Second))), why: d.Cause, try: d.Attempt + 1, of: d.Of})
		}
	case *agency.TurnCompleted:
		a.name(d.Session, d.Model)
		a.end(d.Session, d.Turn)
	case *agency.Completed:
		a.end(d.Session, math.MaxInt)
	case *agency.Failed:
		a.end(d.Session, math.MaxInt)
	case *agency.SessionParked:
		delete(a.of, d.Session)
	}
	if s := StateAfter(ev); s != "" && s != agency.StateRunning {
		clear(a.of)
	}
}

func (a *Awaited) end(id agency.SessionID, turn int) {
	delete(a.of, id)
	if a.over == nil {
		a.over = map[agency.SessionID]int{}
	}
	a.over[id] = turn
}

func (a *Awaited) name(id agency.SessionID, model string) {
	if model == "" {
		return
	}
	if a.names == nil {
		a.names = map[agency.SessionID]string{}
	}
	a.names[id] = model
}

func (a *Awaited) set(id agency.SessionID, w await) {
	if a.of == nil {
		a.of = map[agency.SessionID]await{}
	}
	a.of[id] = w
}

// Line says for whom is waited longest, and for how many more; empty: for none.
func (a *Awaited) Line(now time.Time) string {
	longest, n := agency.SessionID(""), 0
	for _, id := range slices.Sorted(maps.Keys(a.of)) {
		w := a.of[id]
		if waited := now.Sub(w.since); w.again.IsZero() && (waited < silent || w.began && waited < stalled) {
			continue
		}
		if n++; n == 1 || !w.again.IsZero() && a.of[longest].again.IsZero() {
			longest = id
		}
	}
	if n == 0 {
		return ""
	}
	s := a.of[longest].line(Line(a.names[longest]), now)
	if n > 1 {
		s += fmt.Sprintf(" (and %d more)", n-1)
	}
	return s
}

// whys say what a model's fault is where its kind alone is no sentence.
var whys = map[string]string{
	"server": "the server answers with an error", "network": "the connection was lost", "refused_connection": "cannot connect",
	"timeout": "no answer in time", "stream_cut": "the answer was cut off", "bad_answer": "the answer was not understood",
}

func (w await) line(model string, now time.Time) string {
	provider, _, _ := strings.Cut(model, "/")
	s := "waiting for " + cmp.Or(provider, "the model") + ": "
	if w.began {
		return s + "nothing more for " + Elapsed(Passed(w.since, now))
	}
	if w.again.IsZero() {
		return s + "no answer for " + Elapsed(Passed(w.since, now))
	}
	s += cmp.Or(whys[w.why], Line(strings.ReplaceAll(w.why, "_", " ")))
	if left := Passed(now, w.again); left > 0 {
		s += ", next try in " + Elapsed(left)
	}
	if w.of > 0 {
		return s + fmt.Sprintf(", %d of %d", w.try, w.of)
	}
	return s + fmt.Sprintf(", try %d", w.try)
}
