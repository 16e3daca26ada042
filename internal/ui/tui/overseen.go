package tui

import (
	"fmt"
	"strings"
	"time"

	"agency/internal/agency"
)

// interventions are what the overseer did, each with what came after it.
func interventions(st Style, all []agency.Intervention) string {
	if len(all) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s\n", st.paint(bold, "The overseer stepped in:"))
	for _, i := range all {
		who := ""
		if i.By == agency.ByOverseerModel {
			who = " (" + i.By + ")"
		}
		fmt.Fprintf(&b, "  %s  %s  %s: %s%s\n", i.Time.Format(time.TimeOnly), st.paint(actionColor(i.Action), pad(i.Action, 8)), i.Agent, Line(i.Reason), who)
		told := ""
		if i.Escalated != "" {
			told = "told to the " + strings.ReplaceAll(i.Escalated, "_", " ") + "; "
		}
		if i.Undelivered != "" {
			told += "not delivered: " + Line(i.Undelivered) + "; "
		}
		fmt.Fprintf(&b, "            %s\n", st.paint(dim, told+"then "+aftermath(i.After)))
	}
	return b.String()
}

func actionColor(action string) string {
	switch action {
	case "halt", "pause":
		return red
	case "log":
		return dim
	}
	return yellow
}

// aftermath is what came of an intervention, in a line.
func aftermath(a agency.Aftermath) string {
	out := map[agency.AftermathKind]string{
		agency.AfterPending: "nothing yet", agency.AfterChanged: "it changed course", agency.AfterEnded: "its session ended", agency.AfterSame: "the same again",
	}[a.Outcome]
	if a.Turns > 0 {
		out += " after " + agency.Things(a.Turns, "turn", "turns")
	}
	if a.What != "" {
		out += ": " + Line(a.What)
	}
	return out
}
