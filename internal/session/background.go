package session

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/sandbox"
	"agency/internal/text"
	"agency/internal/tool"
)

// longestGoing is above what any session may take.
const longestGoing = 7 * 24 * time.Hour

// maxBackground is how many commands of a session go on at one time.
const maxBackground = 4

// Background are the commands of a part of a session that go on while it does other things:
// servers to be tested, watchers. They share the network with the commands that the agent
// runs meanwhile, and cannot write the checkout (sandbox.Company), so that it may be taken
// into a tree and changed beside them. Checks and verifications run elsewhere and see
// nothing of them. They end with the part, and so with the host, at the latest.
type Background struct {
	// Secrets takes those of the host out of what comes in pieces; nil: there are none.
	Secrets func() *agency.Redactor

	sh      shell
	company sandbox.Company
	mu      sync.Mutex
	of      []*going // as they were started
}

// going is a command that goes on, or did.
type going struct {
	id, line string
	stop     context.CancelFunc
	wrote    *latest
	done     chan struct{} // closed when nothing of it is left
	res      sandbox.Result
	err      error
}

func (g *going) ended() bool {
	select {
	case <-g.done:
		return true
	default:
		return false
	}
}

// start starts a line under an id.
func (b *Background) start(ctx context.Context, id, line string) error {
	if needs, err := b.sh.o.Checker.Needs(ctx, b.sh.subject(), commandOf(line)); err != nil {
		return err
	} else if len(needs) > 0 {
		return agency.Errorf(agency.KindInvalid, "it needs %s, which it would keep from others: run it to its end", strings.Join(needs, ", "))
	}
	place, err := b.sh.o.Workspace.Place()
	if err != nil {
		return err
	}
	own, stop := context.WithCancel(context.WithoutCancel(ctx)) // until it is stopped
	g := &going{id: id, line: line, stop: stop, wrote: &latest{secret: b.Secrets}, done: make(chan struct{})}
	if err := b.add(g); err != nil {
		stop()
		return err
	}
	begun := make(chan struct{})
	shell, _ := bash()
	go func() { // is waited for by close
		defer close(g.done)
		defer stop()
		g.res, g.err = b.sh.run(own, place, "", "", Process{
			Argv: []string{shell, "-c", line}, Timeout: longestGoing, both: g.wrote, beside: &b.company, begun: func() { close(begun) },
		})
	}()
	select {
	case <-begun:
		return nil
	case <-g.done:
	case <-ctx.Done():
		stop()
		<-g.done
	}
	if g.err == nil {
		return context.Cause(ctx)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.of = slices.DeleteFunc(b.of, func(o *going) bool { return o == g })
	return g.err
}

// add counts one more.
func (b *Background) add(g *going) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := len(b.running()); n >= maxBackground {
		return agency.Errorf(agency.KindConflict, "%d commands go on already, the most that may: %s; stop one first", n, tool.Joined(b.running(), ", "))
	}
	b.of = append(b.of, g)
	return nil
}

// running are the ids of those that go on; b.mu is held.
func (b *Background) running() (ids []string) {
	for _, g := range b.of {
		if !g.ended() {
			ids = append(ids, g.id)
		}
	}
	return ids
}

// lines are those that go on, for who has to be told when they have ended.
func (b *Background) lines() (out []string) {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, g := range b.of {
		if !g.ended() {
			out = append(out, fmt.Sprintf("%s (`%s`)", g.id, text.OneLine(g.line, 100)))
		}
	}
	return out
}

// output is what a command wrote since it was asked for last, ended first where it is to be.
func (b *Background) output(id string, stop bool) (tool.Going, error) {
	g, err := b.find(id)
	if err != nil {
		return tool.Going{}, err
	}
	if stop {
		g.stop()
		<-g.done
	}
	ended := g.ended() // before what it wrote is taken
	out := tool.Going{Ended: ended}
	out.Text, out.Dropped, out.Held = g.wrote.take(ended)
	switch {
	case !ended:
	case g.err != nil:
		out.Cause = g.err.Error()
	default:
		out.ExitCode, out.Cause = g.res.ExitCode, causeOf(g.res)
	}
	return out, nil
}

// find finds one, the last that was started under the id.
func (b *Background) find(id string) (*going, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, g := range slices.Backward(b.of) {
		if g.id == id {
			return g, nil
		}
	}
	return nil, agency.Errorf(agency.KindNotFound, "there is no background command %q; those that go on: %s", text.Head(id, 40), cmp.Or(tool.Joined(b.running(), ", "), "none"))
}

// close ends all of them and waits until nothing is left.
func (b *Background) close() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, g := range b.of {
		g.stop()
	}
	for _, g := range b.of {
		<-g.done
	}
}

// commandOf is what an agent typed as a command.
func commandOf(line string) check.Command {
	return check.Command{Kind: agency.CheckCommand, Line: line}
}

// commands are those of an agent as a call of a tool reaches them: the one that it starts has
// its id, which is the same when the call runs again.
type commands struct {
	tool.Shell
	on *Background
	id string
}

func (c commands) Start(ctx context.Context, line string) (string, error) {
	return c.id, c.on.start(ctx, c.id, line)
}

func (c commands) Output(_ context.Context, id string) (tool.Going, error) {
	return c.on.output(id, false)
}

func (c commands) Stop(_ context.Context, id string) (tool.Going, error) {
	return c.on.output(id, true)
}

// latest keeps the end of what a command writes until it is asked for, in memory and without
// secrets, also those that come in two pieces.
type latest struct {
	secret func() *agency.Redactor // nil: there are none

	mu      sync.Mutex
	rest    []byte // that may begin a secret
	kept    []byte
	dropped int64
}

// restShort is what a Redactor holds back of any text.
const restShort = 3

func (l *latest) redactor() *agency.Redactor {
	if l.secret == nil {
		return nil
	}
	return l.secret()
}

// Write is for io.Writer; it never fails.
func (l *latest) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	clean, rest := l.redactor().Ahead(append(l.rest, p...))
	l.keep(clean)
	if l.rest = bytes.Clone(rest); len(rest) > tool.MaxShown { // all of it might be a secret
		l.flush()
	}
	return len(p), nil
}

func (l *latest) flush() {
	l.keep(l.redactor().Bytes(l.rest))
	l.rest = nil
}

func (l *latest) keep(text []byte) {
	l.kept = append(l.kept, text...)
	if over := len(l.kept) - tool.MaxShown; over > 0 {
		l.dropped += int64(over)
		l.kept = bytes.Clone(l.kept[over:])
	}
}

// take gives what is kept, in whole lines where more may come, and forgets it. held is how much
// of a line stays back.
func (l *latest) take(all bool) (text []byte, dropped int64, held int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if all || len(l.rest) <= restShort && bytes.HasSuffix(l.rest, []byte("\n")) {
		l.flush()
	}
	n := len(l.kept)
	if !all {
		n = bytes.LastIndexByte(l.kept, '\n') + 1
	}
	text, dropped = l.kept[:n], l.dropped
	l.kept, l.dropped = bytes.Clone(l.kept[n:]), 0
	return text, dropped, len(l.kept) + len(l.rest)
}
