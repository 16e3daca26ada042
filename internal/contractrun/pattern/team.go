package pattern

import (
	"fmt"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/contractrun"
	"agency/internal/flow"
	"agency/internal/roster/agentfile"
	"agency/internal/session"
)

// firstRoom is how many bytes of broadcasts the first message of a supervisor holds, whose
// window is not known yet; replyRoom how many a later one does.
const (
	firstRoom = 96 << 10
	replyRoom = 30 << 10
)

// table is a team at work: its members, and all that was said.
type table struct {
	*line
	super  *line
	first  stage // of the supervisor
	seats  []*seat
	said   []agency.Broadcast
	cycle  int
	read   int  // of what was said, by the supervisor
	latest said // by it
	among  bool // the input has words of others, and is framed
}

// seat is a member's.
type seat struct {
	*line
	name   string
	at     stage
	read   int  // of what was said
	left   bool // the team
	begun  bool
	latest said
}

// supervisor is the place of a team's supervisor: it has the work as the team has it.
func (l *line) supervisor(f agentfile.File) stage {
	s := l.at.at("supervisor", f.Team.Supervisor, l.at.reached)
	s.from, s.team, s.turns, s.supervises = l.at.from, f.Name, f.Team.SupervisorMaxTurns, true
	return s
}

// team has a team work on an input, cycle after cycle, until its supervisor reports or hands
// over. Whoever answers in the end is the line's. The input may stand among words of others.
func (l *line) team(c flow.Ctx, f agentfile.File, input string, among bool) (said, error) {
	t := &table{line: l, super: &line{play: l.play, among: true}, first: l.supervisor(f), among: among}
	for i, name := range f.Team.Members {
		s := l.at.at(fmt.Sprintf("member-%d", i+1), name, agency.ReachedMember)
		s.from, s.team, s.turns = t.first.id(), f.Name, f.Team.MemberMaxTurns
		t.seats = append(t.seats, &seat{line: &line{play: l.play, among: among}, name: name, at: s})
	}
	out, err := t.work(c, input)
	l.act = t.super.act
	if err != nil {
		return said{}, err
	}
	if err := t.close(c); err != nil {
		return said{}, err
	}
	if out.failure != "" {
		out.failure = fmt.Sprintf("team %s: its supervisor %s: %s", f.Name, f.Team.Supervisor, out.failure)
	}
	return out, nil
}

// work is the team's cycles.
func (t *table) work(c flow.Ctx, input string) (said, error) {
	for {
		t.cycle++
		if stop, err := t.members(c, input); err != nil || stop != "" {
			return said{stop: stop}, err
		}
		out, err := t.lead(c, input)
		if err != nil || !out.more {
			return out, err
		}
		if err := t.tell(c, agency.Broadcast{Type: agency.BroadcastUpdate, Member: t.first.agent, Text: out.text, Turns: out.end.Turns}); err != nil {
			return said{}, err
		}
	}
}

// members has all that are in the team work side by side until each has spoken.
func (t *table) members(c flow.Ctx, input string) (stop string, err error) {
	var all []flow.Future[flow.None]
	var at []*seat
	upTo := len(t.said) // what is said in this cycle is read in the next
	for _, s := range t.seats {
		if s.left {
			continue
		}
		at = append(at, s)
		all = append(all, flow.Go(c, contractrun.Path(s.at.id(), "cycle", t.cycle), func(c flow.Ctx) (err error) {
			s.latest, err = t.turn(c, s, input, upTo)
			return err
		}))
	}
	for _, one := range all {
		if _, err := one.Get(c); err != nil {
			return "", err
		}
	}
	for _, s := range at {
		if s.latest.stop != "" {
			return s.latest.stop, nil
		}
		if err := t.tell(c, t.word(s)); err != nil {
			return "", err
		}
		if s.left {
			if err := s.end(c); err != nil {
				return "", err
			}
		}
	}
	return "", nil
}

// turn has a member work until it speaks.
func (t *table) turn(c flow.Ctx, s *seat, input string, upTo int) (said, error) {
	if !s.begun {
		s.begun, s.read = true, upTo
		return s.begin(c, s.at, input)
	}
	news, _ := rendered(t.others(s.name, s.read, upTo), min(replyRoom, s.latest.end.Room))
	s.read = upTo
	return s.goOn(c, session.Answer{Replies: []session.Reply{{ToolUse: s.latest.call, Text: news}}})
}

