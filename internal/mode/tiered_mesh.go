package mode

import (
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/block"
	"agency/internal/contractrun"
	"agency/internal/effects"
	"agency/internal/effects/tierlog"
	"agency/internal/flow"
	"agency/internal/schedule"
	"agency/internal/session"
)

// mesh is the squad leads of one domain that plan beside each other: none of them has its
// tasks begun before all have seen the others' drafts and submitted their own.
type mesh struct {
	name      string
	order     []agency.ContractID        // the workstreams, as they were planned
	joined    map[agency.ContractID]bool // whose leads have begun
	drafts    map[agency.ContractID][]agency.Contract
	committed map[agency.ContractID][]agency.Contract // none: its lead gave none
	ended     map[agency.ContractID]bool
	gone      map[agency.ContractID]bool // that are not waited for any more
	waits     map[agency.ContractID]bool // to be woken
	lined     map[agency.ContractID]bool // that stand in the run's line
	held      map[agency.ContractID]bool // that wait for others here, and keep nobody waiting themselves
}

// peer is a squad lead in a mesh. It is whom its session asks for the others' drafts.
type peer struct {
	r    *tiers
	mesh *mesh
	of   agency.ContractID
	slot *schedule.Slot
	n    int // of what it waited for
}

// join is the place of a workstream's lead among those of its domain that plan beside it;
// nil where there is no other.
func (s *squad) join(of agency.Contract) *peer {
	if s.plans > 1 { // the others are at work by now
		return nil
	}
	i := slices.IndexFunc(s.above.Plan, func(w agency.Contract) bool { return w.ID == of.ID })
	if i < 0 {
		return nil
	}
	own := s.above.Plan[i] // as it was planned: its way may have grown since
	var among []agency.ContractID
	for _, w := range s.above.Plan {
		if w.AssignedRole == agency.RoleSquadLead && w.Domain == own.Domain && w.Phase == own.Phase && w.TierPath[0] == own.TierPath[0] && !slices.Contains(s.above.Ended, w.ID) {
			among = append(among, w.ID)
		}
	}
	if len(among) < 2 {
		return nil
	}
	name := contractrun.Path(own.Domain, own.Phase, own.TierPath[0])
	m := s.meshes[name]
	if m == nil || slices.ContainsFunc(among, func(id agency.ContractID) bool { return !slices.Contains(m.order, id) }) {
		m = &mesh{
			name: of.Domain, order: among, joined: map[agency.ContractID]bool{}, drafts: map[agency.ContractID][]agency.Contract{}, committed: map[agency.ContractID][]agency.Contract{},
			ended: map[agency.ContractID]bool{}, gone: map[agency.ContractID]bool{}, waits: map[agency.ContractID]bool{}, held: map[agency.ContractID]bool{}, lined: map[agency.ContractID]bool{},
		}
		s.meshes[name] = m
	}
	m.joined[of.ID] = true
	s.peer = &peer{r: s.tiers, mesh: m, of: of.ID, slot: s.of.Slot()}
	return s.peer
}

// Open, Over and Begun say that a squad lead starts nobody while it plans.
func (p *peer) Open() bool                     { return false }
func (p *peer) Over() (bool, string, error)    { return false, "", nil }
func (p *peer) Begun() string                  { return "" }
func (p *peer) signal() flow.Signal[flow.None] { return meshSignal(p.of) }
func (p *peer) key(step string) string         { return contractrun.Path("mesh", p.of, step, p.n) }
func (m *mesh) left(id agency.ContractID) bool { return m.gone[id] || m.ended[id] }
func gave[T any](m map[agency.ContractID]T) func(agency.ContractID) bool {
	return func(id agency.ContractID) bool { _, ok := m[id]; return ok }
}

func meshSignal(of agency.ContractID) flow.Signal[flow.None] {
	return flow.Signal[flow.None]{Name: "mesh/" + string(of)}
}

// Answer takes a squad lead's draft and, once all have drafted, gives it the others'.
func (p *peer) Answer(c flow.Ctx, out session.Outcome, _ string) (*session.Answer, agency.OID, string, error) {
	answer := &session.Answer{ToolUse: out.ToolUse}
	for _, ask := range out.Asks {
		text := "error: nobody can be asked for this here"
		if ask.Draft != nil {
			p.mesh.drafts[p.of] = ask.Draft
			if err := p.wake(c); err != nil {
				return nil, "", "", err
			}
			if stop, err := p.await(c, "draft", func(id agency.ContractID) bool {
				return gave(p.mesh.drafts)(id) || gave(p.mesh.committed)(id)
			}); err != nil || stop != "" {
				return nil, "", stop, err
			}
			text = p.drafts()
		}
		answer.Replies = append(answer.Replies, session.Reply{ToolUse: ask.ToolUse, Text: text})
	}
	return answer, "", "", nil
}

