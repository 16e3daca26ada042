package oversight

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"text/template"
	"time"

	"agency/internal/agency"
	"agency/internal/budget"
	"agency/internal/event"
	"agency/internal/llm"
	"agency/internal/overseer"
	"agency/internal/registry"
	"agency/internal/roster"
	"agency/internal/session"
	"agency/internal/store"
	"agency/internal/text"
)

// Staff is what the model-backed overseer of a run works with.
type Staff struct {
	Lineup session.Lineup
	Prices budget.Tariff
	Limits roster.Limits     // Turns are those of the run, the others those of each look
	Above  session.Allowance // nil: whatever the run's budget does
}

// Options are what a Model is made of.
type Options struct {
	Run      agency.Run
	DB       *store.DB
	Fence    agency.Fence
	Staff    func(context.Context) (Staff, error)
	Settings Settings
	// Watch calls a function with the watch of the run, between two events.
	Watch func(context.Context, func(*overseer.Watch)) error
	Log   *slog.Logger
}

// Settings are what the configuration says of its steps.
type Settings struct {
	MaxNudges int  // of an agent
	MayHalt   bool // else a person is asked in the place of a halt
}

// Model is the model-backed overseer of a run. What the detectors flag is put before
// a model, with what the log tells of the agent, and it may take one step about it:
// nudge, halt, or escalate. Nobody waits for it. It spends out of a small part of the
// run's budget; where that is spent, or its provider fails, it is off for the run, and
// the detectors go on without it.
type Model struct {
	o       Options
	flagged chan overseer.Detection
	turns   int // that it has taken
	failed  int // looks in a row
}

// NewModel makes a Model, which looks at nothing before Run.
func NewModel(o Options) *Model {
	return &Model{o: o, flagged: make(chan overseer.Detection, mostFlagged)}
}

const (
	// mostFlagged is how much waits for a look; what comes then is left to the
	// detectors.
	mostFlagged = 64
	// mostFailed is how many looks in a row may fail.
	mostFailed = 3
)

// Flag puts before the model what a detector found and did not settle by itself. It
// never waits.
func (m *Model) Flag(d overseer.Detection) {
	if !d.Severity.AtLeast(overseer.Medium) || d.Action == overseer.ActionHalt || d.Action == overseer.ActionPause {
		return
	}
	select {
	case m.flagged <- d:
	default:
	}
}

// Run has the model look at what is flagged, one after the other, until the context
// ends or the model is off.
func (m *Model) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case d := <-m.flagged:
			err := m.look(ctx, d)
			if ctx.Err() != nil {
				return
			}
			var spent *budget.Exhausted
			switch {
			case err == nil:
				m.failed = 0
				continue
			case errors.Is(err, errPaused):
				continue
			case errors.As(err, &spent) && (spent.Outstanding || spent.Node != stage): // the run's, which a person may raise
				continue
			}
			if m.failed++; m.final(err) {
				m.tellOff(ctx, err)
				return
			}
			m.o.Log.Warn("the model-backed overseer", "run", m.o.Run.ID, "error", err)
		}
	}
}

// errTurns ends the model's work.
var errTurns = agency.Errorf(agency.KindExhausted, "it has taken all its turns (agents.overseer.max_turns)")

// final tells whether a look that failed is the last one.
func (m *Model) final(err error) bool {
	var spent *budget.Exhausted
	var f *llm.Fault
	switch {
	case errors.Is(err, errTurns), errors.As(err, &spent):
		return true
	case errors.As(err, &f) && (f.Kind == llm.Auth || f.Kind == llm.ModelNotFound || f.Kind == llm.InvalidRequest || f.Kind == llm.ContextOverflow):
		return true
	}
	return m.failed >= mostFailed
}

