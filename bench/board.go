package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/board/state"
	"agency/internal/event"
	"agency/internal/lease"
	"agency/internal/store"
)

const (
	mailMany   = 100 // agents at once
	mailClaims = 400
)

// mailRow compares messages of agents, with their checks and events, with the
// plain form of the same send, one transaction a message, and with NATS
// JetStream.
func mailRow() row {
	return row{
		figures: []string{"board/64-vs-plain", "board/64-vs-nats", "board/lone-vs-plain"},
		measure: measureMail,
	}
}

func measureMail(ctx context.Context, b *bench) ([]figure, error) {
	own, _, err := modules(ctx)
	if err != nil {
		return nil, err
	}
	nats, err := b.build(ctx, filepath.Join(own, "natspeer"), ".", "natspeer")
	if err != nil {
		return nil, err
	}
	dir, err := b.folder()
	if err != nil {
		return nil, err
	}
	plain, err := openPlainMail(ctx, filepath.Join(dir, "plain.db"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = plain.db.Close() }() // nothing is kept
	s, err := b.rounds(
		ctx,
		contender{"board-64", func(ctx context.Context) (float64, error) { return b.mailRate(ctx, crowdSenders, crowdMessages) }},
		contender{"plain-64", func(ctx context.Context) (float64, error) {
			return rate(ctx, crowdSenders, crowdMessages/4, plain.send)
		}},
		contender{"nats-64", func(ctx context.Context) (float64, error) {
			return b.nats(ctx, nats, "send", crowdSenders, crowdMessages/4)
		}},
		contender{"board-lone", func(ctx context.Context) (float64, error) { return b.mailRate(ctx, 1, loneMessages) }},
		contender{"plain-lone", func(ctx context.Context) (float64, error) { return rate(ctx, 1, loneMessages, plain.send) }},
	)
	if err != nil {
		return nil, err
	}
	raw := func(names ...string) (out []string) {
		for _, n := range names {
			out = append(out, s.raw(n, 1, "/s"))
		}
		return out
	}
	return []figure{
		{"board/64-vs-plain", s.ratio("board-64", "plain-64"), atLeast(10), raw("board-64", "plain-64")},
		{"board/64-vs-nats", s.ratio("board-64", "nats-64"), atLeast(6), raw("board-64", "nats-64")},
		{"board/lone-vs-plain", s.ratio("board-lone", "plain-lone"), atLeast(0.8), raw("board-lone", "plain-lone")},
	}, nil
}

// nats runs the peer and gives the rate that it prints.
func (b *bench) nats(ctx context.Context, bin, job string, n ...int) (float64, error) {
	dir, err := b.folder()
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // the whole scratch folder goes at the end
	args := []string{job, dir}
	for _, v := range n {
		args = append(args, strconv.Itoa(v))
	}
	var errs bytes.Buffer
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("natspeer: %w: %s", err, bytes.TrimSpace(errs.Bytes()))
	}
	return strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
}

// post is a board with agents a0, a1, … on a store of its own.
type post struct {
	db *store.DB
	*board.Board
}

func (b *bench) post(ctx context.Context, agents int) (p post, err error) {
	dir, err := b.folder()
	if err != nil {
		return p, err
	}
	// As the host opens its store. The plain contender's file lives through all
	// rounds, so that its log has its full length by itself.
	p.db, err = store.Open(ctx, store.Options{
		LongLog: true, Path: filepath.Join(dir, "board.db"), Sets: []store.Set{event.Migrations(), lease.Migrations(), board.Migrations(), state.Migrations()},
	})
	if err != nil {
		return p, err
	}
	if p.Board, err = board.Open(ctx, p.db, board.Options{MaxQueue: 1 << 30}); err != nil {
		return p, errors.Join(err, p.db.Close())
	}
	return p, p.db.Write(ctx, func(tx *store.Tx) error {
		for i := range agents {
			if err := board.Join(tx, board.Agent{Run: benchRun, ID: agentOf(i), Role: "scaffolder"}); err != nil {
				return err
			}
		}
		return nil
	})
}

func (p post) close() error { return errors.Join(p.Close(), p.db.Close()) }

func agentOf(i int) agency.AgentID { return agency.AgentID("a" + strconv.Itoa(i)) }

func recipientOf(i int) board.Recipient {
	return board.Recipient{Run: benchRun, Agent: agentOf(i), Role: "scaffolder", Session: "s"}
}

