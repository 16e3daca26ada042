package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/api"
)

// Messages is the list of a run's messages with how far each has come; an
// answer stands below what it answers, a broadcast shows each recipient. Below
// stand the dead letters with their reasons, and what agents disagree on.
func Messages(st Style, ms []api.MessageDoc, disputes []api.ConflictDoc) string {
	if len(ms) == 0 {
		return "no messages\n" + conflicts(st, disputes)
	}
	t := table{head: []string{"ID", "TIME", "FROM", "TO", "TYPE", "STATUS", "TEXT"}}
	for _, m := range threads(ms) {
		text := Line(strings.TrimSpace(m.Subject + "  " + m.Body))
		if m.InReplyTo != "" {
			text = "└ " + text
		}
		t.add(Line(string(m.ID)), m.CreatedAt.Format(time.TimeOnly), Line(m.From), addressee(m), string(m.Type), agency.StandOf(m.Message), text+notes(m))
		if m.To != agency.Everyone {
			continue
		}
		for _, d := range m.Deliveries {
			t.add("", "", "", "  "+Line(string(d.Agent)), "", string(d.Status), Line(d.Reason))
		}
	}
	t.spare(st, "ID", "TYPE") // ids are long, and --json and wide outputs have them
	return t.render(st, "") + deadLetters(st, ms) + conflicts(st, disputes)
}

// Decisions are what the agents of a run decided together, and what is kept of all runs:
// who kept it stands in a column of its own, where there is one.
func Decisions(st Style, all []agency.SharedDecision) string {
	if len(all) == 0 {
		return "no decisions\n"
	}
	t := table{head: []string{"KEY", "VALUE", "WHY", "VERSION", "BY", "TIME"}}
	kept := slices.ContainsFunc(all, agency.SharedDecision.Kept)
	if kept {
		t.head = append([]string{"KEPT BY"}, append(t.head, "RUN")...)
	}
	for _, d := range all {
		row := []string{Line(d.Key), Line(d.Value), Line(d.Why), strconv.FormatInt(d.Version, 10), Line(string(d.By)), d.At.Format(time.TimeOnly)}
		if kept {
			row = append([]string{cmp.Or(Line(d.KeptBy), "-")}, append(row, Line(string(d.Run)))...)
		}
		t.add(row...)
	}
	t.spare(st, "TIME", "VERSION")
	return t.render(st, "")
}

// Names are those that only one contract of a run may take; nothing where there is none.
func Names(st Style, all []agency.Reservation) string {
	if len(all) == 0 {
		return ""
	}
	t := table{head: []string{"NAME", "CONTRACT", "STATE", "WHY", "BY", "TIME"}}
	for _, r := range all {
		state := "reserved"
		if r.Landed {
			state = "integrated"
		}
		if r.FreedBy != "" {
			state = "freed by " + Line(r.FreedBy)
		}
		t.add(Line(strings.TrimSpace(r.Sort+" "+r.Name)), Line(string(r.Contract)), state, Line(r.Why), Line(string(r.By)), r.Since.Format(time.TimeOnly))
	}
	t.spare(st, "TIME", "BY")
	return "\n" + t.render(st, "")
}

func addressee(m api.MessageDoc) string {
	switch {
	case m.To == agency.Everyone:
		return "everyone"
	case m.To == "":
		return "any " + Line(string(m.ToRole))
	}
	return Line(m.To)
}

// notes is what there is to say of a message beside its words.
func notes(m api.MessageDoc) string {
	var out []string
	if m.Reason != "" {
		out = append(out, Line(m.Reason))
	}
	if m.Response != "" {
		response := "response " + Line(m.Response)
		if m.RespondWithin > 0 && m.AnsweredBy == "" {
			response = fmt.Sprintf("response within %s: %s", m.RespondWithin, Line(m.Response))
		}
		out = append(out, response)
	}
	if len(out) == 0 {
		return ""
	}
	return " (" + strings.Join(out, "; ") + ")"
}

func deadLetters(st Style, ms []api.MessageDoc) string {
	t := table{head: []string{"DEAD LETTER", "FROM", "TO", "REASON"}}
	n := 0
	for _, m := range ms {
		for _, d := range m.Deliveries {
			if d.Status != agency.MailFailed {
				continue
			}
			n++
			to := addressee(m)
			if d.Agent != "" {
				to = Line(string(d.Agent))
			}
			id := Line(string(m.ID))
			if st.Width > 0 {
				id = cut(id, max(leastWidth, st.Width/4))
			}
			t.add(id, Line(m.From), to, cmp.Or(Line(d.Reason), "-"))
		}
	}
	if n == 0 {
		return ""
	}
	return "\n" + t.render(st, "")
}

// Thread is the thread of a message with all that was said in it.
func Thread(st Style, t api.ThreadDoc) string {
	var b strings.Builder
	for _, m := range t.Messages {
		head := fmt.Sprintf("%s  %s  %s to %s  %s  %s", Line(string(m.ID)), m.CreatedAt.Format(time.TimeOnly), Line(m.From), addressee(m), m.Type, agency.StandOf(m.Message))
		if m.InReplyTo != "" {
			head += "  in reply to " + Line(string(m.InReplyTo))
		}
		fmt.Fprintf(&b, "%s%s\n", st.paint(cyan, head), notes(m))
		text := m.Body
		if m.Subject != "" {
			text = m.Subject + "\n\n" + text
		}
		if len(m.Payload) > 0 {
			text += "\n\n" + string(m.Payload)
		}
		for line := range strings.Lines(strings.TrimRight(Clean(text), "\n")) {
			b.WriteString("  " + strings.TrimRight(line, "\n") + "\n")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// threads puts the messages of each thread together, the threads in the order
// in which they began.
func threads(ms []api.MessageDoc) []api.MessageDoc {
	begun := map[agency.MessageID]int{}
	for i, m := range ms {
		if root := cmp.Or(m.ThreadRoot, m.ID); begun[root] == 0 {
			begun[root] = i + 1
		}
	}
	ms = slices.Clone(ms)
	slices.SortStableFunc(ms, func(a, b api.MessageDoc) int {
		return begun[cmp.Or(a.ThreadRoot, a.ID)] - begun[cmp.Or(b.ThreadRoot, b.ID)]
	})
	return ms
}
