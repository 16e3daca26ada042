package record

import (
	"encoding/json"
	"fmt"

	"agency/internal/agency"
	"agency/internal/session"
	"agency/internal/store"
)

// Begin stores a session that begins and opens its account; it says so.
func Begin(tx *store.Tx, p *session.Part, s Session) error {
	if err := create(tx, p.Spec, s); err != nil {
		return err
	}
	if err := p.Account.Open(tx, p.Setup.Parent); err != nil {
		return err
	}
	again := ""
	if p.Spec.Fresh > 0 {
		again = " afresh"
	}
	words := fmt.Sprintf("%s begins attempt %d%s with %s", p.Spec.Agent, p.Spec.Attempt, again, s.Model)
	if post := p.Spec.Post; post != nil {
		words = fmt.Sprintf("%s begins%s%s with %s", post.Agent, again, post.Part(), s.Model)
	}
	return p.Log(tx, agency.SeverityInfo, words,
		agency.Spawned{Session: p.Spec.ID(), Attempt: p.Spec.Attempt, Model: s.Model})
}

// Resume reads where a session stands that has begun, and how the part has ended,
// if it has; ok says that it has begun. A part that cannot be the next is refused
// (KindConflict).
func Resume(q Reader, spec session.Spec) (s Session, ended *session.Outcome, ok bool, err error) {
	s, ok, err = read(q, spec.ID())
	switch {
	case err != nil:
		return s, nil, false, err
	case !ok && spec.Part > 1:
		return s, nil, false, agency.Errorf(agency.KindConflict, "part %d before part 1", spec.Part)
	case !ok:
		return s, nil, false, nil
	case spec.Part > s.Parts+1:
		return s, nil, false, agency.Errorf(agency.KindConflict, "part %d, but only %d parts have ended", spec.Part, s.Parts)
	case s.Parts == 0:
		return s, nil, true, nil
	}
	last := min(spec.Part, s.Parts)
	out, err := outcome(q, spec.ID(), last)
	switch {
	case err != nil:
		return s, nil, false, err
	case last == spec.Part:
		return s, &out, true, nil
	case !goesOn(out, spec):
		return s, nil, false, agency.Errorf(agency.KindConflict, "part %d, but part %d ended as %s", spec.Part, last, out.Kind)
	}
	return s, nil, true, nil
}

// goesOn tells whether a part may follow one that ended so: what was waited for is there, a
// claim is answered, or an agent that has reported is asked more.
func goesOn(out session.Outcome, spec session.Spec) bool {
	switch out.Kind {
	case session.Parked:
		return true
	case session.Claimed:
		return spec.Answer != nil
	case session.Reported:
		return spec.Answer != nil && spec.Post != nil
	}
	return false
}

// End stores how a part ends and tells it: the board, whom it asks, the log. The
// outcome that it gives is what a later process reads.
func End(tx *store.Tx, p *session.Part, o session.Outcome) (session.Outcome, error) {
	var out session.Outcome
	doc, err := json.Marshal(o)
	if err != nil {
		return out, err
	}
	doc = tx.Redact(doc)
	if err := json.Unmarshal(doc, &out); err != nil {
		return out, err
	}
	if err := p.Presence.Join(tx); err != nil {
		return out, err
	}
	if err := p.Mail.Ask(tx, out); err != nil {
		return out, err
	}
	if err := p.Presence.Leave(tx, out); err != nil {
		return out, err
	}
	if _, err := tx.Exec(insertPart, string(p.Spec.ID()), p.Spec.Part, string(doc), store.Micros(tx.Now)); err != nil {
		return out, err
	}
	return out, p.LogEnd(tx, o)
}

// outcome is how a part ended.
func outcome(q store.Querier, id agency.SessionID, part int) (out session.Outcome, err error) {
	var doc []byte
	if err := q.QueryRow(selectOutcome, string(id), part).Scan(&doc); err != nil {
		return out, err
	}
	return out, json.Unmarshal(doc, &out)
}
