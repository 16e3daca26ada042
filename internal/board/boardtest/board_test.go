package boardtest_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/board/boardtest"
	"agency/internal/board/state"
	"agency/internal/event"
	"agency/internal/lease"
	"agency/internal/store"
	"agency/internal/store/storetest"
)

var programs = flag.Int("programs", 300, "how many random programs the board is held to")

func TestBoard(t *testing.T) {
	n := *programs
	if testing.Short() {
		n = min(n, 20)
	}
	boardtest.Run(t, sqlite(bug{}), n)
}

// backend is the board on SQLite, with or without a bug.
type backend struct {
	*store.DB
	office  *board.Board
	bug     bug
	session agency.SessionID
	behind  []func() error // acknowledged, not yet durable
}

// bug is what may be wrong with a backend.
type bug struct {
	options  func(*store.Options)
	instead  map[string]func(*store.Tx, agency.RunID, boardtest.Op) (boardtest.Result, error)
	after    map[string]string // SQL after an operation
	early    bool              // acknowledges before the commit
	forgets  bool              // does not recover
	repeated string            // the operation that is not kept
	anybody  bool              // no role is out of reach
}

func sqlite(bug bug) boardtest.Factory {
	return func(ctx context.Context, dir string, clock *boardtest.Clock, run agency.RunID) (boardtest.Backend, error) {
		o := store.Options{
			Path: filepath.Join(dir, "board.db"), Sets: []store.Set{event.Migrations(), lease.Migrations(), board.Migrations(), state.Migrations()},
			Now: clock.Now, Mono: clock.Mono,
		}
		if bug.options != nil {
			bug.options(&o)
		}
		if err := storetest.Prepare(o); err != nil {
			return nil, err
		}
		db, err := store.Open(ctx, o)
		if err != nil {
			return nil, err
		}
		epoch, err := db.RaiseEpoch(ctx)
		if err == nil && !bug.forgets {
			err = db.Write(ctx, func(tx *store.Tx) error { return board.Recover(tx, run) })
		}
		if err != nil {
			return nil, errors.Join(err, db.Close())
		}
		reach := board.Options{MaySend: boardtest.MaySend}
		if bug.anybody {
			reach.MaySend = nil
		}
		office, err := board.Open(ctx, db, reach)
		if err != nil {
			return nil, errors.Join(err, db.Close())
		}
		return &backend{DB: db, office: office, bug: bug, session: agency.SessionID(fmt.Sprint("s", epoch))}, nil
	}
}

func (b *backend) Kill() error { return errors.Join(b.office.Close(), b.Close()) }

var errUndo = errors.New("not kept")

func (b *backend) Do(ctx context.Context, run agency.RunID, op boardtest.Op) (res boardtest.Result, err error) {
	if b.bug.early {
		for _, late := range b.behind {
			if err := late(); err != nil {
				return res, err
			}
		}
		b.behind = nil
	}
	do := func(keep bool) error {
		return b.Write(ctx, func(tx *store.Tx) error {
			if res, err = b.apply(tx, run, op); err != nil {
				return err
			}
			if !keep {
				return errUndo
			}
			return nil
		})
	}
	if b.bug.early && op.Do != "tidy" || b.bug.repeated == op.Do {
		err := do(false)
		if !errors.Is(err, errUndo) {
			return res, err
		}
		if b.bug.early {
			b.behind = append(b.behind, func() error { return do(true) })
		}
		return res, nil
	}
	return res, do(true)
}

func (b *backend) apply(tx *store.Tx, run agency.RunID, op boardtest.Op) (boardtest.Result, error) {
	do := map[string]func(*store.Tx, agency.RunID, boardtest.Op) (boardtest.Result, error){
		"put": b.state, "swap": b.state, "delete": b.state, "get": b.state,
		"send": b.mail, "write": b.mail, "claim": b.mail, "mail": b.mail,
	}[op.Do]
	if instead := b.bug.instead[op.Do]; instead != nil {
		do = instead
	}
	if do == nil {
		text, err := b.plain(tx, run, op)
		do = func(*store.Tx, agency.RunID, boardtest.Op) (boardtest.Result, error) {
			return boardtest.Result{Text: text}, err
		}
	}
	res, err := do(tx, run, op)
	if sql := b.bug.after[op.Do]; sql != "" && err == nil {
		_, err = tx.Exec(sql)
	}
	return res, err
}

