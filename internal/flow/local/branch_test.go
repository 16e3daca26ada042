package local

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/flow"
	"agency/internal/store"

	"github.com/google/go-cmp/cmp"
)

func TestResultIsTheRedactedOne(t *testing.T) {
	r := newRig(t)
	r.db.SetRedact(func(b []byte) []byte { return []byte(strings.ReplaceAll(string(b), "hunter2", "[redacted]")) })
	leak := flow.Activity[string, string]{Name: "leak"}
	flow.Bind(r.reg, leak, func(_ context.Context, _ agency.StepKey, in string) (string, error) {
		if in == "fail" {
			return "", agency.Errorf(agency.KindInvalid, "no hunter2").WithMend("use hunter2")
		}
		return "hunter2", nil
	})
	var seen []string
	main := func(c flow.Ctx) error {
		v, err := flow.Call(c, leak, "ok", "x")
		if err != nil {
			return err
		}
		_, err = flow.Call(c, leak, "bad", "fail")
		seen = append(seen, v, err.Error(), agency.MendOf(err))
		return nil
	}
	r.must(main)
	r.must(main)
	want := []string{"[redacted]", "no [redacted]", "use [redacted]"}
	if diff := cmp.Diff(append(want, want...), seen); diff != "" {
		t.Fatal(diff)
	}
}

func TestLargeResultsAreBlobs(t *testing.T) {
	r := newRig(t)
	big := flow.Activity[flow.None, string]{Name: "big"}
	flow.Bind(r.reg, big, func(context.Context, agency.StepKey, flow.None) (string, error) {
		return strings.Repeat("large ", 100_000), nil
	})
	main := func(c flow.Ctx) error {
		v, err := flow.Call(c, big, "k", flow.None{})
		if len(v) != 600_000 {
			return fmt.Errorf("%d bytes, %w", len(v), err)
		}
		return nil
	}
	r.must(main)
	r.must(main)
}

func TestSupersededHostCannotWrite(t *testing.T) {
	r := newRig(t)
	steal := flow.Activity[flow.None, flow.None]{Name: "steal"}
	flow.Bind(r.reg, steal, func(ctx context.Context, key agency.StepKey, _ flow.None) (flow.None, error) {
		if s := flow.ScopeOf(ctx); s.Run != testRun || s.Key != key || s.Fence != r.fence {
			return flow.None{}, agency.Errorf(agency.KindInvalid, "scope %+v", s)
		}
		_, err := r.db.RaiseEpoch(ctx)
		return flow.None{}, err
	})
	main := func(c flow.Ctx) error { _, err := flow.Call(c, steal, "k", flow.None{}); return err }
	err := r.run(main)
	if !errors.Is(err, store.ErrFenced) || agency.KindOf(err) != agency.KindDenied {
		t.Fatalf("got %v", err)
	}
	if h := r.history(); h[len(h)-1].Kind != KindCall {
		t.Fatalf("a superseded host has written %v", h[len(h)-1])
	}
}