func letter(id string, from, to int, body string) agency.Message {
	return agency.Message{
		ID: agency.MessageID(id), RunID: benchRun, From: string(agentOf(from)), To: string(agentOf(to)),
		Type: agency.MessageTaskProgress, Body: body,
	}
}

// mailRate is messages a second of so many senders, each to its own recipient,
// who is not there.
func (b *bench) mailRate(ctx context.Context, senders, each int) (r float64, err error) {
	p, err := b.post(ctx, 2*senders)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	sent := make([]int, senders)
	return rate(ctx, senders, each, func(ctx context.Context, i int, body string) error {
		sent[i]++
		return p.Send(ctx, letter(fmt.Sprintf("m%d-%d", i, sent[i]), i, senders+i, body))
	})
}

// backlogRow compares claiming the next message by priority out of a million
// with claiming it out of a thousand.
func backlogRow() row {
	return row{figures: []string{"board/claim-1M-vs-1k"}, measure: func(ctx context.Context, b *bench) ([]figure, error) {
		var posts []post
		for _, pending := range []int{1000, 1_000_000} {
			p, err := b.post(ctx, 2)
			if err != nil {
				return nil, err
			}
			defer func() { _ = p.close() }() // nothing is kept
			if err := p.fill(ctx, pending); err != nil {
				return nil, err
			}
			posts = append(posts, p)
		}
		s, err := b.rounds(ctx, contender{"1k", posts[0].claims}, contender{"1M", posts[1].claims})
		if err != nil {
			return nil, err
		}
		return []figure{{"board/claim-1M-vs-1k", s.ratio("1M", "1k"), atMost(1.5), []string{
			s.raw("1k", 1, "us, median"), s.raw("1M", 1, "us, median"),
		}}}, nil
	}}
}

func (p post) fill(ctx context.Context, n int) error {
	for at := 0; at < n; at += 1000 {
		err := p.db.Write(ctx, func(tx *store.Tx) error {
			for i := at; i < at+1000; i++ {
				m := letter("m"+strconv.Itoa(i), 0, 1, "text")
				m.Priority = i * 7 % 100
				if err := p.SendTx(tx, m); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// claims gives the median time of a claim in microseconds. What is claimed is
// put back, so that the backlog stays what it is.
func (p post) claims(ctx context.Context) (float64, error) {
	var took []float64
	who := recipientOf(1)
	for range mailClaims {
		begun := time.Now()
		err := p.db.Write(ctx, func(tx *store.Tx) error {
			_, _, err := board.Claim(tx, who)
			return err
		})
		took = append(took, float64(time.Since(begun))/float64(time.Microsecond))
		if err == nil {
			err = p.db.Write(ctx, func(tx *store.Tx) error { return board.ReturnAll(tx, who.Run) })
		}
		if err != nil {
			return 0, err
		}
	}
	return median(took), nil
}

// manyRow is what fails when a hundred agents write and read at once.
func manyRow() row {
	return row{figures: []string{"board/agents-100"}, cheap: true, measure: func(ctx context.Context, b *bench) ([]figure, error) {
		failures, err := b.many(ctx)
		return []figure{{"board/agents-100", float64(failures), atMost(0), []string{fmt.Sprintf("%d failures", failures)}}}, err
	}}
}

// many lets a hundred agents each write to the next and read what they get.
func (b *bench) many(ctx context.Context) (failures int, err error) {
	const each = 20
	p, err := b.post(ctx, mailMany)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	var mu sync.Mutex
	var all sync.WaitGroup
	note := func(err error) {
		if err != nil {
			mu.Lock()
			defer mu.Unlock()
			failures++
		}
	}
	for i := range mailMany {
		all.Go(func() {
			for n := range each {
				note(p.Send(ctx, letter(fmt.Sprintf("m%d-%d", i, n), i, (i+1)%mailMany, "text")))
			}
		})
		all.Go(func() {
			for n := 0; n < each && ctx.Err() == nil; {
				if !p.Waiting(recipientOf(i)) {
					runtime.Gosched()
					continue
				}
				note(p.db.Write(ctx, func(tx *store.Tx) error {
					ms, err := board.ClaimAll(tx, recipientOf(i), each)
					for _, m := range ms {
						err = errors.Join(err, board.MarkRead(tx, recipientOf(i), m.ID))
					}
					n += len(ms)
					return err
				}))
			}
		})
	}
	all.Wait()
	return failures, nil
}