// drafts are those of the others, and what of them meets its own.
func (p *peer) drafts() string {
	var b strings.Builder
	b.WriteString("Your tasks are a draft until you submit them again. The squads of your domain that plan beside you have drafted these:\n\n")
	for _, id := range p.mesh.order {
		if id == p.of {
			continue
		}
		var lines strings.Builder
		if there := gave(p.mesh.drafts)(id); !there && p.mesh.gone[id] {
			lines.WriteString("none yet: a person decided to go on without it\n")
		} else if !there {
			lines.WriteString("none was given\n")
		} else if p.mesh.gone[id] {
			lines.WriteString("(it came after a person had decided to go on without it)\n")
		}
		for _, t := range p.mesh.drafts[id] {
			fmt.Fprintf(&lines, "- %s: %s (may change %s)\n", t.ID, t.Title, strings.Join(t.WriteSet(), ", "))
		}
		b.WriteString(block.Data("draft of "+string(id), lines.String()) + "\n")
	}
	var meets []string
	for _, id := range p.mesh.order {
		if id != p.of {
			meets = append(meets, p.r.turns.meets(p.mesh.drafts[p.of], &turn{of: id, tasks: p.mesh.drafts[id]})...)
		}
	}
	if len(meets) > 0 {
		b.WriteString("\nThese of yours may change what theirs change, too:\n\n- " + strings.Join(meets, "\n- ") + "\n")
	}
	b.WriteString("\nLeave to them what is theirs, take what nobody has, and submit all your tasks again, amended or as they were: that commits them. Where both may still change the same files, the squad of the workstream that was planned later waits for the other.")
	return b.String()
}

// commit notes the tasks that its lead submitted at the end, none where it gave none, and
// waits until all have: before that nobody's begin. Those who have come together stand in
// line in the order in which they were planned.
func (p *peer) commit(c flow.Ctx, tasks []agency.Contract) (stop string, err error) {
	p.mesh.committed[p.of] = tasks
	if err := p.wake(c); err != nil || tasks == nil {
		return "", err
	}
	if stop, err := p.await(c, "commit", gave(p.mesh.committed)); err != nil || stop != "" {
		return stop, err
	}
	for _, id := range p.mesh.order {
		if tasks := p.mesh.committed[id]; tasks != nil && !p.mesh.ended[id] && !p.mesh.lined[id] {
			p.mesh.lined[id] = true
			p.r.turns.enter(id, tasks)
		}
	}
	return "", nil
}

// end notes that its workstream has come to its end.
func (p *peer) end(c flow.Ctx) error {
	p.mesh.ended[p.of] = true
	return p.wake(c)
}

// wake lets the others look again.
func (p *peer) wake(c flow.Ctx) error {
	p.n++
	for _, id := range p.mesh.order {
		if !p.mesh.waits[id] {
			continue
		}
		p.mesh.waits[id] = false
		if err := schedule.Wake(c, contractrun.Path(p.key("wake"), id), p.r.in.Run, meshSignal(id)); err != nil {
			return err
		}
	}
	return nil
}

// await waits, without a slot, until all of the mesh are ready. When that takes too long a
// person is told who is outstanding, and decides whether it is gone on without them.
func (p *peer) await(c flow.Ctx, what string, ready func(agency.ContractID) bool) (stop string, err error) {
	p.mesh.held[p.of] = true
	defer func() { p.mesh.held[p.of] = false }()
	for left := false; ; {
		out := p.outstanding(ready)
		if len(out) == 0 {
			if left {
				err = p.slot.Return(c)
			}
			return "", err
		}
		if !left { // others go on meanwhile: it looks again
			if err := p.slot.Leave(c, false); err != nil {
				return "", err
			}
			left = true
			continue
		}
		p.n++
		p.mesh.waits[p.of] = true
		cases := []flow.Case{flow.OnSignal(p.signal())}
		if p.r.in.Tiers.MeshTimeout > 0 {
			cases = append(cases, flow.OnTimer(p.r.in.Tiers.MeshTimeout))
		}
		chosen, err := flow.Select(c, p.key("wait"), cases...)
		if err == nil && chosen == 0 {
			_, err = flow.Receive(c, p.signal(), p.key("woken"))
		} else if err == nil {
			stop, err = p.late(c, what, ready)
		}
		if err != nil || stop != "" {
			return stop, err
		}
	}
}

