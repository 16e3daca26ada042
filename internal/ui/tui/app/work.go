package app

import (
	"context"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/ui/tui"
	"agency/internal/ui/tui/turn"
)

// What commands report. Each says when, for Update reads no clock.
type (
	tickMsg struct{ now time.Time }

	runsMsg struct {
		runs []api.RunDoc
		live bool
		err  error
		now  time.Time
		took time.Duration
	}

	runMsg struct {
		run   agency.RunID
		doc   api.InspectDoc
		gates []agency.Gate
		cost  *api.CostDoc // nil: not asked, or not known
		live  bool
		err   error
		now   time.Time
		took  time.Duration
	}

	openedMsg struct{ feed *feed }

	// eventsMsg is what a feed brought since the last one; ended says that no more comes.
	eventsMsg struct {
		feed   int
		events []agency.Event
		now    time.Time
		ended  bool
		live   bool
		err    error
	}

	// saidMsg is what agents said since the last one.
	saidMsg struct {
		feed *feed
		said []api.Delta
	}

	diffMsg struct {
		run agency.RunID
		doc api.DiffDoc
		err error
	}

	transcriptMsg struct {
		session agency.SessionID
		text    string
		turn    int // the last one that the model has answered
		err     error
		now     time.Time
		took    time.Duration
	}

	// doneMsg is what came of an action.
	doneMsg struct {
		act  action
		text string
		run  agency.RunID // that was started
		err  error
		now  time.Time
	}
)

// work is the side of the application that asks and waits. Its methods make commands.
type work struct {
	ctx     context.Context
	looker  Looker
	steerer Steerer
	now     func() time.Time
	style   tui.Style
	after   func(time.Duration) <-chan time.Time
	feeds   sync.WaitGroup
}

func newWork(ctx context.Context, o Options) *work {
	return &work{ctx: ctx, looker: o.Looker, steerer: o.Steerer, now: o.Now, style: o.Style, after: time.After}
}

// wait waits for what still reads; the context has ended.
func (w *work) wait() { w.feeds.Wait() }

// tick is the next second, at its beginning.
func (w *work) tick() tea.Cmd {
	return func() tea.Msg {
		select {
		case <-w.after(tui.NextSecond(w.now())):
		case <-w.ctx.Done():
		}
		return tickMsg{w.now()}
	}
}

func (w *work) runs() tea.Cmd {
	return func() tea.Msg {
		begun := w.now()
		m := runsMsg{}
		m.err = w.looker.Look(w.ctx, func(v api.View, live bool) (err error) {
			m.live = live
			m.runs, err = v.Runs(w.ctx)
			return err
		})
		m.now = w.now()
		m.took = m.now.Sub(begun)
		return m
	}
}

// run asks for all of a run, its costs where they are wanted.
func (w *work) run(id agency.RunID, costs bool) tea.Cmd {
	return func() tea.Msg {
		begun := w.now()
		m := runMsg{run: id}
		m.err = w.looker.Look(w.ctx, func(v api.View, live bool) (err error) {
			m.live = live
			if m.doc, err = v.Inspect(w.ctx, id); err != nil {
				return err
			}
			if m.gates, err = v.Gates(w.ctx, id); err != nil || !costs {
				return err
			}
			cost, err := v.Cost(w.ctx, id)
			m.cost = &cost
			return err
		})
		m.now = w.now()
		m.took = m.now.Sub(begun)
		return m
	}
}

func (w *work) diff(id agency.RunID) tea.Cmd {
	return func() tea.Msg {
		m := diffMsg{run: id}
		m.err = w.looker.Look(w.ctx, func(v api.View, _ bool) (err error) {
			m.doc, err = v.Diff(w.ctx, id)
			return err
		})
		return m
	}
}

// mostTranscript bounds what is shown of a conversation in bytes, so that following a
// long one costs no more than a short one: its end is what is watched.
const mostTranscript = 1 << 20

func (w *work) transcript(id agency.RunID, s agency.SessionID) tea.Cmd {
	return func() tea.Msg {
		begun := w.now()
		m := transcriptMsg{session: s}
		m.err = w.looker.Look(w.ctx, func(v api.View, _ bool) error {
			doc, err := v.Transcript(w.ctx, id, s)
			if err == nil {
				m.text = ending(turn.Transcript(w.style, doc), mostTranscript)
				for _, l := range doc.Lines {
					if l.Role == "assistant" {
						m.turn = l.Turn
					}
				}
			}
			return err
		})
		m.now = w.now()
		m.took = m.now.Sub(begun)
		return m
	}
}

