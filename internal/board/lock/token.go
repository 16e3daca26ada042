package lock

import (
	"database/sql"
	"errors"
	"time"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/lease"
	"agency/internal/store"
)

// TokenType is what an execution token gives a turn at.
type TokenType string

// The types of tokens.
const (
	TokenProducerCritic TokenType = "producer_critic"
	TokenFileWrite      TokenType = "file_write"
	TokenTestRun        TokenType = "test_run"
	TokenReview         TokenType = "review"
)

// TokenStatus says whether a token can be had.
type TokenStatus string

// The statuses of a token.
const (
	TokenAvailable TokenStatus = "available"
	TokenIsHeld    TokenStatus = "held"
	TokenContested TokenStatus = "contested" // held, and others wait
)

// TokenHold is how long a token is held at most, unless less is asked for.
// Heartbeats do not prolong it.
const TokenHold = 1800 * time.Second

// maxScope is the longest scope of a token in bytes.
const maxScope = 256

// TokenKey names a token: one of a type for each scope of a run.
type TokenKey struct {
	Run   agency.RunID `json:"run_id"`
	Type  TokenType    `json:"token_type"`
	Scope string       `json:"scope,omitempty"` // a contract, or what else it is about
}

// lease is the token as what is leased, and tokenKeyOf its inverse.
func (k TokenKey) lease() lease.Key {
	return lease.Key{Kind: tokenKind, Run: k.Run, Name: string(k.Type), Part: k.Scope}
}

func tokenKeyOf(k lease.Key) TokenKey {
	return TokenKey{Run: k.Run, Type: TokenType(k.Name), Scope: k.Part}
}

func (k TokenKey) label() string {
	if k.Scope == "" {
		return string(k.Type)
	}
	return string(k.Type) + "/" + k.Scope
}

// tokenKind is the kind of the leases that are tokens.
const tokenKind = "token"

// TokenRequest asks for a token.
type TokenRequest struct {
	TokenKey
	Agent agency.AgentID
	Hold  time.Duration // 0: TokenHold
}

// Token is a token as it stands.
type Token struct {
	TokenKey
	Status         TokenStatus    `json:"status"`
	Holder         agency.AgentID `json:"holder_agent_id,omitempty"`
	HolderRole     agency.RoleID  `json:"holder_role,omitempty"`
	Fence          agency.Fence   `json:"fence,omitzero"`
	Waiting        []Waiter       `json:"waiting_agents,omitempty"` // next first
	AcquiredAt     time.Time      `json:"acquired_at,omitzero"`
	LastReleasedAt time.Time      `json:"last_released_at,omitzero"`
	MaxHold        time.Duration  `json:"max_hold,omitempty"` // nanoseconds awake
	Left           time.Duration  `json:"left,omitempty"`     // of it
}

// Waiter is an agent that waits for a token.
type Waiter struct {
	Agent       agency.AgentID `json:"agent_id"`
	Role        agency.RoleID  `json:"role"`
	RequestedAt time.Time      `json:"requested_at"`
	hold        time.Duration
}

// RequestToken gives an agent a token, or the last place in its queue: the
// token's state tells which. The same request again keeps the token and its
// time, or the place. A token whose hold is over goes to the next first.
func RequestToken(tx *store.Tx, r TokenRequest) (Token, error) {
	if r.Hold == 0 {
		r.Hold = TokenHold
	}
	if err := r.check(); err != nil {
		return Token{}, err
	}
	if err := board.MustLive(tx, r.Run, r.Agent); err != nil {
		return Token{}, err
	}
	t, err := settle(tx, r.TokenKey)
	if err != nil || t.Holder == r.Agent {
		return t, err
	}
	if _, err := tx.Exec(insertToken,
		string(r.Run), string(r.Type), r.Scope); err != nil {
		return t, err
	}
	if _, err := tx.Exec(insertWaiter,
		string(r.Run), string(r.Type), r.Scope, string(r.Agent), int64(r.Hold), store.Micros(tx.Now)); err != nil {
		return t, err
	}
	return settle(tx, r.TokenKey)
}

