package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/openai/openai-go/v3"

	"agency/bench/peer"
)

// bareContender is what one writes in an afternoon: ask, read the file, commit
// a row that holds the turn, go on.
func bareContender(ctx context.Context, job peer.Job) (peer.Report, error) {
	return bare(ctx, job, false)
}

// bareWholeContender is the same with answers that are not streamed.
func bareWholeContender(ctx context.Context, job peer.Job) (peer.Report, error) {
	return bare(ctx, job, true)
}

func bare(ctx context.Context, job peer.Job, whole bool) (report peer.Report, err error) {
	chat, err := peer.NewChat(job)
	if err != nil {
		return report, err
	}
	chat.Whole = whole
	if err := peer.WriteFiles(job.Dir, job.Turns, 1000); err != nil {
		return report, err
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(job.Dir, "bare.db")+pragmas)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, "CREATE TABLE turn (session INTEGER, n INTEGER, doc TEXT NOT NULL, PRIMARY KEY (session, n))"); err != nil {
		return report, err
	}
	insert, err := db.PrepareContext(ctx, "INSERT INTO turn (session, n, doc) VALUES (?, ?, ?)")
	if err != nil {
		return report, err
	}
	m := peer.NewMeter(job)
	for n := range job.Sessions {
		b := bareLoop{chat: chat, dir: job.Dir, insert: insert, session: n}
		if n > 0 {
			b.meter = m
		}
		if err := b.run(ctx, job.Turns); err != nil {
			return report, err
		}
	}
	return m.Report(), nil
}

type bareLoop struct {
	chat     *peer.Chat
	dir      string
	insert   *sql.Stmt
	session  int
	meter    *peer.Meter // nil: not counted
	messages []openai.ChatCompletionMessageParamUnion
}

func (b *bareLoop) run(ctx context.Context, turns int) error {
	b.messages = append(b.messages, openai.SystemMessage(b.chat.System), openai.UserMessage(b.chat.First))
	for n := 1; n <= turns; n++ {
		if err := b.turn(ctx, n); err != nil {
			return fmt.Errorf("turn %d: %w", n, err)
		}
		if b.meter != nil {
			count(b.meter, n, turns)
		}
	}
	return nil
}

func (b *bareLoop) turn(ctx context.Context, n int) error {
	answer, err := b.chat.Ask(ctx, b.messages)
	if err != nil {
		return err
	}
	m := answer.Choices[0].Message
	grown := []openai.ChatCompletionMessageParamUnion{m.ToParam()}
	if len(m.ToolCalls) == 0 {
		return errors.New("the answer calls no tool")
	}
	for _, call := range m.ToolCalls {
		var args struct {
			Path string `json:"path"`
		}
		if err := json.Unmarshal([]byte(call.Function.Arguments), &args); err != nil {
			return err
		}
		text, err := os.ReadFile(filepath.Join(b.dir, args.Path))
		if err != nil {
			return err
		}
		grown = append(grown, openai.ToolMessage(string(text), call.ID))
	}
	doc, err := json.Marshal(grown)
	if err != nil {
		return err
	}
	b.messages = append(b.messages, grown...)
	_, err = b.insert.ExecContext(ctx, b.session, n, string(doc))
	return err
}
