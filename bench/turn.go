package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"agency/bench/peer"
)

const (
	turnSessions = 5  // of which the first is not counted
	turnTurns    = 30 // calls of read_file a session
)

// turnScript lets a model read one file a turn and end after the last.
func turnScript(turns int) string {
	return fmt.Sprintf(`version: 1
name: turns
rules:
  - name: read
    when: {turn: "1-%d"}
    text: I read note ${{turn}} now.
    calls:
      - tool: read_file
        args: {path: 'notes/n${{turn}}.txt'}
  - name: end
    when: {turn: "%d", offers: signal_complete}
    calls:
      - tool: signal_complete
        args: {evidence: [{criterion: goal, kind: file, ref: notes/n1.txt}], files_modified: []}
  - name: over
    text: done
`, turns, turns+1)
}

// turnRow compares the CPU of a turn that reads a file: the product's session,
// durable; a bare loop over the same SDK that commits a row a turn; adk-go with
// its SQLite sessions. -v also shows the bare loop with answers that come whole
// instead of streamed. All send the same prompt and tools to the same server,
// which runs in this process and is not counted.
func turnRow() row {
	return row{
		figures: []string{"turn/cpu-vs-bare", "turn/cpu-vs-adk"},
		cheap:   false, measure: measureTurn,
	}
}

func measureTurn(ctx context.Context, b *bench) ([]figure, error) {
	srv, err := serve(turnScript(turnTurns), true, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = srv.close() }() // nothing depends on it any more
	job := peer.Job{URL: srv.url + "/v1", Sessions: 1, Turns: turnTurns}
	if _, err := b.again(ctx, "ours", job); err != nil { // its first request is the peers' prompt
		return nil, err
	}
	job.Opening = json.RawMessage(srv.Recorder().Records()[0].Body)
	job.Sessions = turnSessions
	if b.profiles != "" {
		job.Sessions *= 10
	}
	own, _, err := modules(ctx)
	if err != nil {
		return nil, err
	}
	adk, err := b.build(ctx, filepath.Join(own, "adkpeer"), ".", "adkpeer")
	if err != nil {
		return nil, err
	}
	cpu := func(run func(context.Context) (peer.Report, error)) func(context.Context) (float64, error) {
		return func(ctx context.Context) (float64, error) {
			r, err := run(ctx)
			if err == nil && r.Turns != (job.Sessions-1)*(turnTurns-1) {
				err = fmt.Errorf("%d turns were counted", r.Turns)
			}
			return float64(r.CPU) / float64(max(1, r.Turns)), err
		}
	}
	s, err := b.rounds(
		ctx,
		contender{"ours", cpu(func(ctx context.Context) (peer.Report, error) { return b.again(ctx, "ours", job) })},
		contender{"bare", cpu(func(ctx context.Context) (peer.Report, error) { return b.again(ctx, "bare", job) })},
		contender{"bare-whole", cpu(func(ctx context.Context) (peer.Report, error) { return b.again(ctx, "bare-whole", job) })},
		contender{"adk", cpu(func(ctx context.Context) (peer.Report, error) { return b.process(ctx, "adk", job, adk) })},
	)
	if err != nil {
		return nil, errors.Join(err, ctx.Err())
	}
	raw := func(name string) string { return s.raw(name, float64(time.Microsecond), "us CPU a turn") }
	return []figure{
		{"turn/cpu-vs-bare", s.ratio("ours", "bare"), atMost(1.5), []string{raw("ours"), raw("bare"), raw("bare-whole")}},
		{"turn/cpu-vs-adk", s.ratio("ours", "adk"), atMost(0.5), []string{raw("ours"), raw("adk")}},
	}, nil
}
