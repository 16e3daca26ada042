package stream

import (
	"context"
	"time"

	"agency/internal/agency"
	"agency/internal/api"
)

// pace is how far two looks of a Tail are apart at least: what comes between them is
// told together.
const pace = 50 * time.Millisecond

// Tail hears what is said in a run from when it was made, and of answers that come then
// what is kept of their beginning. It is for one goroutine.
type Tail struct {
	hub   *Hub
	run   agency.RunID
	woken chan struct{}
	heard map[*Source]mark
	looks bool // it has told something
}

// mark is how far a source was heard.
type mark struct {
	answer int
	at     int64
	done   bool
}

// Tail begins to hear a run, be it one that has not begun.
func (h *Hub) Tail(run agency.RunID) *Tail {
	t := &Tail{hub: h, run: run, woken: make(chan struct{}, 1), heard: map[*Source]mark{}}
	t.woken <- struct{}{}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.talk(run).tails[t] = struct{}{}
	return t
}

// Close ends the hearing.
func (t *Tail) Close() {
	t.hub.mu.Lock()
	defer t.hub.mu.Unlock()
	delete(t.hub.talk(t.run).tails, t)
	t.hub.drop(t.run)
}

// Next waits until something was said, and tells it, never more than is kept of each
// session. Its error is that of the context.
func (t *Tail) Next(ctx context.Context) ([]api.Delta, error) {
	if t.looks {
		limit := time.NewTimer(pace)
		defer limit.Stop()
		select {
		case <-limit.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	for {
		select {
		case <-t.woken:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if out := t.gather(); len(out) > 0 {
			t.looks = true
			return out, nil
		}
	}
}

// gather is what was said since the last look.
func (t *Tail) gather() (out []api.Delta) {
	t.hub.mu.Lock()
	defer t.hub.mu.Unlock()
	heard := make(map[*Source]mark, len(t.heard))
	for _, s := range t.hub.talk(t.run).sources {
		m := t.heard[s]
		out, m = s.since(out, m)
		heard[s] = m
		delete(t.heard, s)
	}
	for s, m := range t.heard { // those that are gone
		if m.answer > 0 && !m.done {
			out = append(out, s.ends(m))
		}
	}
	t.heard = heard
	return out
}

// ends says that nothing more comes of an answer.
func (s *Source) ends(m mark) api.Delta {
	d := s.who
	d.Turn, d.Done = s.turn, true
	if m.answer < s.answer {
		d.Turn = 0 // it was another one's
	}
	return d
}

// since appends what a source has said since a mark.
func (s *Source) since(out []api.Delta, m mark) ([]api.Delta, mark) {
	fresh := m.answer < s.answer
	told := !fresh
	if fresh {
		m = mark{answer: s.answer}
	}
	if fresh && s.said.end == 0 && !s.done { // whoever looks on sees how long it takes to begin
		d := s.who
		d.Turn, d.Model, d.Asked, d.Begins = s.turn, s.model, s.asked, true
		return append(out, d), m
	}
	for _, p := range s.said.parts {
		end := p.from + int64(len(p.text))
		if end <= m.at {
			continue
		}
		d := s.who
		d.Kind, d.Turn, d.Begins, fresh = p.kind, s.turn, fresh, false
		if d.Begins {
			d.Model, d.Asked = s.model, s.asked
		}
		d.Lost = max(0, p.from-m.at)
		d.Text = string(p.text[max(0, m.at-p.from):])
		m.at = end
		if n := len(out); n > 0 && !d.Begins && d.Lost == 0 && out[n-1].Session == d.Session && out[n-1].Kind == d.Kind && !out[n-1].Done {
			out[n-1].Text += d.Text
			continue
		}
		out = append(out, d)
	}
	if s.done && !m.done {
		if told || m.at > 0 {
			out = append(out, s.ends(m))
		}
		m.done = true
	}
	return out, m
}
