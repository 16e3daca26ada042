package tui

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/api"
)

// Agents is the table of agent files.
func Agents(st Style, all []api.AgentFileDoc) string {
	t := table{head: []string{"AGENT", "FROM", "ROLE", "COMES TO", "WHEN TO USE IT"}, right: make([]bool, 5)}
	for _, a := range all {
		t.add(a.Name, a.From, cmp.Or(string(a.Role), "-"), cmp.Or(comesTo(a), "-"), cut(Line(a.Description), 100))
	}
	t.spare(st, "ROLE", "COMES TO", "FROM")
	return t.render(st, "")
}

// comesTo says how an agent is put together.
func comesTo(a api.AgentFileDoc) string {
	var parts []string
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s (%d)", what, n))
		}
	}
	add(len(a.Advisors), "advisors")
	add(len(a.Agents), "sub-agents")
	add(len(a.Members), "team")
	add(len(a.Destinations), "router")
	if a.Handoff != "" {
		parts = append(parts, "handoff")
	}
	return strings.Join(parts, ", ")
}

// Agent is one of them as a session would get it.
func Agent(st Style, a api.AgentFileDoc) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s  %s\n", st.paint(bold, a.Name), a.From, Line(a.Path))
	if a.Description != "" {
		fmt.Fprintf(&b, "%s\n", Line(a.Description))
	}
	field := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "  %-8s %s\n", name, value)
		}
	}
	b.WriteString("\n")
	if a.Supervisor != "" {
		field("team", "no session of its own: its text is told to all of the team")
	} else {
		field("role", cmp.Or(string(a.Role), "none: it reads and reports"))
		field("model", cmp.Or(Line(a.Model), "as configured for the generalist"))
		field("tools", strings.Join(a.Tools, ", "))
		field("servers", Line(strings.Join(a.ServerTools, ", ")))
		answer := "answers as long as the model gives them"
		if a.MaxOutputTokens > 0 {
			answer = fmt.Sprintf("%d tokens an answer", a.MaxOutputTokens)
		}
		field("limits", fmt.Sprintf("%d turns, %d calls a turn, %s, %d tokens and %d seconds of work in all",
			a.MaxTurns, a.MaxToolCallsPerTurn, answer, a.MaxTokens, a.TimeoutSeconds))
	}
	field("takes", a.Input+", gives "+a.Output)
	if a.Chat {
		field("chat", "may be asked again after its report")
	}
	for _, n := range a.Notes {
		field("note", Line(n))
	}
	if strings.Contains(strings.TrimSpace(a.Drawing), "\n") {
		fmt.Fprintf(&b, "\n%s", Clean(a.Drawing))
	}
	fmt.Fprintf(&b, "\n%s\n", Clean(a.Prompt))
	return b.String()
}

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