func (r TokenRequest) check() error {
	switch r.Type {
	case TokenProducerCritic, TokenFileWrite, TokenTestRun, TokenReview:
	default:
		return agency.Errorf(agency.KindInvalid, "token type %q: want producer_critic, file_write, test_run or review", r.Type)
	}
	if len(r.Scope) > maxScope || !board.Plain(r.Scope) {
		return agency.Errorf(agency.KindInvalid, "token scope %.40q: want at most %d bytes without control characters", r.Scope, maxScope)
	}
	if r.Hold < 0 || r.Hold > TokenHold {
		return agency.Errorf(agency.KindInvalid, "token %s for %s: want 0 to %s", r.label(), r.Hold, TokenHold)
	}
	return nil
}

// ReleaseToken gives a token to the next in its queue. One that nobody holds is
// released already; KindDenied for another's, and for a fence that is no longer
// the token's.
func ReleaseToken(tx *store.Tx, k TokenKey, agent agency.AgentID, f agency.Fence) error {
	t, err := settle(tx, k)
	if err != nil || t.Holder == "" {
		return err
	}
	if t.Holder != agent || t.Fence != f {
		return agency.Errorf(agency.KindDenied, "token %s: fence %d.%d of %s does not hold it, %s does with %d.%d",
			k.label(), f.Epoch, f.N, agent, t.Holder, t.Fence.Epoch, t.Fence.N)
	}
	l := lease.Lease{Request: lease.Request{Key: k.lease(), Holder: string(agent)}, Fence: f}
	if err := takeToken(tx, l, ""); err != nil {
		return err
	}
	_, err = settle(tx, k)
	return err
}

// CancelToken gives up an agent's place in a queue, and the token where it has
// got it meanwhile.
func CancelToken(tx *store.Tx, k TokenKey, agent agency.AgentID) error {
	if err := unqueue(tx, k, agent); err != nil {
		return err
	}
	t, err := TokenOf(tx, k)
	if err != nil || t.Holder != agent {
		return err
	}
	return ReleaseToken(tx, k, agent, t.Fence)
}

// CheckToken refuses a fence that does not hold the token, with KindDenied. It
// belongs into the transaction of the write that the token is for.
func CheckToken(tx *store.Tx, k TokenKey, f agency.Fence) error { return lease.Check(tx, k.lease(), f) }

// granted tells those who wait in this process that a token is theirs.
type granted struct {
	key   TokenKey
	agent agency.AgentID
	fence agency.Fence
}

func tokenGranted() store.Topic[granted] { return store.Topic[granted]{Name: "board.token"} }

// settle gives a token that nobody holds, or whose hold is over, to the first
// in its queue, and returns it as it then stands.
func settle(tx *store.Tx, k TokenKey) (Token, error) {
	t, err := TokenOf(tx, k)
	if err != nil {
		return t, err
	}
	if t.Holder != "" {
		return t, nil
	}
	old, err := lease.All(tx, k.lease())
	if err != nil {
		return t, err
	}
	for _, l := range old {
		reason := "its time is over"
		if l.Left > 0 {
			reason = "its host has ended"
		}
		if err := takeToken(tx, l, reason); err != nil {
			return t, err
		}
		t.LastReleasedAt = tx.Now
	}
	if len(t.Waiting) == 0 {
		return t, nil
	}
	next := t.Waiting[0]
	f, err := lease.Acquire(tx, lease.Request{Key: k.lease(), Holder: string(next.Agent), TTL: next.hold, Label: k.label()})
	if err != nil {
		return t, err
	}
	if err := unqueue(tx, k, next.Agent); err != nil {
		return t, err
	}
	board.WakeMaintain(tx)
	store.Publish(tx, tokenGranted(), granted{k, next.Agent, f})
	if err := logLock(tx, k.Run, next.Agent, "has token "+k.label(), agency.TokenGranted{Name: k.label(), Holder: string(next.Agent)}); err != nil {
		return t, err
	}
	return TokenOf(tx, k)
}