func (p *peer) outstanding(ready func(agency.ContractID) bool) (out []agency.ContractID) {
	for _, id := range p.mesh.order {
		if id != p.of && !ready(id) && !p.mesh.left(id) && !slices.Contains(p.r.top.Ended, id) {
			out = append(out, id)
		}
	}
	return out
}

// latecomers are those who are late with what is waited for. Who waits for a slot is not,
// and who waits for others here keeps nobody waiting: they do for whom it waits.
func (p *peer) latecomers(ready func(agency.ContractID) bool) (out []agency.ContractID) {
	for _, id := range p.outstanding(ready) {
		switch {
		case !p.mesh.joined[id]:
			return nil
		case !p.mesh.held[id]:
			out = append(out, id)
		}
	}
	return out
}

// late asks a person whether it is gone on without those who are late. When one of them
// gives what it is waited for, or ends, before the person has answered, there is nothing to
// decide any more: the gate is withdrawn.
func (p *peer) late(c flow.Ctx, what string, ready func(agency.ContractID) bool) (stop string, err error) {
	out := p.latecomers(ready)
	if len(out) == 0 {
		return "", nil
	}
	names := agency.JoinIDs(out, ", ")
	g := agency.Gate{
		ID: contractrun.GateID(p.r.in.Run, fmt.Sprintf("mesh-%s-%d", p.of, p.n)), RunID: p.r.in.Run, Kind: agency.GateEscalation, ContractID: p.of,
		Summary:   fmt.Sprintf("the squads of %s wait for %s, which gave no %s within %s", p.mesh.name, names, what, p.r.in.Tiers.MeshTimeout),
		Body:      fmt.Sprintf("Squad leads of one domain begin when all of them have submitted their tasks. Outstanding: %s.\n\nApprove to go on without them: where their tasks may change what those of others may that have begun, they wait for these; reject to end the run. Who comes before you have answered is not gone on without: the gate is withdrawn.", names),
		Approving: "go on without " + names, Rejecting: "end the run",
	}
	if _, err := flow.Call(c, effects.OpenGate, contractrun.Path("gate", string(g.ID)), g); err != nil {
		return "", err
	}
	came := func() string { return p.came(out, what, ready) }
	d, err := p.decision(c, g.ID, came)
	switch {
	case err != nil || d.By == agency.ByHarness:
		return "", err
	case d.Verb == agency.Reject:
		return "the squads of " + p.mesh.name + " did not come together: " + names, nil
	}
	there := came()
	for _, id := range p.outstanding(ready) {
		p.mesh.gone[id] = p.mesh.gone[id] || slices.Contains(out, id)
	}
	if there != "" {
		note := tierlog.Note{Run: p.r.in.Run, Contract: p.of, Text: fmt.Sprintf("it was approved to go on without %s, but meanwhile %s: that is not gone on without", names, there)}
		if _, err := flow.Call(c, tierlog.RecordNote, p.key("there"), note); err != nil {
			return "", err
		}
	}
	return "", p.wake(c)
}

// came says which of those who were late are not waited for any more, and why.
func (p *peer) came(late []agency.ContractID, what string, ready func(agency.ContractID) bool) string {
	var out []string
	still := p.outstanding(ready)
	for _, id := range late {
		switch {
		case slices.Contains(still, id):
		case gave(p.mesh.committed)(id) && p.mesh.committed[id] == nil:
			out = append(out, fmt.Sprintf("%s has ended its planning without tasks", id))
		case ready(id):
			out = append(out, fmt.Sprintf("%s gave its %s", id, what))
		case p.mesh.gone[id]:
			out = append(out, fmt.Sprintf("a person decided to go on without %s", id))
		default:
			out = append(out, fmt.Sprintf("%s has ended", id))
		}
	}
	return strings.Join(out, ", ")
}

// decision is a person's at a gate, or that it was withdrawn, since somebody came.
func (p *peer) decision(c flow.Ctx, gate agency.GateID, came func() string) (d agency.Decision, err error) {
	for n := 1; ; n++ {
		if why := came(); why != "" {
			return flow.Call(c, effects.WithdrawGate, contractrun.Path("withdraw", string(gate)), effects.Withdrawal{Gate: gate, Why: why})
		}
		p.mesh.waits[p.of] = true
		chosen, err := flow.Select(c, contractrun.Path(p.key("gate"), n), flow.OnSignal(contractrun.GateSignal(gate)), flow.OnSignal(p.signal()))
		if err != nil {
			return d, err
		}
		if chosen == 0 {
			return flow.Receive(c, contractrun.GateSignal(gate), contractrun.Path("answer", string(gate)))
		}
		if _, err := flow.Receive(c, p.signal(), contractrun.Path(p.key("gate"), n, "woken")); err != nil {
			return d, err
		}
	}
}
