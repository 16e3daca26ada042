package native

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"time"

	"agency/internal/agency"
)

const (
	// mostStagger is how long a session waits for another's answer to begin: longer than
	// most take, and no long time for a team.
	mostStagger = 15 * time.Second
	// warmFor is how long a provider keeps a prefix at least.
	warmFor = 4 * time.Minute
)

// stagger has sessions of a run whose first requests begin alike ask one after the other's
// answer has begun: until then no provider has kept what they have in common, and each
// would pay for it whole.
type stagger struct {
	mu sync.Mutex
	of map[prefix]*kept
}

// prefix names what requests begin with: the run, the model, the tools and the prompt.
type prefix [sha256.Size]byte

func prefixOf(run agency.RunID, model, system string, tools []byte) prefix {
	h := sha256.New()
	for _, part := range [][]byte{[]byte(run), []byte(model), tools, []byte(system)} {
		sum := sha256.Sum256(part)
		h.Write(sum[:])
	}
	return prefix(h.Sum(nil))
}

// String is short enough for a provider's key.
func (p prefix) String() string { return hex.EncodeToString(p[:16]) }

// kept is a prefix that somebody has sent.
type kept struct {
	begun chan struct{} // closed when the answer has begun, or will not
	once  sync.Once
	at    time.Time
}

func (k *kept) answered() { k.once.Do(func() { close(k.begun) }) }

// enter waits until the prefix may be kept; who is the first to send it says by the
// function that it gets when its answer begins or has failed.
func (s *stagger) enter(ctx context.Context, p prefix, now time.Time) (answered func()) {
	s.mu.Lock()
	for old, k := range s.of {
		if now.Sub(k.at) > warmFor {
			k.answered()
			delete(s.of, old)
		}
	}
	k, sent := s.of[p]
	if !sent {
		k = &kept{begun: make(chan struct{}), at: now}
		s.of[p] = k
	}
	s.mu.Unlock()
	if !sent {
		return k.answered
	}
	t := time.NewTimer(mostStagger)
	defer t.Stop()
	select {
	case <-k.begun:
	case <-t.C:
	case <-ctx.Done():
	}
	return func() {}
}

// enter has the first request of a session wait for one that begins alike.
func (c asker) enter(ctx context.Context) (answered func()) {
	if c.turn.N != 1 || c.turn.Try != 1 {
		return func() {}
	}
	return c.r.stagger.enter(ctx, c.prefix(), c.r.o.Now())
}

// prefix is what the session's requests begin with.
func (c asker) prefix() prefix {
	return prefixOf(c.Spec.Run, c.req.Model, c.req.System, c.kit.json)
}