// word is what the team is told of how a member has come out.
func (t *table) word(s *seat) agency.Broadcast {
	out := s.latest
	b := agency.Broadcast{Type: agency.BroadcastUpdate, Member: s.name, Text: out.text, Turns: out.end.Turns, Final: !out.more}
	switch {
	case out.failure != "":
		b.Type, b.Text = agency.BroadcastFailure, fmt.Sprintf("member %s failed and is no longer in the team. Reason: %s", s.name, out.failure)
	case out.gone:
		b.Type = agency.BroadcastFailure
	}
	s.left = b.Final
	return b
}

// tell adds to what was said.
func (t *table) tell(c flow.Ctx, b agency.Broadcast) error {
	b.Time = flow.Now(c, contractrun.Path(t.first.id(), "said", len(t.said)+1)).UTC().Truncate(time.Second)
	t.said = append(t.said, b)
	return nil
}

// others are what was said between two marks by others than a member.
func (t *table) others(name string, from, to int) (out []agency.Broadcast) {
	for _, b := range t.said[from:to] {
		if b.Member != name {
			out = append(out, b)
		}
	}
	return out
}

// lead has the supervisor read what its members said, in one turn. Where not all of it fits,
// this turn is its last.
func (t *table) lead(c flow.Ctx, input string) (out said, err error) {
	news := t.others(t.first.agent, t.read, len(t.said))
	t.read = len(t.said)
	room, left := int64(firstRoom), -1
	if t.cycle > 1 {
		room, left = min(replyRoom, t.latest.end.Room), t.latest.end.Left
	}
	words, whole := rendered(news, room)
	if !whole {
		if err := t.close(c); err != nil {
			return said{}, err
		}
	}
	words += "\n\n" + t.standing(whole, left)
	if t.cycle == 1 {
		if !t.among {
			input = framed(input)
		}
		out, err = t.super.begin(c, t.first, input+"\n\n"+words)
	} else {
		out, err = t.super.goOn(c, session.Answer{Replies: []session.Reply{{ToolUse: t.latest.call, Text: words}}})
	}
	t.latest = out
	return out, err
}

// standing tells a supervisor who is still in its team.
func (t *table) standing(whole bool, left int) string {
	var in []string
	for _, s := range t.seats {
		if !s.left {
			in = append(in, s.name)
		}
	}
	switch {
	case !whole:
		return "Not all that was said fits into your context, and the team's work ends here: this is your last turn, end by final_report."
	case left == 1:
		return "This is your last turn: end by final_report."
	case len(in) == 0:
		return "No member is left in the team: end by final_report."
	}
	return "Still in the team: " + strings.Join(in, ", ") + "."
}

// close lets go of all members that are still there.
func (t *table) close(c flow.Ctx) error {
	for _, s := range t.seats {
		if s.left || s.act == nil {
			continue
		}
		s.left = true
		if err := s.act.dismiss(c); err != nil {
			return err
		}
	}
	return nil
}

// rendered is what was said as it is read, in so many bytes. What does not fit is replaced by
// a word of that; whole says that all of it does.
func rendered(all []agency.Broadcast, room int64) (words string, whole bool) {
	var b strings.Builder
	b.WriteString("## BROADCASTS")
	if len(all) == 0 {
		b.WriteString("\n\nNobody has said anything new.")
	}
	whole = true
	for _, one := range all {
		last := ""
		if one.Final {
			last = ", its last word"
		}
		fmt.Fprintf(&b, "\n\n### From %s (%s%s, %s, %s)\n\n", one.Member, one.Type, last, agency.Things(one.Turns, "turn", "turns"), one.Time.Format(time.RFC3339))
		if int64(b.Len()+len(one.Text)) > room {
			whole = false
			fmt.Fprintf(&b, "[left out: %d bytes that do not fit into your context]", len(one.Text))
			continue
		}
		b.WriteString(framed(one.Text))
	}
	return b.String(), whole
}
