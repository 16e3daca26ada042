package main

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"
)

//go:embed plainmail.sql
var plainMail string

// plainMailDB is the obvious form of a mailbox: a table of messages with the
// indexes that its readers need, and one transaction of one prepared statement
// a message. It checks nothing and logs nothing.
type plainMailDB struct {
	db     *sql.DB
	insert *sql.Stmt
	sent   atomic.Int64
}

func openPlainMail(ctx context.Context, path string) (*plainMailDB, error) {
	db, err := sql.Open("sqlite", "file:"+path+pragmas)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if _, err = db.ExecContext(ctx, plainMail); err == nil {
		var insert *sql.Stmt
		if insert, err = db.PrepareContext(ctx, `INSERT INTO messages
(id, run_id, from_agent_id, from_role, to_agent_id, message_type, body, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`); err == nil {
			return &plainMailDB{db: db, insert: insert}, nil
		}
	}
	return nil, fmt.Errorf("plain mailbox: %w", errors.Join(err, db.Close()))
}

func (p *plainMailDB) send(ctx context.Context, sender int, body string) error {
	m := letter("m"+strconv.FormatInt(p.sent.Add(1), 10), sender, crowdSenders+sender, body)
	_, err := p.insert.ExecContext(ctx, string(m.ID), string(m.RunID), m.From, "scaffolder", m.To, string(m.Type), m.Body,
		time.Now().UnixMicro())
	return err
}
