package native

import (
	"slices"
	"strings"
	"testing"

	"agency/internal/budget"
	"agency/internal/llm"
	"agency/internal/session"
)

// A session that goes on with another's conversation knows all that was said there, and what
// is wanted now; its transcript begins with that.
func TestGoesOn(t *testing.T) {
	k := newKit(t, budget.Limits{}, calls("read_file", `{"path":"main.txt"}`), calls("signal_complete", `{"evidence":"done"}`), calls("signal_complete", `{"evidence":"done"}`))
	k.bound()
	first := spec()
	if out := k.must(first); out.Kind != session.Claimed {
		t.Fatalf("the first ended %+v", out)
	}
	again := first
	again.Contract, again.GoesOn = "long", first.ID()
	asked := len(k.model.msgs)
	if out := k.must(again); out.Kind != session.Claimed {
		t.Fatalf("it ended %+v", out)
	}
	before, now := k.model.msgs[asked-1], k.model.msgs[asked]
	if n := len(before); len(now) != n+2 {
		t.Fatalf("%d messages, want the %d before, its claim, and what is wanted", len(now), n)
	}
	for i, m := range before {
		if m.Words() != now[i].Words() {
			t.Errorf("message %d is %q, was %q", i, now[i].Words(), m.Words())
		}
	}
	told := now[len(now)-1]
	if !slices.ContainsFunc(told.Blocks, func(b llm.Block) bool { _, ok := b.(llm.ToolResult); return ok }) || !strings.Contains(told.Words(), "A person has looked at it") || !strings.Contains(told.Words(), "## Contract") || strings.Contains(told.Words(), "## Context") {
		t.Errorf("it is told %q", told.Words())
	}
}

// Where the conversation does not fit, or is gone, it begins afresh: with its record, if any.
func TestGoesOnAfresh(t *testing.T) {
	for name, tt := range map[string]struct {
		of   session.Spec
		cut  int64
		want string
	}{
		"too long": {spec(), 9_000, "run_command"},
		"gone":     {func() session.Spec { s := spec(); s.Contract = "gone"; return s }(), 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t, budget.Limits{}, calls("run_command", `{"command":"seq 1 4000"}`), calls("signal_complete", `{"evidence":"done"}`), calls("signal_complete", `{"evidence":"done"}`))
			k.bound()
			k.must(spec())
			again := spec()
			again.Contract, again.GoesOn = "long", tt.of.ID()
			if tt.cut > 0 {
				k.lineup.Window = tt.cut
			}
			asked := len(k.model.msgs)
			if out := k.must(again); len(k.model.msgs) == asked {
				t.Fatalf("it ended %+v", out)
			}
			now := k.model.msgs[asked]
			if len(now) != 1 || tt.want != "" && (!strings.Contains(now[0].Words(), tt.want) || !strings.Contains(now[0].Words(), "record of the session before")) {
				t.Errorf("it begins with %d messages: %q", len(now), now[0].Words())
			}
		})
	}
}

// A process that dies anywhere while it goes on asks for no stored answer again, and says
// what was said before once.
func TestGoesOnAfterDeath(t *testing.T) {
	calm := newKit(t, budget.Limits{}, fix()...)
	want := calm.must(spec())
	for n := 1; ; n += pace() {
		k := newKit(t, budget.Limits{}, append([]any{calls("signal_complete", `{"evidence":"done"}`)}, fix()...)...)
		k.bound()
		k.must(spec())
		k.work = nil // that of the other contract
		again := spec()
		again.Contract, again.GoesOn = "long", spec().ID()
		out, points := k.survive(again, n)
		if len(points) == 0 {
			return
		}
		if out.Kind != session.Claimed || out.Claim.Tree != want.Claim.Tree {
			t.Errorf("died at point %d, %s: %+v, want the files of %+v", n, points[0], out.Claim, want.Claim)
		}
		checkRequests(t, k.model)
		k.checkBooks(points[0])
	}
}
