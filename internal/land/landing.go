package land

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/git"
	"agency/internal/reservation"
	"agency/internal/store"
	"agency/internal/workspace"
)

// landing is one claim, or a line, on its way to its level.
type landing struct {
	o        Options
	run      *workspace.Run
	contract agency.Contract
	said     string // by its agent, of what it claims
	spec     Spec
	key      agency.StepKey
	level    level
	trial    bool // a conflict is no event: the head that it is with may not come
	origin
}

// landAlone takes a landing to its end.
func (l *landing) landAlone(ctx context.Context) (Outcome, error) {
	for range maxSwaps {
		out, retry, err := l.attempt(ctx)
		if err != nil || !retry {
			return out, err
		}
	}
	return Outcome{}, agency.Errorf(agency.KindTransient, "%s was moved by somebody else at each of %d tries", l.level.ref(), maxSwaps)
}

// attempt goes once from the branch's head to its next commit. retry is set where
// the branch moved meanwhile.
func (l *landing) attempt(ctx context.Context) (out Outcome, retry bool, err error) {
	head, err := l.level.head(ctx)
	if err != nil {
		return out, false, err
	}
	if head == "" {
		return out, false, l.level.gone(ctx)
	}
	if out.Landed, err = l.already(ctx, head); err != nil || out.Landed != nil {
		return out, false, err
	}
	l.o.reached("land.begin")
	cand, out, err := l.merge(ctx, head)
	if err != nil || cand == nil {
		out.Apart = l.apart(head, out)
		return out, false, err
	}
	reasons, err := l.o.Verifier.VerifyLanding(ctx, *cand)
	if err != nil {
		return out, false, err
	}
	if len(reasons) > 0 {
		out, err = l.red(ctx, *cand, reasons)
		out.Apart = l.apart(head, out)
		return out, false, err
	}
	commit, err := l.run.Dir().Commits().Write(ctx, cand.Tree, l.parents(head), l.message(), identity(l.run))
	if err != nil {
		return out, false, err
	}
	s := &step{landing: l, cand: *cand, commit: commit}
	moved, err := moveAll(ctx, head, []*step{s})
	if err != nil || !moved {
		return Outcome{}, err == nil, err
	}
	return Outcome{Landed: s.landed(1, cand.Tree)}, false, nil
}

// lastOn is the commit that a run's branch was left at: the base before the
// first landing. What has landed is still in the run's own objects.
func lastOn(ctx context.Context, db *store.DB, run *workspace.Run, id agency.RunID, ref string) (agency.OID, error) {
	last := run.Base()
	err := db.Read(ctx, func(s *store.Snapshot) error {
		in, err := lastDone(s, id, ref)
		if err == nil && in.New != "" {
			last = in.New
		}
		return err
	})
	return last, err
}

// already looks for the step on the branch: by the commit that its intent
// names, so that the history is read only where a person rewrote it.
func (l *landing) already(ctx context.Context, head agency.OID) (*Landed, error) {
	var begun agency.OID
	if err := l.o.DB.Read(ctx, func(q *store.Snapshot) (err error) {
		begun, err = begunAs(q, l.key)
		return err
	}); err != nil || begun == "" {
		return nil, err
	}
	d := l.run.Dir()
	commits, err := d.Commits().Log(ctx, head, git.LogOptions{Limit: 1})
	if err != nil {
		return nil, err
	}
	if commits[0].ID != begun { // it may be one below others, or one that did not become the head
		if in, err := l.holds(ctx, begun, head); err != nil {
			return nil, err
		} else if in {
			commits, err = d.Commits().Log(ctx, begun, git.LogOptions{Limit: 1})
			if err != nil {
				return nil, err
			}
		} else if commits, err = d.Commits().Log(ctx, head, git.LogOptions{Not: []agency.OID{l.run.Base()}, FirstParent: true}); err != nil {
			return nil, err
		}
	}
	for _, c := range commits {
		if c.Trailer(trailerStep) == string(l.key) && c.Trailer(trailerRun) == string(l.spec.Run) {
			out := &Landed{Commit: c.ID, Tree: c.Tree, Already: true}
			return out, l.o.write(ctx, func(tx *store.Tx) (err error) {
				if err = l.done(tx, c.ID); err == nil {
					out.MergeDetails, err = mergeDetails(tx, l.key)
				}
				return err
			})
		}
	}
	return nil, nil
}

