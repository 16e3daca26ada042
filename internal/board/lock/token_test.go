package lock

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/store"
)

func review() TokenKey { return TokenKey{Run: run, Type: TokenReview, Scope: "main"} }

func (d desk) ask(agent agency.AgentID) (t Token) {
	d.Helper()
	d.Do(func(tx *store.Tx) (err error) {
		t, err = RequestToken(tx, TokenRequest{TokenKey: review(), Agent: agent})
		return err
	})
	return t
}

// token is the token as text: status, holder and who waits.
func (d desk) token(want string) (t Token) {
	d.Helper()
	d.Do(func(tx *store.Tx) (err error) { t, err = TokenOf(tx, review()); return err })
	got := []string{string(t.Status), string(t.Holder)}
	for _, w := range t.Waiting {
		got = append(got, string(w.Agent))
	}
	if text := strings.TrimSpace(strings.Join(got, " ")); text != want {
		d.Helper()
		d.Errorf("the token is %q, want %q", text, want)
	}
	return t
}

func (d desk) give(agent agency.AgentID, f agency.Fence) {
	d.Helper()
	d.Do(func(tx *store.Tx) error { return ReleaseToken(tx, review(), agent, f) })
}

func TestTokensGoRound(t *testing.T) {
	d := newDesk(t)
	d.Join("ada", "bob", "cid")
	d.token("available")
	f := d.ask("ada").Fence
	if again := d.ask("ada"); again.Fence != f {
		t.Errorf("asked again: %v, then %v", f, again.Fence)
	}
	d.token("held ada")
	d.ask("bob")
	d.ask("cid")
	d.ask("bob") // keeps its place
	d.token("contested ada bob cid")
	d.Refuse(agency.KindDenied, func(tx *store.Tx) error { return ReleaseToken(tx, review(), "bob", f) })
	d.give("ada", f)
	d.Refuse(agency.KindDenied, func(tx *store.Tx) error { return CheckToken(tx, review(), f) })
	d.ask("ada")
	g := d.token("contested bob cid ada").Fence
	d.Refuse(agency.KindDenied, func(tx *store.Tx) error { return ReleaseToken(tx, review(), "bob", f) })
	d.Do(func(tx *store.Tx) error { return CheckToken(tx, review(), g) })
	d.Leave("cid")
	d.token("contested bob ada")
	d.Leave("bob")
	h := d.token("held ada")
	if h.LastReleasedAt.IsZero() || h.HolderRole != "scaffolder" || h.MaxHold != TokenHold {
		t.Errorf("%+v", h)
	}
	d.Do(func(tx *store.Tx) error { return CancelToken(tx, review(), "ada") })
	d.token("available")
	d.give("ada", h.Fence) // released already
	var all []Token
	d.Do(func(tx *store.Tx) (err error) { all, err = Tokens(tx, run); return err })
	if len(all) != 1 || all[0].TokenKey != review() {
		t.Errorf("%+v", all)
	}
}

func TestAHoldEnds(t *testing.T) {
	d := newDesk(t)
	d.Join("ada", "bob")
	f := d.ask("ada").Fence
	d.ask("bob")
	d.Wall = d.Wall.Add(1000 * time.Hour)
	d.Mono = TokenHold - 1
	d.Do(func(tx *store.Tx) error { return board.Heartbeat(tx, run, "ada") }) // does not prolong it
	d.ask("ada")                                                              // nor does this
	d.token("contested ada bob")
	d.Mono++
	d.ask("ada")
	d.token("contested bob ada")
	d.Refuse(agency.KindDenied, func(tx *store.Tx) error { return CheckToken(tx, review(), f) })
	d.Mono += TokenHold
	sweep := func(want int) {
		t.Helper()
		d.Do(func(tx *store.Tx) error {
			n, err := sweepTokens(tx)
			if n != want {
				t.Errorf("swept %d tokens, want %d", n, want)
			}
			return err
		})
	}
	sweep(1)
	d.token("held ada")
	sweep(0)
}

func TestBadTokens(t *testing.T) {
	d := newDesk(t)
	d.Join("ada")
	for name, change := range map[string]func(*TokenRequest){
		"odd type":   func(r *TokenRequest) { r.Type = "x" },
		"long scope": func(r *TokenRequest) { r.Scope = strings.Repeat("x", maxScope+1) },
		"long hold":  func(r *TokenRequest) { r.Hold = TokenHold + 1 },
		"no hold":    func(r *TokenRequest) { r.Hold = -1 },
	} {
		t.Run(name, func(*testing.T) {
			r := TokenRequest{TokenKey: review(), Agent: "ada"}
			change(&r)
			d.Refuse(agency.KindInvalid, func(tx *store.Tx) error { _, err := RequestToken(tx, r); return err })
		})
	}
	d.Refuse(agency.KindNotFound, func(tx *store.Tx) error {
		_, err := RequestToken(tx, TokenRequest{TokenKey: review(), Agent: "nobody"})
		return err
	})
	d.token("available")
}

// TestTurns has agents wait for one token: one has it at a time, all get it.
func TestTurns(t *testing.T) {
	d := newDesk(t)
	b := NewManager(d.DB)
	t.Cleanup(b.Close)
	const agents, each = 8, 5
	var in, turns int
	var mu sync.Mutex
	var wg sync.WaitGroup
	for n := range agents {
		id := agency.AgentID(fmt.Sprint("a", n))
		d.Join(id)
		wg.Go(func() {
			for range each {
				f, err := b.AcquireToken(t.Context(), TokenRequest{TokenKey: review(), Agent: id})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				if in++; in != 1 {
					t.Errorf("%d agents have the token", in)
				}
				mu.Unlock()
				mu.Lock()
				in--
				turns++
				mu.Unlock()
				if err := b.db.Write(t.Context(), func(tx *store.Tx) error { return ReleaseToken(tx, review(), id, f) }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	d.token("available")
	if turns != agents*each || len(b.wait) != 0 {
		t.Errorf("%d turns, %d wait", turns, len(b.wait))
	}
}

func TestWaitingForATokenEnds(t *testing.T) {
	d := newDesk(t)
	b := NewManager(d.DB)
	t.Cleanup(b.Close)
	d.Join("ada", "bob")
	f := d.ask("ada").Fence
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error)
	go func() {
		_, err := b.AcquireToken(ctx, TokenRequest{TokenKey: review(), Agent: "bob"})
		done <- err
	}()
	d.Until(func(tx *store.Tx) bool {
		t, err := TokenOf(tx, review())
		return err == nil && t.Status == TokenContested
	})
	cancel(why)
	if err := <-done; !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
	d.token("held ada")
	go func() {
		_, err := b.AcquireToken(t.Context(), TokenRequest{TokenKey: review(), Agent: "bob"})
		done <- err
	}()
	d.Until(func(tx *store.Tx) bool {
		t, err := TokenOf(tx, review())
		return err == nil && t.Status == TokenContested
	})
	d.Leave("ada")
	if err := <-done; err != nil {
		t.Error(err)
	}
	d.Refuse(agency.KindDenied, func(tx *store.Tx) error { return CheckToken(tx, review(), f) })
	d.token("held bob")
}
