package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"agency/bench/peer"
	"agency/internal/daemon"
	"agency/internal/session"
	"agency/internal/tool"
)

// talking has every agent read a note a turn, and then report.
const talking = `version: 1
name: bench
rules:
  - when: {turn: "1-%d"}
    text: I read note ${{turn}} now.
    calls: [{tool: mcp__notes__read, args: {note: "${{turn}}"}}]
  - calls: [{tool: final_report, args: {report: done}}]
`

// advisingRow is crowdRow with a composition: a thousand advisors of one agent, all of which
// are held in the request after their last read.
func advisingRow() row {
	return row{figures: []string{"pattern/advisors-1000-resident"}, measure: func(ctx context.Context, b *bench) ([]figure, error) {
		gate := &gate{want: crowdSessions, all: make(chan struct{}), open: make(chan struct{})}
		srv, err := serve(fmt.Sprintf(talking, crowdTurns), false, gate.wrap)
		if err != nil {
			return nil, err
		}
		defer func() { _ = srv.close() }() // nothing depends on it any more
		r, err := b.again(ctx, "advising", peer.Job{URL: srv.url + "/v1", Sessions: crowdSessions, Turns: crowdTurns})
		each := float64(r.Resident) / crowdSessions
		return []figure{{"pattern/advisors-1000-resident", each / crowdAim, atMost(1), []string{
			fmt.Sprintf("%.1f KB an agent, %.1f after a collection", each/1024, float64(r.Settled)/crowdSessions/1024),
			r.Memory,
			fmt.Sprintf("%.1f s of wall, %.1f s of CPU for %d turns", r.Wall.Seconds(), r.CPU.Seconds(), r.Turns),
		}}}, err
	}}
}

// advisingContender has the job's agents advise one, all at one time.
func advisingContender(ctx context.Context, job peer.Job) (report peer.Report, err error) {
	daemon.TuneMemory() // as the host does
	model, err := openaiModel(job.URL)
	if err != nil {
		return report, err
	}
	k, err := openCompany(ctx, job.Dir, fanOf(job.Sessions), model)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, k.close()) }()
	note := strings.Repeat("the quick brown fox jumps over the lazy dog\n", 2000/44)
	read := tool.Outside("mcp__notes__read", "Reads a note.", json.RawMessage(`{"type":"object"}`), func(context.Context, json.RawMessage) (tool.Result, error) {
		return tool.Result{Text: note}, nil
	})
	k.tools = func() *session.Toolset {
		set := session.NoCheckout()
		set.Outside = []tool.Tool{read}
		return set
	}
	debug.FreeOSMemory()
	before, err := resident()
	if err != nil {
		return report, err
	}
	m := peer.NewMeter(peer.Job{}) // the job's profile is of the heap here
	m.Start()
	played := make(chan error, 1)
	go func() { played <- k.play(ctx) }() // the end of this function waits for it
	grown, settled, memory, lookErr := look(job, before)
	err = errors.Join(lookErr, <-played)
	m.Stop(job.Sessions*(job.Turns+1) + 1)
	report = m.Report()
	report.Resident, report.Settled, report.Memory = grown, settled, memory
	return report, err
}
