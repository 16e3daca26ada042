// Package stream keeps what models say while they say it, for people who look on: the
// end of it, of each session that is at work, in memory alone. Nothing of it is stored;
// the answer is, once it is whole (package session).
//
// A Source is where a session says it, a Tail where somebody hears it. Neither waits for
// the other: whoever reads slowly finds the oldest gone. Secrets are taken out before
// anything is kept, also those that come in two pieces.
package stream

import (
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/llm"
)

// kept is how much of what a session says is kept, in bytes.
const kept = 16 << 10

// Hub is what the sessions of a host say. A nil Hub hears nothing. It is safe for
// concurrent use.
type Hub struct {
	redactor func() *agency.Redactor
	now      func() time.Time

	mu   sync.Mutex
	runs map[agency.RunID]*talk
}

// talk is what is said in a run.
type talk struct {
	sources []*Source // as they opened
	tails   map[*Tail]struct{}
}

// New makes a hub; redactor gives what takes the secrets out that are known now.
func New(redactor func() *agency.Redactor, now func() time.Time) *Hub {
	return &Hub{redactor: redactor, now: now, runs: map[agency.RunID]*talk{}}
}

// talk is that of a run; h.mu is held.
func (h *Hub) talk(run agency.RunID) *talk {
	t := h.runs[run]
	if t == nil {
		t = &talk{tails: map[*Tail]struct{}{}}
		h.runs[run] = t
	}
	return t
}

// drop forgets a run of which nobody speaks or hears; h.mu is held.
func (h *Hub) drop(run agency.RunID) {
	if t := h.runs[run]; len(t.sources) == 0 && len(t.tails) == 0 {
		delete(h.runs, run)
	}
}

// wake tells those who hear a run; h.mu is held.
func (t *talk) wake() {
	for tail := range t.tails {
		select {
		case tail.woken <- struct{}{}:
		default: // it has not looked since
		}
	}
}

// Source is where one session says something, one goroutine at a time. A nil Source
// says nothing.
type Source struct {
	hub *Hub
	run agency.RunID
	who api.Delta // with nothing said
	raw []byte    // of the piece that comes, what may hold a part of a secret
	was llm.SaidKind

	// Of the answer that comes, or came last; hub.mu holds them.
	said   said
	answer int // from 1
	turn   int
	model  string // that is asked
	asked  time.Time
	done   bool
}

// said is the end of what was said of an answer.
type said struct {
	parts []part
	size  int
	end   int64 // bytes that were said, dropped ones too
}

// part is some of what was said, of one kind.
type part struct {
	kind api.DeltaKind
	text []byte
	from int64
}

// Open begins to hear a session of a run; who says whose it is.
func (h *Hub) Open(run agency.RunID, who api.Delta) *Source {
	if h == nil {
		return nil
	}
	s := &Source{hub: h, run: run, who: who}
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.talk(run)
	t.sources = append(t.sources, s)
	return s
}

// Close forgets what the session said.
func (s *Source) Close() {
	if s == nil {
		return
	}
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	t := s.hub.talk(s.run)
	t.sources = slices.DeleteFunc(t.sources, func(x *Source) bool { return x == s })
	t.wake()
	s.hub.drop(s.run)
}

// Begin begins an answer of a turn, for which a model is asked now; that of the one before is
// gone.
func (s *Source) Begin(turn int, model string) {
	if s == nil {
		return
	}
	s.raw, s.was = nil, ""
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	s.answer++
	s.said, s.turn, s.model, s.asked, s.done = said{}, turn, model, s.hub.now(), false
	s.hub.talk(s.run).wake()
}

// Say takes in a piece of the answer.
func (s *Source) Say(p llm.Said) {
	if s == nil || p.Text == "" {
		return
	}
	text, was := p.Text, s.was
	if s.was != "" && kindOf(p.Kind) != kindOf(s.was) {
		s.flush()
	}
	switch {
	case p.Kind == llm.SaidCall && kindOf(was) == api.DeltaTool: // the next call begins a line
		text = "\n" + text
	case p.Kind == llm.SaidArgs && was == llm.SaidCall:
		text = " " + text
	}
	s.was = p.Kind
	clean, rest := s.hub.redactor().Ahead(append(s.raw, text...))
	if len(rest) > kept { // all of it might be a secret
		clean, rest = append(clean, s.hub.redactor().Bytes(rest)...), nil
	}
	s.add(clean)
	s.raw = slices.Clone(rest)
}

// Done says that the answer is whole, or broke off.
func (s *Source) Done() {
	if s == nil {
		return
	}
	s.flush()
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	s.done = true
	s.hub.talk(s.run).wake()
}

// flush says what was held back: nothing follows it.
func (s *Source) flush() {
	s.add(s.hub.redactor().Bytes(s.raw))
	s.raw = nil
}

func (s *Source) add(text []byte) {
	if len(text) == 0 {
		return
	}
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	s.said.add(kindOf(s.was), text)
	s.hub.talk(s.run).wake()
}

func kindOf(k llm.SaidKind) api.DeltaKind {
	switch k {
	case llm.SaidCall, llm.SaidArgs:
		return api.DeltaTool
	case llm.SaidThinking:
		return api.DeltaThinking
	}
	return api.DeltaText
}

// partSize is from how many bytes on a part is not added to: parts are dropped whole.
const partSize = kept / 16

func (d *said) add(kind api.DeltaKind, text []byte) {
	if over := len(text) - kept; over > 0 {
		for over < len(text) && !utf8.RuneStart(text[over]) {
			over++
		}
		d.parts, d.size = nil, 0
		d.end += int64(over)
		text = text[over:]
	}
	if n := len(d.parts); n == 0 || d.parts[n-1].kind != kind || len(d.parts[n-1].text) >= partSize {
		d.parts = append(d.parts, part{kind: kind, from: d.end})
	}
	last := &d.parts[len(d.parts)-1]
	last.text = append(last.text, text...)
	d.size += len(text)
	d.end += int64(len(text))
	for d.size > kept && len(d.parts) > 1 {
		d.size -= len(d.parts[0].text)
		d.parts = d.parts[1:]
	}
}
