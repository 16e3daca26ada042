package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"agency/bench/peer"
	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/ui/tui"
	"agency/internal/ui/tui/app"
)

const (
	watchedPlan   = 1000
	watchedRate   = 200 // events a second
	watchedWarm   = 2 * time.Second
	watchedFor    = 20 * time.Second // in which all of the run is asked for once
	watchedAim    = 0.05             // of a core
	watchedWidth  = 160
	watchedHeight = 50
)

// watchRow is what the terminal application takes of a core while it shows a run of
// a thousand contracts of which a hundred are at work, over the host's socket and on
// a terminal of its own: a process that is agency watch without its command line.
func watchRow() row {
	return row{figures: []string{"watch/1000"}, measure: func(ctx context.Context, b *bench) (out []figure, err error) {
		l, err := b.lookedAt(ctx)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, l.close()) }()
		if _, err := l.fill(ctx, watchedPlan); err != nil {
			return nil, err
		}
		note := ""
		s, err := b.rounds(ctx, contender{"watch", func(ctx context.Context) (float64, error) {
			r, err := b.watched(ctx, l)
			note = r.Note
			return r.CPU.Seconds() / r.Wall.Seconds(), err
		}})
		if err != nil {
			return nil, err
		}
		return []figure{{"watch/1000", median(s["watch"]) / watchedAim, atMost(1), []string{s.raw("watch", 0.01, "% of a core"), note}}}, nil
	}}
}

// watched has the application watch a run in which much is done. The terminal is of this
// process, so that what it takes in is not counted as the application's work.
func (b *bench) watched(ctx context.Context, l *looked) (r peer.Report, err error) {
	own, screen, err := openTerminal(watchedWidth, watchedHeight)
	if err != nil {
		return r, err
	}
	var drawn, writes atomic.Int64
	go func() { // ends with the terminal
		for buf := make([]byte, 1<<16); ; {
			n, err := own.Read(buf)
			if drawn.Add(int64(n)); err != nil {
				return
			}
			writes.Add(1)
		}
	}()
	over, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- l.chatter(over) }()
	r, err = b.again(ctx, "watch", peer.Job{URL: l.dir, Terminal: screen.Name()})
	stop()
	err = errors.Join(err, <-done, screen.Close(), own.Close())
	frames := float64(writes.Load()) / (watchedWarm + watchedFor).Seconds()
	r.Note = fmt.Sprintf("%.3g writes a second of %d bytes", frames, drawn.Load()/max(1, writes.Load()))
	if err == nil && frames < 5 {
		err = fmt.Errorf("it drew %s", r.Note)
	}
	return r, err
}

// chatter tells what the agents at work do, until the context ends.
func (l *looked) chatter(ctx context.Context) error {
	tick := time.NewTicker(time.Second / watchedRate)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		i := watchedPlan/2 + n%mailMany
		ev := toolEvent(n/mailMany, agentOf(i%mailMany), agency.ContractID(fmt.Sprint("c", i)))
		if err := l.log.Append(ctx, ev); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

// watchContender shows the run whose host listens in the folder of job.URL on job's
// terminal, and counts from when it has drawn for a while.
func watchContender(ctx context.Context, job peer.Job) (report peer.Report, err error) {
	screen, err := os.OpenFile(job.Terminal, os.O_RDWR, 0)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, screen.Close()) }()
	c := api.Dial(socketIn(job.URL), tokenIn(job.URL))
	defer c.Close()
	over, cancel := context.WithCancel(ctx)
	defer cancel()
	shown := make(chan error, 1)
	go func() {
		shown <- app.Run(over, app.Options{
			Looker: lookOver{c}, Steerer: nobody{}, Repo: "repo", Run: benchRun, Style: tui.Style{Color: true}, Now: time.Now, Verbose: true,
		}, app.Terminal{In: screen, Out: screen, Env: []string{"TERM=xterm-256color"}})
	}()
	if err := pause(ctx, watchedWarm); err != nil {
		return report, err
	}
	meter := peer.NewMeter(job)
	meter.Start()
	err = pause(ctx, watchedFor)
	meter.Stop(0)
	report = meter.Report()
	cancel()
	if ended := <-shown; err == nil && !errors.Is(ended, context.Canceled) {
		err = ended
	}
	return report, err
}

// lookOver looks by a client.
type lookOver struct{ c *api.Client }

func (l lookOver) Look(_ context.Context, fn func(api.View, bool) error) error { return fn(l.c, true) }

// nobody steers.
type nobody struct{ app.Steerer }
