package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"agency/internal/store"

	_ "modernc.org/sqlite" // the plain contender's driver, the same as the store's
)

const (
	crowdSenders  = 64
	crowdMessages = 60 // a sender
	loneMessages  = 400
	messageBytes  = 240
)

// durableRow compares messages a second: through the store, whose senders
// share commits, and with database/sql over the same driver and the same
// pragmas, one transaction a message.
func durableRow() row {
	return row{
		figures: []string{"durable/64-vs-plain", "durable/64-vs-lone", "durable/lone-vs-plain"},
		cheap:   true, measure: measureDurable,
	}
}

const insertMessage = "INSERT INTO message (sender, body) VALUES (?, ?)"

func measureDurable(ctx context.Context, b *bench) ([]figure, error) {
	dir, err := b.folder()
	if err != nil {
		return nil, err
	}
	db, err := store.Open(ctx, store.Options{LongLog: true, Path: filepath.Join(dir, "ours.db"), Sets: []store.Set{ownSet()}})
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }() // nothing is kept
	plain, err := openPlain(ctx, filepath.Join(dir, "plain.db"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = plain.db.Close() }()
	ours := func(ctx context.Context, sender int, body string) error {
		return db.Write(ctx, func(tx *store.Tx) error {
			_, err := tx.Exec(insertMessage, sender, body)
			return err
		})
	}
	s, err := b.rounds(
		ctx,
		contender{"ours-64", func(ctx context.Context) (float64, error) { return rate(ctx, crowdSenders, crowdMessages, ours) }},
		contender{"plain-64", func(ctx context.Context) (float64, error) {
			return rate(ctx, crowdSenders, crowdMessages/4, plain.send)
		}},
		contender{"ours-lone", func(ctx context.Context) (float64, error) { return rate(ctx, 1, loneMessages, ours) }},
		contender{"plain-lone", func(ctx context.Context) (float64, error) { return rate(ctx, 1, loneMessages, plain.send) }},
	)
	if err != nil {
		return nil, err
	}
	unit := "messages/s"
	crowd, crowdPlain := s.raw("ours-64", 1, unit), s.raw("plain-64", 1, unit)
	lone, lonePlain := s.raw("ours-lone", 1, unit), s.raw("plain-lone", 1, unit)
	return []figure{
		{"durable/64-vs-plain", s.ratio("ours-64", "plain-64"), atLeast(10), []string{crowd, crowdPlain}},
		{"durable/64-vs-lone", s.ratio("ours-64", "ours-lone"), atLeast(10), []string{crowd, lone}},
		{"durable/lone-vs-plain", s.ratio("ours-lone", "plain-lone"), atLeast(0.8), []string{lone, lonePlain}},
	}, nil
}

// rate is messages a second of so many senders with so many messages each.
func rate(ctx context.Context, senders, each int, send func(context.Context, int, string) error) (float64, error) {
	body := strings.Repeat("m", messageBytes)
	errs := make([]error, senders)
	var all sync.WaitGroup
	begun := time.Now()
	for i := range senders {
		all.Go(func() {
			for range each {
				if errs[i] = send(ctx, i, body); errs[i] != nil {
					return
				}
			}
		})
	}
	all.Wait()
	return float64(senders*each) / time.Since(begun).Seconds(), errors.Join(errs...)
}

// plainDB is one connection with one prepared statement, each execution a
// transaction: the most that a sender can do alone.
type plainDB struct {
	db     *sql.DB
	insert *sql.Stmt
}

// pragmas are the store's own.
const pragmas = "?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=busy_timeout(15000)&_txlock=immediate"

func openPlain(ctx context.Context, path string) (*plainDB, error) {
	db, err := sql.Open("sqlite", "file:"+path+pragmas)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if _, err = db.ExecContext(ctx, messageTable); err == nil {
		var insert *sql.Stmt
		if insert, err = db.PrepareContext(ctx, insertMessage); err == nil {
			return &plainDB{db, insert}, nil
		}
	}
	return nil, fmt.Errorf("plain database: %w", errors.Join(err, db.Close()))
}

func (p *plainDB) send(ctx context.Context, sender int, body string) error {
	_, err := p.insert.ExecContext(ctx, sender, body)
	return err
}