// takeToken ends a hold, for a reason where it was not the holder that did.
func takeToken(tx *store.Tx, l lease.Lease, reason string) error {
	k := tokenKeyOf(l.Key)
	if err := lease.Release(tx, l.Key, l.Fence); err != nil {
		return err
	}
	if _, err := tx.Exec(updateReleased,
		store.Micros(tx.Now), string(k.Run), string(k.Type), k.Scope); err != nil {
		return err
	}
	text := "gives back token " + k.label()
	if reason != "" {
		text = "loses token " + k.label() + ": " + reason
	}
	return logLock(tx, k.Run, agency.AgentID(l.Holder), text, agency.TokenReleased{Name: k.label(), Holder: l.Holder, Reason: reason})
}

func unqueue(tx *store.Tx, k TokenKey, agent agency.AgentID) error {
	_, err := tx.Exec(deleteWaiter,
		string(k.Run), string(k.Type), k.Scope, string(agent))
	return err
}

// TokenOf reads a token; one that was never asked for is available.
func TokenOf(tx *store.Tx, k TokenKey) (Token, error) {
	t := Token{TokenKey: k}
	var released int64
	err := tx.QueryRow(selectReleased,
		string(k.Run), string(k.Type), k.Scope).Scan(&released)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return t, err
	}
	if released != 0 {
		t.LastReleasedAt = store.Time(released)
	}
	held, err := lease.Holders(tx, k.lease())
	if err != nil {
		return t, err
	}
	for _, l := range held {
		t.Holder, t.Fence, t.AcquiredAt, t.MaxHold, t.Left = agency.AgentID(l.Holder), l.Fence, l.Since, l.TTL, l.Left
		a, err := board.AgentOf(tx, k.Run, t.Holder)
		if err != nil {
			return t, err
		}
		t.HolderRole = a.Role
	}
	t.Waiting, err = waiters(tx, k)
	t.Status = statusOf(t)
	return t, err
}

func statusOf(t Token) TokenStatus {
	switch {
	case t.Holder == "":
		return TokenAvailable
	case len(t.Waiting) == 0:
		return TokenIsHeld
	}
	return TokenContested
}

func waiters(q store.Querier, k TokenKey) ([]Waiter, error) {
	return store.All(q, func(row store.Scanner) (w Waiter, err error) {
		var at int64
		err = row.Scan(&w.Agent, &w.Role, &at, &w.hold)
		w.RequestedAt = store.Time(at)
		return w, err
	}, selectWaiters, string(k.Run), string(k.Type), k.Scope)
}

// Tokens are the tokens of a run that were ever asked for.
func Tokens(tx *store.Tx, run agency.RunID) ([]Token, error) {
	keys, err := tokenKeys(tx, run)
	var out []Token
	for _, k := range keys {
		t, err := TokenOf(tx, k)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, err
}

func tokenKeys(q store.Querier, run agency.RunID) ([]TokenKey, error) {
	return store.All(q, func(row store.Scanner) (TokenKey, error) {
		k := TokenKey{Run: run}
		err := row.Scan(&k.Type, &k.Scope)
		return k, err
	}, selectTokens, string(run))
}

// releaseTokens is for an agent that has ended: it waits for nothing, and what
// it holds goes to the next.
func releaseTokens(tx *store.Tx, run agency.RunID, agent agency.AgentID, reason string) error {
	if _, err := tx.Exec(leaveQueues, string(run), string(agent)); err != nil {
		return err
	}
	all, err := lease.List(tx, tokenKind, run)
	for _, l := range all {
		if l.Holder != string(agent) || err != nil {
			continue
		}
		if err = takeToken(tx, l, reason); err == nil {
			_, err = settle(tx, tokenKeyOf(l.Key))
		}
	}
	return err
}

// sweepTokens passes on the tokens whose hold is over.
func sweepTokens(tx *store.Tx) (n int, err error) {
	all, err := lease.List(tx, tokenKind, "")
	for _, l := range all {
		if l.Left > 0 {
			continue
		}
		if _, err := settle(tx, tokenKeyOf(l.Key)); err != nil {
			return n, err
		}
		n++
	}
	return n, err
}