// holds tells whether a commit that may have been collected is on the branch.
func (l *landing) holds(ctx context.Context, commit, head agency.OID) (bool, error) {
	if _, err := l.run.Dir().Objects().Type(ctx, commit); agency.KindOf(err) == agency.KindNotFound {
		return false, nil
	} else if err != nil {
		return false, err
	}
	return l.run.Dir().Commits().IsAncestor(ctx, commit, head)
}

// merge makes the candidate: the change on top of head. A nil
// candidate comes with the outcome that says why.
func (l *landing) merge(ctx context.Context, head agency.OID) (*Candidate, Outcome, error) {
	if err := l.trace(ctx, head); err != nil {
		return nil, Outcome{}, err
	}
	if refused, err := l.refuseClaim(ctx, l.from); err != nil || refused.Refused != nil {
		return nil, refused, err
	}
	tree, structural, conflict, err := l.mergedTree(ctx, l.from, head)
	if err != nil || conflict != nil {
		return nil, Outcome{Conflict: conflict, Reason: conflictReason(conflict)}, err
	}
	l.merged = tree
	before, err := l.run.Dir().Refs().ResolveTree(ctx, head)
	if err != nil {
		return nil, Outcome{}, err
	}
	if before == tree {
		// Nothing to land: the verdict on the unchanged tree is the result.
		return nil, Outcome{Landed: &Landed{Commit: head, Tree: tree, Empty: true}}, nil
	}
	if refused, err := l.refuseCaseCollision(ctx, before, tree); err != nil || refused.Refused != nil {
		return nil, refused, err
	}
	cand := &Candidate{
		Run: l.spec.Run, Contract: l.spec.Contract, Step: l.key, Head: head, Claim: l.spec.Tree, Tree: tree, Structural: structural,
		Criteria: agency.OnLanding(l.contract),
	}
	if refused, err := l.refuseReserved(ctx, cand); err != nil || refused.Refused != nil {
		return nil, refused, err
	}
	return cand, Outcome{}, nil
}

func (l *landing) mergedTree(ctx context.Context, from, head agency.OID) (tree agency.OID, structural []string, _ *agency.Conflict, _ error) {
	if from == head {
		return l.spec.Tree, nil, nil, nil
	}
	d, claim := l.run.Dir(), l.second
	if !l.whole {
		var err error
		if claim, err = d.Commits().Write(ctx, l.spec.Tree, []agency.OID{from}, "claim of "+string(l.key), identity(l.run)); err != nil {
			return "", nil, nil, err
		}
	}
	m, err := d.Commits().Merge(ctx, head, claim)
	if err != nil || len(m.Conflicts) == 0 {
		return m.Tree, nil, nil, err
	}
	if tree, structural, err = l.structurally(ctx, m); err != nil || tree != "" {
		return tree, structural, nil, err
	}
	l.merged = m.Tree // with conflict marks
	c, err := l.packet(ctx, from, head, m.Conflicts)
	if err != nil {
		return "", nil, nil, err
	}
	if c.With, err = l.changers(ctx, from, head, m.Conflicts); err != nil {
		return "", nil, nil, err
	}
	if l.trial {
		return "", nil, c, nil
	}
	return "", nil, c, l.tellConflict(ctx, "conflict in "+strings.Join(m.Conflicts, ", "), m.Conflicts)
}

