// Package lsp asks language servers what names mean: where a symbol is defined and used, what
// a renaming changes, what is wrong with a file. It speaks the Language Server Protocol over
// a pipe, and starts no process: who makes a Workspace hands in how.
//
// A server runs code of the repository and is from outside, whoever installed it. What it says
// is bounded: each message, each wait, how much it may say to one question. Of the files it
// names only those below the checkout are heard of; it gets nothing that it asks for and
// changes no file: what a renaming comes to is given back as text.
//
// Each checkout has servers of its own, for each shows another state of the files; a Keeper
// bounds how many there are together, and ends the one that has waited longest.
package lsp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"agency/internal/code"
)

// Bounds.
const (
	startTime = 30 * time.Second
	maxDeaths = 3 // of a server on one checkout; after that it is not begun again
)

// ErrAbsent is that of a language of which the sandbox has no server, or none that runs yet.
var ErrAbsent = errors.New("there is no language server")

// Process is a server on standard input and output. The file is its standard input. Programs
// are those in PATH that Argv looks for.
type Process struct {
	Argv, Programs []string
	Env            []string
	Stdin          *os.File
	Stdout         io.Writer
}

// Start runs a process in the sandbox of a checkout, which it cannot write, from start to end.
// It closes Stdin.
type Start func(context.Context, Process) (exitCode int, err error)

// notFound is how a shell ends that finds no program.
const notFound = 127

// Keeper bounds the servers of many checkouts. It is safe for concurrent use.
type Keeper struct {
	most int

	mu      sync.Mutex
	running []*server       // the longest unused first
	absent  map[string]bool // kinds that the sandbox has not
}

// NewKeeper makes one for at most so many servers at one time.
func NewKeeper(most int) *Keeper { return &Keeper{most: most, absent: map[string]bool{}} }

// lacks tells whether no server of a kind is installed.
func (k *Keeper) lacks(kind string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.absent[kind]
}

func (k *Keeper) miss(kind string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.absent[kind] = true
}

// enter makes room for a server, by ending the one that nobody has asked for longest.
func (k *Keeper) enter(s *server) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.running = slices.DeleteFunc(k.running, func(o *server) bool { return o == s })
	for i := 0; len(k.running) >= k.most; i++ {
		if i == len(k.running) {
			return fmt.Errorf("%d language servers are at work, the most that may", k.most)
		}
		o := k.running[i]
		select {
		case o.turn <- struct{}{}:
			o.end()
			<-o.turn
			k.running = slices.Delete(k.running, i, i+1)
			i--
		default: // it is being asked
		}
	}
	k.running = append(k.running, s)
	return nil
}

// used makes a server the one that was asked last.
func (k *Keeper) used(s *server) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if i := slices.Index(k.running, s); i >= 0 {
		k.running = append(slices.Delete(k.running, i, i+1), s)
	}
}

func (k *Keeper) leave(s *server) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.running = slices.DeleteFunc(k.running, func(o *server) bool { return o == s })
}

// Workspace is a checkout with its servers. It is safe for concurrent use.
type Workspace struct {
	keeper *Keeper
	at     string
	start  Start
	ctx    context.Context // ends with the workspace
	stop   context.CancelFunc

	mu      sync.Mutex
	closed  bool
	servers map[string]*server
	behind  sync.WaitGroup // what begins while nobody waits
}

// Open makes the workspace of a checkout that servers see at a path. No server begins yet.
func (k *Keeper) Open(at string, start Start) *Workspace {
	w := &Workspace{keeper: k, at: at, start: start, servers: map[string]*server{}}
	w.ctx, w.stop = context.WithCancel(context.Background())
	return w
}

// Close ends the servers and waits until they are gone.
func (w *Workspace) Close() {
	if w == nil {
		return
	}
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.stop()
	w.behind.Wait()
	for _, s := range w.servers {
		s.turn <- struct{}{}
		s.end()
		w.keeper.leave(s)
		<-s.turn
	}
}