// tellOff tells once in a run that the model is off.
func (m *Model) tellOff(ctx context.Context, why error) {
	err := m.write(ctx, func(tx *store.Tx) error {
		added, err := registry.AddIntervention(tx, m.o.Run.ID, registry.Intervention{Action: overseer.ActionLog, Reason: why.Error(), By: agency.ByOverseerModel})
		if err != nil || !added {
			return err
		}
		ev := agency.NewEvent(m.o.Run.ID, agency.SeverityWarning,
			"the model-backed overseer is off for this run, the detectors go on: "+text.OneLine(why.Error(), 300), agency.Log{})
		ev.AgentID, ev.Role = agent, agency.RoleOverseer
		_, err = event.Append(tx, ev)
		return err
	})
	if err != nil && ctx.Err() == nil {
		m.o.Log.Error("the model-backed overseer", "run", m.o.Run.ID, "error", err, "off", why)
	}
}

// agent is who it is in the log and the ledger, and stage its part of the budget.
const agent agency.AgentID = "overseer"

var stage = budget.StageNode("overseer")

func (m *Model) write(ctx context.Context, fn func(*store.Tx) error) error {
	return m.o.DB.WriteFenced(ctx, m.o.Fence, fn)
}

// look puts what was flagged before the model, unless that was done, or is over.
func (m *Model) look(ctx context.Context, d overseer.Detection) error {
	done, err := store.Get(ctx, m.o.DB, func(q store.Querier, run agency.RunID) (bool, error) {
		return registry.Intervened(q, run, d.Event, d.Behaviour, agency.ByOverseerModel)
	}, m.o.Run.ID)
	if err != nil || done {
		return err
	}
	var stands bool
	var views []overseer.View
	if err := m.o.Watch(ctx, func(w *overseer.Watch) { stands, views = w.Stands(d), w.Views() }); err != nil || !stands {
		return err
	}
	staff, err := m.o.Staff(ctx)
	if err != nil {
		return err
	}
	if limit := staff.Limits.Timeout(); limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	t, err := m.begin(ctx, staff, d, views)
	if err != nil {
		return err
	}
	if err := t.talk(ctx); err != nil {
		return err
	}
	return t.record(ctx)
}

//go:embed case.md
var caseText string

var caseOf = template.Must(template.New("case").Parse(caseText))

const (
	maxGoal   = 4 << 10
	maxAgents = 40 // at work that are named
)

// brief is what the model is told of a case.
func (t *look) brief(ctx context.Context, views []overseer.View) (string, error) {
	history, err := t.History(ctx, t.flagged.Agent)
	if err != nil {
		return "", err
	}
	more := max(0, len(views)-maxAgents)
	var b strings.Builder
	err = caseOf.Execute(&b, struct {
		Goal    string
		D       overseer.Detection
		Done    string
		Agents  []overseer.View
		More    int
		History string
	}{text.Head(t.o.Run.Goal, maxGoal), t.flagged, doneAbout(t.flagged.Action), views[:len(views)-more], more, strings.Join(history, "\n")})
	return b.String(), err
}

func doneAbout(a overseer.Action) string {
	if a == overseer.ActionNudge {
		return "the agent was nudged, and reads that before its next turn"
	}
	return "nothing: it was noted"
}

const (
	maxHistory = 40   // events of an agent that are shown
	lookBack   = 4000 // ids of the log among which they are sought
)

// History is for tool.Oversight.
func (m *Model) History(ctx context.Context, agent agency.AgentID) (out []string, err error) {
	err = m.o.DB.Read(ctx, func(q *store.Snapshot) error {
		last, err := event.Last(q, m.o.Run.ID)
		if err != nil {
			return err
		}
		all, err := event.Since(q, max(0, last-lookBack), event.Filter{Run: m.o.Run.ID, Agent: agent}, 0)
		for _, e := range all[max(0, len(all)-maxHistory):] {
			out = append(out, fmt.Sprintf("%s %s %s", e.Time.UTC().Format(time.TimeOnly), e.Type, text.OneLine(e.Summary, 200)))
		}
		return err
	})
	return out, err
}
