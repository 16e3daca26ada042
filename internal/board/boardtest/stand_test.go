package boardtest_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/board/boardtest"
	"agency/internal/board/state"
	"agency/internal/store"

	"github.com/google/go-cmp/cmp"
)

const standEnv = "AGENCY_BOARDTEST_STAND"

// stand brings every queue and key of a run into each of its states.
func stand(ctx context.Context, b boardtest.Backend) error {
	for _, op := range []boardtest.Op{
		{Do: "join", Who: "a"},
		{Do: "join", Who: "b"},
		{Do: "join", Who: "c"},
		{Do: "send", At: "a", Text: "done"},
		{Do: "claim", Who: "a"},
		{Do: "show", Who: "a", At: "done"},
		{Do: "settle", Who: "a", At: "done"},
		{Do: "send", At: "a", Text: "shown"},
		{Do: "claim", Who: "a"},
		{Do: "show", Who: "a", At: "shown"},
		{Do: "send", At: "a", Text: "taken"},
		{Do: "claim", Who: "a"},
		{Do: "send", At: "a", Text: "waits"},
		{Do: "send", At: "a", Text: "urgent", Version: 5},
		{Do: "send", At: "role:x", Text: "any"},
		{Do: "send", At: agency.Everyone, Text: "all"},
		{Do: "put", Who: "a", At: "k", Text: "1"},
		{Do: "put", Who: "a", At: "k", Text: "2"},
		{Do: "put", Who: "b", At: "mine", Text: `"x"`},
	} {
		if _, err := b.Do(ctx, stormRun, op); err != nil {
			return fmt.Errorf("%+v: %w", op, err)
		}
	}
	return nil
}

// standing is what clients see of it, and what is done for good, a line each.
func standing(ctx context.Context, b *backend) (out []string, err error) {
	for _, op := range []boardtest.Op{
		{Do: "mail"},
		{Do: "get", At: "k"},
		{Do: "get", At: "mine"},
	} {
		res, err := b.Do(ctx, stormRun, op)
		if err != nil {
			return nil, err
		}
		out = append(out, op.Do+" "+res.Text)
	}
	err = b.Read(ctx, func(q *store.Snapshot) error {
		all, err := state.Checkpoints(q, stormRun, "")
		for _, c := range all {
			out = append(out, fmt.Sprint(c.Type, " ", c.Reference, " ", c.Agent))
		}
		return err
	})
	return out, err
}

// standChild is a host that stands still until it is killed.
func standChild(dir string) error {
	ctx := context.Background()
	b, err := sqlite(bug{})(ctx, dir, boardtest.NewClock(), stormRun)
	if err != nil {
		return err
	}
	if err := stand(ctx, b); err != nil {
		return err
	}
	db, _ := b.(*backend)
	lines, err := standing(ctx, db)
	if err != nil {
		return err
	}
	for _, l := range lines {
		fmt.Println(l)
	}
	fmt.Println(".")
	<-ctx.Done() // never: it is killed
	return ctx.Err()
}

// TestARestartStandsWhereTheHostDied: after kill -9 every queue and key
// is what it was before, and so is what was done for good; only what was
// handed over and not shown waits again.
func TestARestartStandsWhereTheHostDied(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "s")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd, lines, errs := startHost(t, standEnv, dir)
	var before []string
	for lines.Scan() && lines.Text() != "." {
		before = append(before, lines.Text())
	}
	err := cmd.Process.Kill()
	if _ = cmd.Wait(); err != nil || len(before) < 6 {
		t.Fatalf("the host said %q, %v, %s", before, err, errs.String())
	}
	before[0] = strings.Replace(before[0], "taken:a:delivered", "taken:a:pending", 1)
	for range 2 { // a second restart changes nothing more
		b, err := sqlite(bug{})(t.Context(), dir, boardtest.NewClock(), stormRun)
		if err != nil {
			t.Fatal(err)
		}
		after, err := standing(t.Context(), b.(*backend))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("-before +after:\n%s", diff)
		}
		var got []string
		for range 2 {
			res, err := b.Do(t.Context(), stormRun, boardtest.Op{Do: "claim", Who: "a"})
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, res.Text)
		}
		if diff := cmp.Diff([]string{"urgent", "taken"}, got); diff != "" {
			t.Errorf("the next in the inbox (-want +got):\n%s", diff)
		}
		if err := b.Kill(); err != nil {
			t.Fatal(err)
		}
	}
}