// actKind is what a person does.
type actKind int

const (
	actAnswer actKind = iota
	actSay
	actChange
	actStart
)

// action is one thing that a person does; it is asked for once.
type action struct {
	kind   actKind
	run    agency.RunID
	answer api.AnswerRequest
	to     string
	text   string // what is said, or the goal
	change Change
}

func (w *work) act(a action) tea.Cmd {
	return func() tea.Msg {
		m := doneMsg{act: a}
		switch a.kind {
		case actAnswer:
			m.text, m.err = w.steerer.Answer(w.ctx, a.run, a.answer)
		case actSay:
			m.text, m.err = w.steerer.Say(w.ctx, a.run, a.to, a.text)
		case actChange:
			m.text, m.err = w.steerer.Change(w.ctx, a.run, a.change)
		case actStart:
			m.run, m.text, m.err = w.steerer.Start(w.ctx, a.text)
		}
		m.now = w.now()
		return m
	}
}

// Batches: as many as a frame shows, and no more than fit into memory at once. A host
// brings the events of a frame in one piece, which takes a moment to be read.
const (
	batchTime = time.Second / framesPerSecond
	pieceTime = batchTime / 4
	batchSize = 4096
)

// feed is a log that is followed. Its reader waits where nobody takes what it read, so
// that nothing is lost and memory is bounded.
type feed struct {
	id     int
	events chan agency.Event
	said   chan api.Delta
	end    eventsMsg // read after events is closed
	cancel context.CancelFunc
}

// open follows a log from after an event on.
func (w *work) open(id int, q api.EventQuery) tea.Cmd {
	return func() tea.Msg {
		ctx, cancel := context.WithCancel(w.ctx)
		f := &feed{id: id, events: make(chan agency.Event, batchSize), said: make(chan api.Delta, batchSize), cancel: cancel}
		w.feeds.Go(func() {
			defer close(f.events)
			f.end = w.read(ctx, f, q)
		})
		w.feeds.Go(func() {
			defer close(f.said)
			w.hear(ctx, f, q.Run)
		})
		return openedMsg{f}
	}
}

// hear brings what agents say until the host or ctx ends. Nobody reads it again: what
// cannot be heard is in the record once it is said.
func (w *work) hear(ctx context.Context, f *feed, run agency.RunID) {
	_ = w.looker.Look(ctx, func(v api.View, _ bool) error {
		for d, err := range v.Stream(ctx, run) {
			if err != nil {
				return nil
			}
			select {
			case f.said <- d:
			case <-ctx.Done():
				return nil
			}
		}
		return nil
	})
}

// said waits for what is said, and gathers what else comes within the time of a frame.
func (w *work) said(f *feed) tea.Cmd {
	return func() tea.Msg {
		d, ok := <-f.said
		if !ok {
			return nil
		}
		m := saidMsg{feed: f, said: []api.Delta{d}}
		m.said = gather(m.said, f.said, w.after(batchTime))
		return m
	}
}

// gather appends what a channel brings until a frame is due, with what lies there then, or
// it is closed.
func gather[T any](to []T, from <-chan T, frame <-chan time.Time) []T {
	for due := false; len(to) < batchSize && (!due || len(from) > 0); {
		select {
		case one, ok := <-from:
			if !ok {
				return to
			}
			to = append(to, one)
		case <-frame:
			due = true
		}
	}
	return to
}

// read brings events until the log or ctx ends.
func (w *work) read(ctx context.Context, f *feed, q api.EventQuery) eventsMsg {
	end := eventsMsg{feed: f.id, ended: true}
	q.Follow, q.Pace = true, batchTime
	end.err = w.looker.Look(ctx, func(v api.View, live bool) error {
		end.live = live
		for ev, err := range v.Events(ctx, q) {
			if err != nil {
				return err
			}
			select {
			case f.events <- ev:
				q.After = ev.ID
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	return end
}

// next waits for events and gathers what else comes with them.
func (w *work) next(f *feed) tea.Cmd {
	return func() tea.Msg {
		first, ok := <-f.events
		if !ok {
			end := f.end
			end.now = w.now()
			return end
		}
		m := eventsMsg{feed: f.id, events: []agency.Event{first}}
		m.events = gather(m.events, f.events, w.after(pieceTime))
		m.now = w.now()
		return m
	}
}
