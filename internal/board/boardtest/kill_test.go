package boardtest_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/board/boardtest"
	"agency/internal/board/state"
	"agency/internal/store"
)

const (
	childEnv = "AGENCY_BOARDTEST_CHILD"
	stormRun = agency.RunID("storm")
	clients  = 8
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		if err := child(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if dir := os.Getenv(standEnv); dir != "" {
		fmt.Fprintln(os.Stderr, standChild(dir))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// child is a host whose clients use the faces of the board and say what
// they were told, until it is killed.
func child(dir string) error {
	ctx := context.Background()
	b, err := sqlite(bug{})(ctx, dir, boardtest.NewClock(), stormRun)
	if err != nil {
		return err
	}
	db := b.(*backend)
	failed := make(chan error)
	var clock atomic.Int64
	for n := range clients {
		c := &stormer{db: db, who: fmt.Sprint("a", n), next: fmt.Sprint("a", (n+1)%clients), clock: &clock}
		go func() {
			for i := 0; ; i++ {
				if err := c.round(ctx, i); err != nil {
					failed <- err
					return
				}
			}
		}()
	}
	return <-failed
}

// token3 does three things under one token: a message, a key, a sum.
func token3(tx *store.Tx, who, to, token string) error {
	for _, id := range []string{who, to} {
		if err := board.Join(tx, board.Agent{Run: stormRun, ID: agency.AgentID(id), Role: "x"}); err != nil {
			return err
		}
	}
	m := agency.Message{ID: agency.MessageID(token), RunID: stormRun, From: agency.FromHuman, To: to, Type: agency.MessageNote, Body: token}
	if err := board.Send(tx, m); err != nil {
		return err
	}
	own := state.Key{Namespace: state.OfAgent, Run: stormRun, Of: who, Name: "last"}
	if _, err := state.Put(tx, state.Write{Key: own, By: who, ID: token, Value: fmt.Appendf(nil, "%q", token)}); err != nil {
		return err
	}
	w, n := sum(who, token), 0
	e, err := state.Get(tx, w.Key)
	switch {
	case agency.KindOf(err) == agency.KindNotFound:
	case err != nil:
		return err
	default:
		if n, err = strconv.Atoi(string(e.Value)); err != nil {
			return err
		}
	}
	w.Value = []byte(strconv.Itoa(n + 1))
	_, err = state.Put(tx, w)
	return err
}

func sum(who, token string) state.Write {
	return state.Write{Key: state.Key{Namespace: state.OfRun, Run: stormRun, Name: "sum"}, By: who, ID: token + "/sum"}
}

// TestKilledHostsLoseNothing: what a client was told that is done is there
// after kill -9, once; what it was not told is there whole or not at all.
func TestKilledHostsLoseNothing(t *testing.T) {
	rounds := 8
	if testing.Short() {
		rounds = 2
	}
	dir := t.TempDir()
	var told []word
	for n := range rounds {
		for _, w := range storm(t, dir, 1+rand.IntN(400)) {
			w.host = n
			told = append(told, w)
		}
	}
	b, err := sqlite(bug{})(t.Context(), dir, boardtest.NewClock(), stormRun)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Kill() })
	db := b.(*backend)
	if err := db.Read(t.Context(), func(q *store.Snapshot) error { return errors.Join(count(t, q, told), mails(t, q, told)) }); err != nil {
		t.Fatal(err)
	}
}

func count(t *testing.T, q *store.Snapshot, told []word) error {
	ms, err := board.Messages(q, stormRun)
	if err != nil {
		return err
	}
	sent := map[string]bool{}
	for _, m := range ms {
		sent[string(m.ID)] = true
	}
	for _, w := range told {
		if w.what == "sent" && !sent[w.of] {
			t.Errorf("%s was acknowledged and is lost", w.of)
		}
	}
	e, err := state.Get(q, sum("a0", "").Key)
	if got := fmt.Sprint(e.Version, " ", string(e.Value)); got != fmt.Sprint(len(ms), " ", len(ms)) {
		t.Errorf("%d messages, the sum is at version and value %s", len(ms), got)
	}
	written := 0
	for n := range clients {
		own, err := state.Get(q, state.Key{Namespace: state.OfAgent, Run: stormRun, Of: fmt.Sprint("a", n), Name: "last"})
		if err != nil && agency.KindOf(err) != agency.KindNotFound {
			return err
		}
		written += int(own.Version)
	}
	if written != len(ms) {
		t.Errorf("%d messages, %d versions", len(ms), written)
	}
	t.Logf("%d told, %d messages", len(told), len(ms))
	return err
}

// startHost starts this test's own binary as a host on a folder: what it says, a
// line at a time, and what it complains of.
func startHost(t *testing.T, env, dir string) (cmd *exec.Cmd, lines *bufio.Scanner, errs *strings.Builder) {
	t.Helper()
	cmd, errs = exec.Command(os.Args[0]), &strings.Builder{}
	cmd.Env, cmd.Stderr = append(os.Environ(), env+"="+dir), errs
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out), errs
}

// storm lets a host live until it has told of n things.
func storm(t *testing.T, dir string, n int) (told []word) {
	t.Helper()
	cmd, lines, errs := startHost(t, childEnv, dir)
	for len(told) < n && lines.Scan() {
		told = append(told, parse(t, lines.Text()))
	}
	_ = cmd.Process.Kill() // a host that has ended by itself is told below
	for lines.Scan() {     // the last line may be cut
		if strings.HasSuffix(lines.Text(), ".") {
			told = append(told, parse(t, lines.Text()))
		}
	}
	if _ = cmd.Wait(); errs.Len() > 0 || len(told) < n {
		t.Fatalf("the host has ended by itself: %s", errs.String())
	}
	return told
}
