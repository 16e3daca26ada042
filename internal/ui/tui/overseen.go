package tui

import (
	"fmt"
	"strings"
	"time"

	"agency/internal/agency"
)

// interventions are what the overseer did, each with what came after it; what it only
// noted is counted.
func interventions(st Style, all []agency.Intervention) string {
	if len(all) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s\n", st.paint(bold, "The overseer stepped in:"))
	noted := map[string]*note{}
	var order []string
	for _, i := range all {
		if i.Action == onlyNoted {
			if noted[i.Cause] == nil {
				noted[i.Cause], order = &note{}, append(order, i.Cause)
			}
			noted[i.Cause].add(i)
			continue
		}
		who := ""
		if i.By == agency.ByOverseerModel {
			who = " (" + i.By + ")"
		}
		fmt.Fprintf(&b, "  %s  %s  %s: %s%s\n", i.Time.Format(time.TimeOnly), st.paint(actionColor(i.Action), pad(Line(i.Action), 8)), i.Agent, Line(i.Reason), who)
		told := ""
		if i.Escalated != "" {
			told = "told to the " + strings.ReplaceAll(i.Escalated, "_", " ") + "; "
		}
		if i.Undelivered != "" {
			told += "not delivered: " + Line(i.Undelivered) + "; "
		}
		fmt.Fprintf(&b, "            %s\n", st.paint(dim, Line(told+"then "+aftermath(i.After))))
	}
	for _, cause := range order {
		fmt.Fprintf(&b, "  %s\n", st.paint(dim, Line(strings.ReplaceAll(cause, "_", " ")+": "+noted[cause].String())))
	}
	return b.String()
}

// onlyNoted is the action of what was seen and nothing done about.
const onlyNoted = "log"

// note counts what was seen of a behaviour and only logged.
type note struct {
	times, waited int
	cooldown      int // in seconds, for which nudges waited
}

func (n *note) add(i agency.Intervention) {
	n.times++
	if i.Cooldown > 0 {
		n.waited, n.cooldown = n.waited+1, i.Cooldown
	}
}

func (n *note) String() string {
	s := agency.Things(n.times, "time", "times") + " seen and only logged"
	if n.waited > 0 {
		s += fmt.Sprintf("; %s waited for the cooldown of %ds", agency.Things(n.waited, "nudge", "nudges"), n.cooldown)
	}
	return s
}

func actionColor(action string) string {
	switch action {
	case "halt", "pause":
		return red
	}
	return yellow
}

// aftermath is what came of an intervention, in a line.
func aftermath(a agency.Aftermath) string {
	out := map[agency.AftermathKind]string{
		agency.AfterPending: "nothing yet", agency.AfterChanged: "it changed course", agency.AfterEnded: "its session ended", agency.AfterSame: "the same again",
	}[a.Outcome]
	if a.Turns > 0 && a.Outcome == agency.AfterEnded {
		out += " " + agency.Things(a.Turns, "turn", "turns") + " later"
	} else if a.Turns > 0 {
		out += " after " + agency.Things(a.Turns, "turn", "turns")
	}
	if a.What != "" {
		out += ": " + Line(a.What)
	}
	return out
}