func key(run agency.RunID, op boardtest.Op) state.Key {
	return state.Key{Namespace: state.OfRun, Run: run, Name: op.At}
}

func (b *backend) who(run agency.RunID, op boardtest.Op) board.Recipient {
	return board.Recipient{Run: run, Agent: agency.AgentID(op.Who), Role: boardtest.RoleOf(op.Who), Session: b.session}
}

// plain are the operations that say nothing but an error.
func (b *backend) plain(tx *store.Tx, run agency.RunID, op boardtest.Op) (string, error) {
	who := agency.AgentID(op.Who)
	err := error(nil)
	switch op.Do {
	case "join":
		err = board.Join(tx, board.Agent{Run: run, ID: who, Role: boardtest.RoleOf(op.Who)})
	case "leave":
		err = board.Leave(tx, run, who, board.AgentFailed, "left")
	case "beat":
		err = board.Heartbeat(tx, run, who)
	case "missed":
		var out []string
		late, err := board.Missed(tx, run)
		for _, a := range late {
			out = append(out, fmt.Sprint(a.ID, ":", a.Missed))
		}
		return strings.Join(out, " "), err
	case "tidy":
		for _, tidy := range []func(*store.Tx, int) (int, error){board.Sweep, state.Timed().Expire} {
			if _, err := tidy(tx, 1000); err != nil {
				return "", err
			}
		}
	case "show":
		err = board.MarkRead(tx, b.who(run, op), agency.MessageID(op.At))
	case "settle":
		err = board.MarkProcessed(tx, b.who(run, op), agency.MessageID(op.At))
	default:
		err = fmt.Errorf("no operation %q", op.Do)
	}
	return "ok", err
}

func (b *backend) state(tx *store.Tx, run agency.RunID, op boardtest.Op) (res boardtest.Result, err error) {
	w := state.Write{Key: key(run, op), Value: []byte(op.Text), By: op.Who, TTL: op.For}
	var e state.Entry
	switch op.Do {
	case "put":
		e, err = state.Put(tx, w)
	case "swap":
		e, err = state.Swap(tx, w, op.Version)
		var late *state.VersionConflict
		if errors.As(err, &late) { // a result, since nothing was written
			return boardtest.Result{Text: fmt.Sprint(agency.KindConflict, " ", late.Current.Version)}, nil
		}
	case "delete":
		e, err = state.Delete(tx, w.Key, op.Who)
	case "get":
		e, err = state.Get(tx, w.Key)
		return boardtest.Result{Text: fmt.Sprint(e.Version, ":", string(e.Value))}, err
	}
	return boardtest.Result{Text: fmt.Sprint(e.Version)}, err
}

func (b *backend) mail(tx *store.Tx, run agency.RunID, op boardtest.Op) (boardtest.Result, error) {
	switch op.Do {
	case "send", "write":
		m := agency.Message{
			ID: agency.MessageID(op.Text), RunID: run, From: agency.FromHuman, To: op.At, Type: agency.MessageNote, Body: "text",
			Priority: int(op.Version),
		}
		if role, ok := strings.CutPrefix(op.At, "role:"); ok {
			m.To, m.ToRole = "", agency.RoleID(role)
		}
		if op.Do == "write" {
			m.From = op.Who
		}
		return boardtest.Result{Text: "ok"}, b.office.SendTx(tx, m)
	case "claim":
		m, ok, err := board.Claim(tx, b.who(run, op))
		if !ok {
			m.ID = "none"
		}
		return boardtest.Result{Text: string(m.ID)}, err
	}
	ms, err := board.Messages(tx, run)
	var out []string
	for _, m := range ms {
		ds, err := board.Deliveries(tx, run, m.ID)
		if err != nil {
			return boardtest.Result{}, err
		}
		for _, d := range ds {
			out = append(out, fmt.Sprint(m.ID, ":", d.Agent, ":", d.Status))
		}
	}
	return boardtest.Result{Text: strings.Join(out, " ")}, err
}
