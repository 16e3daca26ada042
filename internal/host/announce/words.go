package announce

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"agency/internal/agency"
	"agency/internal/host"
	"agency/internal/notify"
	"agency/internal/registry"
	"agency/internal/store"
	"agency/internal/text"
)

// Bounds of what a message says, in runes; mostTold is how many lines of what quiet hours
// held.
const (
	titleLength = 120
	lineLength  = 300
	mostTold    = 20
)

// The classes of what is announced, as notify[].events names them.
const (
	classGate    = "gate"
	classFailure = "failure"
	classEnd     = "end"
)

// told are the types of events that are looked at.
var told = []agency.EventType{"gate_pending", "run_failed", "run_succeeded", "run_cancelled", "state_changed"}

// classOf is what an event is announced as; empty: it is not.
func classOf(ev agency.Event) string {
	switch ev.Type {
	case "gate_pending":
		return classGate
	case "run_failed":
		return classFailure
	case "run_succeeded", "run_cancelled":
		return classEnd
	case "state_changed":
		var d agency.StateChanged
		_ = json.Unmarshal(ev.Details, &d) // ours; of another form it says nothing
		if d.To == string(agency.StateInterrupted) && d.Reason != host.StoppedReason(ev.RunID) {
			return classFailure
		}
	}
	return ""
}

// news is one event in words.
type news struct {
	class  string
	at     time.Time
	run    agency.RunID
	number int
	title  string
	goal   string
	what   string   // one line of what happened
	next   []string // commands that answer it, the first the usual one
	about  notify.About
}

// tell puts an event into words; ok is false where it is no news any more: a gate that has
// been answered, a run that goes on again or has been removed.
func tell(q store.Querier, ev agency.Event) (n news, ok bool, err error) {
	run, err := registry.Run(q, ev.RunID)
	if agency.KindOf(err) == agency.KindNotFound {
		return n, false, nil
	}
	if err != nil {
		return n, false, err
	}
	n = news{class: classOf(ev), at: ev.Time, run: run.ID, number: run.Number, goal: "goal: " + plain(text.FirstLine(run.Goal, lineLength), lineLength), what: plain(ev.Summary, lineLength)}
	n.about = notify.About{Event: finished, Run: run.ID, Number: run.Number, State: string(run.State), Repository: run.Repo, Summary: string(run.State) + ": " + n.what}
	id := string(run.ID)
	switch ev.Type {
	case "gate_pending":
		return tellGate(q, ev, n)
	case "run_failed":
		n.title, n.next = "the run failed", commands(run)
	case "run_succeeded":
		n.title, n.next = "the run succeeded", []string{"agency diff " + id, "agency inspect " + id}
	case "run_cancelled":
		n.title, n.next = "the run was cancelled", commands(run)
	case "state_changed":
		n.title, n.next = "the run is interrupted", commands(run)
		return n, run.State == agency.StateInterrupted, nil
	}
	return n, true, nil
}

// commands are what a person may do about a run, the usual one last.
func commands(run agency.Run) (out []string) {
	for _, s := range run.Next() {
		out = append(out, s.Command)
	}
	return out
}

func tellGate(q store.Querier, ev agency.Event, n news) (news, bool, error) {
	var d agency.GatePending
	if err := json.Unmarshal(ev.Details, &d); err != nil {
		return n, false, nil // no gate of ours
	}
	open, err := registry.OpenGates(q, ev.RunID)
	if err != nil || !slices.ContainsFunc(open, func(g agency.Gate) bool { return g.ID == d.Gate }) {
		return n, false, err
	}
	n.about.Event, n.about.State, n.about.Gate = classGate, string(agency.StateWaiting), string(d.Gate)
	n.about.Summary = string(d.Kind) + ": " + n.what // it never begins like an option of a program
	n.title = "the " + string(d.Kind) + " gate waits for you"
	approve, reject := "agency approve "+string(d.Gate), "agency reject "+string(d.Gate)
	switch d.Kind {
	case agency.GateQuestion, agency.GateEscalation:
		approve += " --note TEXT"
	case agency.GateBudget, agency.GateFault:
	default:
		reject += " --reason TEXT"
	}
	n.next = []string{approve, reject, "agency inspect " + string(ev.RunID)}
	return n, true, nil
}

// message is one event as a message of its own.
func message(repo, key string, n news) notify.Message {
	n.about.Key = key
	return notify.Message{
		Key: key, Event: n.class, At: n.at.UTC(), Repo: repo, Runs: []agency.RunID{n.run}, Title: plain(repo+": "+n.title, titleLength),
		Lines: slices.Concat([]string{n.goal, n.what, "run: " + n.run.Beside(n.number)}, n.next),
		About: n.about,
	}
}

// digest is what quiet hours held as one message.
func digest(repo, key string, all []news) notify.Message {
	m := notify.Message{Key: key, Repo: repo, At: all[len(all)-1].at.UTC(), Title: plain(fmt.Sprintf("%s: %d announcements from the quiet hours", repo, len(all)), titleLength)}
	var classes []string
	for i, n := range all {
		if !slices.Contains(classes, n.class) {
			classes = append(classes, n.class)
		}
		if !slices.Contains(m.Runs, n.run) && len(m.Runs) < mostTold {
			m.Runs = append(m.Runs, n.run)
		}
		if i < mostTold {
			m.Lines = append(m.Lines, fmt.Sprintf("%s %s: %s (%s): %s", n.at.Local().Format("15:04"), n.title, text.Head(n.what, titleLength), text.Head(n.goal, titleLength), n.next[0]))
		}
	}
	if more := len(all) - mostTold; more > 0 {
		m.Lines = append(m.Lines, fmt.Sprintf("and %d more: agency ps", more))
	}
	m.Event = strings.Join(classes, ",")
	return m
}

// plain is a text of others in one line, without what controls or hides.
func plain(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, s)
	return text.OneLine(s, most)
}