// refuseClaim names what of a claim may not land whatever it is merged with.
func (l *landing) refuseClaim(ctx context.Context, from agency.OID) (Outcome, error) {
	changes, err := l.run.Changes(ctx, from, l.spec.Tree)
	if err != nil {
		return Outcome{}, err
	}
	var links, paths []string
	for _, c := range changes {
		paths = append(paths, c.Path)
		if c.New.Mode == git.ModeGitlink {
			links = append(links, c.Path)
		}
	}
	if len(links) > 0 {
		return refusedOutcome(CauseNestedGit, links, "a git repository inside of the workspace cannot land"), nil
	}
	filtered, err := l.run.Filtered(ctx, paths)
	if err != nil || len(filtered) == 0 {
		return Outcome{}, err
	}
	paths = paths[:0]
	for p := range filtered {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	return refusedOutcome(CauseFiltered, paths, "files kept by a git filter such as LFS cannot be changed by a run"), nil
}

// refuseCaseCollision names new paths that differ from another path of the tree only
// in case: such a tree cannot be checked out everywhere.
func (l *landing) refuseCaseCollision(ctx context.Context, before, after agency.OID) (Outcome, error) {
	changes, err := l.run.Changes(ctx, before, after)
	if err != nil {
		return Outcome{}, err
	}
	added := map[string]bool{}
	for _, c := range changes {
		if c.Status == 'A' {
			added[c.Path] = true
		}
	}
	if len(added) == 0 {
		return Outcome{}, nil
	}
	entries, err := l.run.Dir().Objects().Tree(ctx, after)
	if err != nil {
		return Outcome{}, err
	}
	if collisions := caseCollisions(entries, added); len(collisions) > 0 {
		return refusedOutcome(CauseCaseCollision, collisions, "paths differ from others only in upper and lower case"), nil
	}
	return Outcome{}, nil
}

// caseCollisions are the pairs of paths, folders included, that are equal but for
// case and of which one is new.
func caseCollisions(entries []git.Entry, added map[string]bool) []string {
	seen := map[string]string{} // folded → as first written
	fresh := map[string]bool{}
	for p := range added {
		for ; p != "."; p = path.Dir(p) {
			fresh[p] = true
		}
	}
	var collisions []string
	for _, e := range entries {
		for p := e.Path; p != "."; p = path.Dir(p) {
			folded := strings.ToLower(p)
			other, ok := seen[folded]
			if !ok {
				seen[folded] = p
				continue
			}
			if other == p {
				break // its folders have been looked at
			}
			if fresh[p] || fresh[other] {
				collisions = append(collisions, other, p)
			}
		}
	}
	slices.Sort(collisions)
	return slices.Compact(collisions)
}

// refuseReserved names what a candidate takes that another contract of the run holds.
func (l *landing) refuseReserved(ctx context.Context, c *Candidate) (Outcome, error) {
	var others, own []agency.Reservation
	err := l.o.DB.Read(ctx, func(q *store.Snapshot) (err error) {
		if own, err = reservation.Of(q, l.spec.Run, l.spec.Contract); err != nil {
			return err
		}
		others, err = reservation.Others(q, l.spec.Run, l.spec.Contract, withOf(l))
		return err
	})
	if err != nil {
		return Outcome{}, err
	}
	all, err := l.takes(ctx, c, c.Head, append(own, others...))
	var taken []reservation.Taking
	for _, t := range all {
		if t.Contract == l.spec.Contract && t.FreedBy == "" {
			c.took = append(c.took, t.Fence)
		} else {
			taken = append(taken, t)
		}
	}
	l.o.reached("land.names")
	if err != nil || len(taken) == 0 {
		return Outcome{}, err
	}
	var names, words []string
	for _, t := range taken {
		names, words = append(names, t.Name), append(words, takenWords(t))
	}
	out := Outcome{Refused: &Refusal{Cause: CauseReserved, Paths: names}, Reason: strings.Join(words, "; ")}
	if l.trial { // it is told when it lands alone
		return out, nil
	}
	return out, l.o.write(ctx, func(tx *store.Tx) error { return tellReserved(tx, l, taken) })
}

// withOf is the contract all of whose work lands by this, where it is more than its own: that
// of a whole line, also where somebody had to bring it together with its level.
func withOf(l *landing) agency.ContractID {
	switch {
	case l.spec.Source == "":
		return ""
	case l.whole:
		return l.contract.ID
	}
	return l.contract.ParentID
}

// takes compares a candidate, which goes on top of a commit, with names, and remembers which.
func (l *landing) takes(ctx context.Context, c *Candidate, on agency.OID, names []agency.Reservation) ([]reservation.Taking, error) {
	change := reservation.Change{Dir: l.run.Dir(), Before: on, After: c.Tree, Syntax: l.o.Syntax}
	taken, err := change.Takes(ctx, names)
	if c.compared == nil {
		c.compared = map[agency.Fence]bool{}
	}
	for _, r := range names {
		c.compared[r.Fence] = true
	}
	return taken, err
}

// compared tells whether each step was compared with all names that others hold by now;
// fresh are those that it was not.
func compared(tx *store.Tx, steps []*step, fresh [][]agency.Reservation) (all bool, err error) {
	all = true
	for i, s := range steps {
		others, err := reservation.Others(tx, s.spec.Run, s.spec.Contract, withOf(s.landing))
		if err != nil {
			return false, err
		}
		for _, r := range others {
			if !s.cand.compared[r.Fence] {
				fresh[i], all = append(fresh[i], r), false
			}
		}
	}
	return all, nil
}

// takenWords say to whoever made a change what it takes and how to mend it.
func takenWords(t reservation.Taking) string {
	if t.FreedBy != "" {
		return fmt.Sprintf("%s takes a name that a person took from this contract: %s; reserve it again, or choose another name", t.Place, t.Held())
	}
	ask := fmt.Sprintf("; choose another name, or ask %s by send_message to release it", t.By)
	if t.Landed {
		ask = "; choose another name"
	}
	return fmt.Sprintf("%s takes a name that another contract holds: %s%s", t.Place, t.Held(), ask)
}

// tellReserved tells once of each name that a landing is refused for.
func tellReserved(tx *store.Tx, l *landing, taken []reservation.Taking) error {
	all, err := event.Of[agency.NameRefused](tx, event.Filter{Run: l.spec.Run, Contract: l.spec.Contract, Types: []agency.EventType{agency.NameRefusedType}})
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, told := range all {
		if told.Detail.Step == l.key {
			known[told.Detail.Name] = true
		}
	}
	for _, t := range taken {
		if known[t.Name] {
			continue
		}
		if err := appendEvent(tx, agency.NewEvent(l.spec.Run, agency.SeverityWarning, takenWords(t),
			agency.NameRefused{Name: t.Name, HeldBy: t.Contract, Place: t.Place, Step: l.key}), l.spec.Contract); err != nil {
			return err
		}
	}
	return nil
}

func refusedOutcome(cause Cause, paths []string, what string) Outcome {
	return Outcome{Refused: &Refusal{Cause: cause, Paths: paths}, Reason: what + ": " + strings.Join(paths, ", ")}
}

func (l *landing) workspaceName() string {
	if l.spec.Workspace != "" {
		return l.spec.Workspace
	}
	return string(l.spec.Contract)
}

// message is title, what the agent says of its work, the description where that is more than the
// title, and the trailers in a paragraph of their own, so that nothing before can pass for one.
func (l *landing) message() string {
	title, _, _ := strings.Cut(strings.TrimSpace(plain(l.contract.Title)), "\n")
	if strings.HasPrefix(title, "---") { // git would take it for the end of the message
		title = strings.TrimLeft(title, "- ")
	}
	if title == "" {
		title = string(l.spec.Contract)
	}
	about := prose(l.contract.Description)
	if l.said != "" && strings.HasPrefix(about, strings.TrimSuffix(title, "…")) { // it is the goal again
		about = ""
	}
	return messageOf(title, []string{prose(l.said), about}, trailerRun, string(l.spec.Run), trailerContract, string(l.spec.Contract), trailerStep, string(l.key))
}

// messageOf is a commit's message; trailers are keys and values by turns.
func messageOf(title string, body []string, trailers ...string) string {
	s := title + "\n\n"
	for _, part := range body {
		if part != "" {
			s += part + "\n\n"
		}
	}
	for i := 0; i < len(trailers); i += 2 {
		s += trailers[i] + ": " + trailers[i+1] + "\n"
	}
	return s
}

// mostLabel is how many words stand before the colon of what looks like a trailer.
const mostLabel = 3

// prose is what others wrote as it stands in a message: what git takes for the end of that, and
// would cut the trailers off by, is indented, and so is what looks like a trailer, also to people
// alone, as "Approved by: a person" does.
func prose(s string) string {
	lines := strings.Split(strings.TrimSpace(plain(s)), "\n")
	for i, line := range lines {
		label, _, colon := strings.Cut(line, ":")
		words := strings.FieldsFunc(label, func(r rune) bool { return r == '-' || r == ' ' })
		trailer := colon && len(words) > 1 && len(words) <= mostLabel && !strings.ContainsFunc(label, func(r rune) bool {
			return r != '-' && r != ' ' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
		})
		if trailer || strings.HasPrefix(line, "---") || strings.HasPrefix(line, "#") && strings.Contains(line, ">8") {
			lines[i] = " " + line
		}
	}
	return strings.Join(lines, "\n")
}

// plain drops what a terminal would obey, and what turns the direction of the
// text after it around.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f || r == 0x061c || r >= 0xe0000 && r <= 0xe007f {
			return -1
		}
		if r == '\n' || r == '\t' || r >= ' ' && r != 0x7f && (r < 0x80 || r > 0x9f) {
			return r
		}
		return -1
	}, strings.NewReplacer("\r\n", "\n", "\r", " ").Replace(s))
}
