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
			gone := min(len(p.text), size-mostSaid)
			left := strings.ToValidUTF8(p.text[gone:], "")
			if code := inCode(p.text[:gone]); p.kind != api.DeltaTool && code != "" { // its fence goes with what is left out
				left = "\n" + code + "\n" + left
			}
			p.text = text.Ellipsis + left
			s.parts = s.parts[i:]
			return
		}
	}
}

// Text is what a session says in an answer of a turn that is newer than one, painted as far as it
// is complete; empty: nothing is known of it.
func (s Saying) Text(st Style, id agency.SessionID, after int) string {
	now := s.of[id]
	if now.by.Turn <= after {
		return ""
	}
	var out []string
	for _, p := range now.parts {
		if p.kind == api.DeltaTool {
			out = append(out, strings.TrimRight(Clean(p.text), "\n"))
			continue
		}
		out = append(out, streamed(st, p.text, "", 0)...)
	}
	return strings.Join(out, "\n")
}

// Line is the latest line that a session says, in so many columns: of a longer one its
// end, where it goes on. Empty: it says nothing now.
func (s Saying) Line(id agency.SessionID, width int) string {
	now, known := s.of[id]
	if !known || now.by.Done || width < 1 {
		return ""
	}
	now.told = false
	return end(now.newest(), width)
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

// Seen is the end of what is said now, in a few lines for the terminal: of one who speaks as
// it comes, painted as far as it is complete, of several a line each.
func (s Saying) Seen(st Style) []string {
	var who []agency.SessionID
	for _, id := range slices.Sorted(maps.Keys(s.of)) {
		if s.of[id].newest() != "" {
			who = append(who, id)
		}
	}
	width := st.Width - 1
	if len(who) == 1 {
		return s.of[who[0]].seen(st)
	}
	var out []string
	for _, id := range who[:min(len(who), mostSeen)] {
		name := s.name(id) + ": "
		out = append(out, st.paint(dim, name+end(s.of[id].newest(), width-columns(name))))
	}
	return out
}

// seen are the last lines of what is said and not told yet.
func (s saying) seen(st Style) (out []string) {
	for _, p := range slices.Backward(s.parts) {
		var lines []string
		switch {
		case p.kind == api.DeltaTool:
			lines = calling(st, p.text)
		case !s.told:
			lines = streamed(st, p.text, "  ", mostSeen)
		}
		if out = append(lines, out...); len(out) >= mostSeen {
			break
		}
	}
	out = out[max(0, len(out)-mostSeen):]
	for i := range out {
		out[i] = cut(out[i], st.Width-1)
	}
	return out
}

// calling are the last lines of a call that is being written.
func calling(st Style, call string) (out []string) {
	lines := strings.Split(Clean(PlainArgs(call)), "\n")
	for n := len(lines) - 1; n >= 0 && len(out) < mostSeen; n-- {
		l := strings.ReplaceAll(strings.TrimRight(lines[n], " "), "\t", "    ")
		if l == "" {
			continue
		}
		broken := strings.Split(wrapLine("  "+l, st.Width-1), "\n")
		for i := range broken {
			broken[i] = st.paint(dim, broken[i])
		}
		out = append(broken, out...)
	}
	return out
}

// newest is the last line of what is said and not told yet, in words alone.
func (s saying) newest() string {
	for _, p := range slices.Backward(s.parts) {
		tool := p.kind == api.DeltaTool
		if s.told && !tool {
			continue
		}
		said := p.text
		if tool {
			said = PlainArgs(said)
		}
		for said != "" {
			at := strings.LastIndexByte(said, '\n')
			l := Clean(said[at+1:])
			if !tool {
				l = inWords(l)
			}
			if l = Line(l); l != "" {
				return l
			}
			said = said[:max(0, at)]
		}
	}
	return ""
}

// ownWords is what an agent said in one line, which may be cut.
func ownWords(st Style, said string) string {
	switch {
	case !st.Color:
		return said
	case strings.HasSuffix(said, text.Ellipsis):
		said = closed(said)
	}
	return st.inline(said)
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