// of is the server of a language.
func (w *Workspace) of(l code.Language) (*server, error) {
	k := kindOf(l)
	if w == nil || k == nil || w.keeper.lacks(k.name) {
		return nil, ErrAbsent
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, ErrAbsent
	}
	s := w.servers[k.name]
	if s == nil {
		s = &server{w: w, kind: k, turn: make(chan struct{}, 1)}
		w.servers[k.name] = s
	}
	return s, nil
}

// Ask asks the server of a language, one question after the other, and begins it where none
// runs. read gives the checkout's files as they are, nil for none: what the server was shown
// before is brought up to date with it. The error is ErrAbsent, do's, or says in words why
// the server is of no use.
func (w *Workspace) Ask(ctx context.Context, l code.Language, read func(path string) []byte, do func(context.Context, *Talk) error) error {
	s, err := w.of(l)
	if err != nil {
		return err
	}
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-s.turn }()
	if err := s.ready(ctx); err != nil {
		return err
	}
	err = s.ask(ctx, read, do)
	if s.alive() && errors.Is(ctx.Err(), context.DeadlineExceeded) { // it hangs, and would again
		s.died(err)
	}
	return err
}

// AskWarm is Ask of a server that runs and is not being asked. Where none runs it begins
// behind this call, whose error is ErrAbsent.
func (w *Workspace) AskWarm(ctx context.Context, l code.Language, read func(path string) []byte, do func(context.Context, *Talk) error) error {
	s, err := w.of(l)
	if err != nil {
		return err
	}
	select {
	case s.turn <- struct{}{}:
	default:
		return ErrAbsent
	}
	if s.alive() {
		defer func() { <-s.turn }()
		return s.ask(ctx, read, do)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || s.deaths >= maxDeaths {
		<-s.turn
		return ErrAbsent
	}
	w.behind.Go(func() {
		defer func() { <-s.turn }()
		_ = s.ready(w.ctx) // who asks next hears of it
	})
	return ErrAbsent
}

// server is one of a checkout. What is in it belongs to who holds its turn.
type server struct {
	w    *Workspace
	kind *kind
	turn chan struct{}

	line   *conn // nil: none runs
	deaths int
	why    error // of the last
	docs   map[string]*doc
	seen   map[string]sum
}

func (s *server) alive() bool { return s.line != nil && s.line.err() == nil }

// end ends the process. Nothing is lost by it: a server keeps nothing.
func (s *server) end() {
	if s.line != nil {
		s.line.close()
	}
	s.line, s.docs, s.seen = nil, map[string]*doc{}, map[string]sum{}
}

// ready begins the process where none runs.
func (s *server) ready(ctx context.Context) error {
	if s.alive() {
		return nil
	}
	if s.line != nil {
		s.died(s.line.err())
	}
	if s.deaths >= maxDeaths {
		return fmt.Errorf("the language server %s ended %d times: %w", s.kind.name, s.deaths, s.why)
	}
	if err := s.w.keeper.enter(s); err != nil {
		return err
	}
	err := s.begin(ctx)
	var code exited
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		s.end()
		err = context.Cause(ctx)
	case errors.As(err, &code): // of itself, and it would again
		s.end()
		s.w.keeper.miss(s.kind.name)
		if err = ErrAbsent; code != notFound {
			err = fmt.Errorf("the language server %s did not begin, and is not asked again: %w", s.kind.name, code)
		}
	default:
		s.died(err)
		err = fmt.Errorf("the language server %s did not begin: %w", s.kind.name, err)
	}
	s.w.keeper.leave(s)
	return err
}

func (s *server) died(err error) {
	s.end()
	s.deaths++
	s.why = err
}

func (s *server) ask(ctx context.Context, read func(string) []byte, do func(context.Context, *Talk) error) error {
	s.w.keeper.used(s)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.w.ctx, cancel)()
	t := &Talk{server: s, read: read}
	err := t.refresh(ctx)
	if err == nil {
		err = do(ctx, t)
	}
	if gone := s.line.err(); gone != nil {
		s.died(gone)
		return fmt.Errorf("the language server %s ended: %w", s.kind.name, gone)
	}
	return err
}
