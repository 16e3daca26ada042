package board

import (
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/store"
)

// What was sent to everyone may still be answered while one of its readers is there.
func TestAResponseToEveryoneIsAwaitedWhileOneIsThere(t *testing.T) {
	d := newDesk(t)
	d.join("ann", "bob", "cid")
	ask := msg("ask", "bob", agency.Everyone)
	ask.RequiresResponse = true
	d.send(ask)
	for _, do := range []func(*store.Tx) error{
		func(tx *store.Tx) error { _, err := ClaimAll(tx, ann(), 1); return err },
		func(tx *store.Tx) error { return MarkRead(tx, ann(), "ask") },
		func(tx *store.Tx) error { return MarkProcessed(tx, ann(), "ask") },
		func(tx *store.Tx) error { return Leave(tx, run, "cid", AgentFailed, "") },
	} {
		d.do(do)
		th := d.thread("ask")
		if r, _ := th.Response(th.Posts[0]); r != ResponseAwaited {
			t.Errorf("%q: %+v", r, th)
		}
	}
}

// TestAThreadSaysWhatBecameOfAResponse: in time, overdue, late, or never.
func TestAThreadSaysWhatBecameOfAResponse(t *testing.T) {
	answer := func(d *desk) { d.send(reply("r", "ann", "bob", "ask")) }
	late := func(d *desk) {
		d.mono += time.Minute
		d.do(func(tx *store.Tx) error { _, err := Sweep(tx, 10); return err })
	}
	for name, tt := range map[string]struct {
		what []func(*desk)
		want Response
		by   agency.MessageID
	}{
		"not yet":                {nil, ResponseAwaited, ""},
		"in time":                {[]func(*desk){answer, late}, ResponseGiven, "r"},
		"none":                   {[]func(*desk){late}, ResponseOverdue, ""},
		"late":                   {[]func(*desk){late, answer}, ResponseLate, "r"},
		"its recipient is gone":  {[]func(*desk){func(d *desk) { d.leave("ann") }}, ResponseNever, ""},
		"gone, and overdue":      {[]func(*desk){func(d *desk) { d.leave("ann") }, late}, ResponseOverdue, ""},
		"a word of its own only": {[]func(*desk){func(d *desk) { d.send(reply("r", "bob", "ann", "ask")) }}, ResponseAwaited, ""},
		"of a person": {[]func(*desk){func(d *desk) {
			m := note("r", "do it")
			m.To, m.InReplyTo = "bob", "ask"
			d.send(m)
		}}, ResponseGiven, "r"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.join("ann", "bob")
			ask := msg("ask", "bob", "ann")
			ask.RequiresResponse, ask.RespondWithin = true, time.Minute
			d.send(ask, msg("plain", "bob", "ann"))
			for _, do := range tt.what {
				do(d)
			}
			th := d.thread("ask")
			if r, by := th.Response(th.Posts[0]); r != tt.want || by != tt.by {
				t.Errorf("%q by %q, want %q by %q: %+v", r, by, tt.want, tt.by, th)
			}
			plain := d.thread("plain")
			if r, _ := plain.Response(plain.Posts[0]); r != "" {
				t.Errorf("a message that requires none: %q", r)
			}
		})
	}
}
