package lsp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"time"
)

// Bounds of a conversation.
const (
	maxSaid     = 128 << 20 // bytes of a server between two questions
	maxMessages = 100_000   // of a server between two questions
	maxQueue    = 1024      // messages that it has not read yet
	maxProgress = 64        // works that it tells of at one time
	maxItems    = 64        // settings that it asks for at one time
)

// conn is a conversation with a process.
type conn struct {
	kind *kind
	out  chan []byte
	stop context.CancelFunc
	// bytes: it counts characters in bytes; pulls: it answers when asked for diagnostics;
	// compiles: it hands questions on to the compiler of TypeScript.
	bytes, pulls, compiles bool
	over                   sync.WaitGroup // the process, and who reads and writes

	mu   sync.Mutex
	why  error // set once it is of no use any more
	gone chan struct{}
	next int
	wait map[string]chan message
	said struct{ bytes, messages int } // since the last question
	heard
}

// heard is what a server has told unasked.
type heard struct {
	works   map[string]bool // that are in progress
	settled bool            // it has said that it is
	news    chan struct{}   // closed at whatever is told
	told    map[string]told // diagnostics by URI, of files that are open
}

// told are the diagnostics of a file as the server published them.
type told struct {
	version *int
	list    []diagnostic
	n       int // how often it did
}

// dial begins a conversation with a process.
func dial(k *kind, at string, start Start) (*conn, error) {
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	said, hears := io.Pipe()
	ctx, stop := context.WithCancel(context.Background()) // ends with close
	c := &conn{
		kind: k, out: make(chan []byte, maxQueue), stop: stop, gone: make(chan struct{}),
		wait: map[string]chan message{}, heard: heard{works: map[string]bool{}, news: make(chan struct{}), told: map[string]told{}},
	}
	c.over.Go(func() {
		code, err := start(ctx, Process{Argv: k.argv(at), Programs: k.programs, Env: k.env, Stdin: theirs, Stdout: hears})
		if err == nil {
			err = exited(code)
		}
		c.fail(err)
		_ = hears.CloseWithError(io.EOF)
	})
	c.over.Go(func() {
		c.read(bufio.NewReaderSize(said, 64<<10))
		_ = said.CloseWithError(io.ErrClosedPipe) // what it still writes goes nowhere
	})
	c.over.Go(func() {
		defer func() { _ = ours.Close() }()
		for {
			select {
			case b := <-c.out:
				if _, err := ours.Write(b); err != nil {
					return // who reads hears of it
				}
			case <-c.gone:
				return
			}
		}
	})
	// A writer that waits for a server which reads nothing is let go.
	context.AfterFunc(ctx, func() { _ = ours.Close() })
	return c, nil
}

// fail ends the conversation: the first reason counts.
func (c *conn) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.why == nil {
		c.why = err
		close(c.gone)
		c.stop()
	}
}

func (c *conn) err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.why
}

// exited is the exit code of a process that ended by itself.
type exited int

func (e exited) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// close ends the process and waits until it is gone.
func (c *conn) close() {
	c.fail(errors.New("it was ended"))
	c.over.Wait()
}

// read hears the server until it ends, or says what nobody can bear.
func (c *conn) read(r *bufio.Reader) {
	for {
		m, n, err := readMessage(r)
		if err == nil {
			err = c.hear(m, n)
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return // why is told by who ran it
		}
		if err != nil {
			c.fail(err)
			return
		}
	}
}

func (c *conn) hear(m message, n int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.said.bytes += n
	if c.said.messages++; c.said.bytes > maxSaid || c.said.messages > maxMessages {
		return errors.New("it says more than anybody asked for")
	}
	switch {
	case m.Method != "" && m.ID != nil:
		return c.answer(m)
	case m.Method != "":
		c.notice(m)
	default:
		if to := c.wait[string(m.ID)]; to != nil {
			delete(c.wait, string(m.ID))
			to <- m // has room for one
		}
	}
	return nil
}

// answer answers what the server asks: settings, and else with nothing. c.mu is held.
func (c *conn) answer(m message) error {
	a := message{ID: m.ID, Result: json.RawMessage("null")}
	switch m.Method {
	case "workspace/configuration":
		var of struct{ Items []struct{ Section string } }
		_ = json.Unmarshal(m.Params, &of) // none, then
		all := []any{}
		for _, item := range of.Items[:min(len(of.Items), maxItems)] {
			v, ok := c.kind.settings[item.Section]
			if !ok {
				v = map[string]any{}
			}
			all = append(all, v)
		}
		a.Result, _ = json.Marshal(all) // of our own making
	case "workspace/applyEdit":
		a.Result = json.RawMessage(`{"applied":false}`)
	case "window/workDoneProgress/create", "client/registerCapability", "client/unregisterCapability", "window/showMessageRequest",
		"workspace/workspaceFolders", "workspace/diagnostic/refresh", "workspace/semanticTokens/refresh", "workspace/inlayHint/refresh", "workspace/codeLens/refresh":
	default:
		a.Result, a.Error = nil, &fault{Code: -32601, Message: "not supported"}
	}
	b, err := framed(a)
	if err != nil {
		return err
	}
	select {
	case c.out <- b:
		return nil
	default:
		return errors.New("it asks without reading the answers")
	}
}

// notice takes what is told unasked, of which little is of use. c.mu is held.
func (c *conn) notice(m message) {
	switch m.Method {
	case "$/progress":
		var of struct {
			Token json.RawMessage
			Value struct{ Kind string }
		}
		if json.Unmarshal(m.Params, &of) != nil {
			return
		}
		switch {
		case of.Value.Kind == "end":
			delete(c.works, string(of.Token))
		case of.Value.Kind == "begin" && len(c.works) < maxProgress:
			c.works[string(of.Token)] = true
		}
	case "experimental/serverStatus":
		var of struct{ Quiescent bool }
		c.settled = json.Unmarshal(m.Params, &of) == nil && of.Quiescent
	case "textDocument/publishDiagnostics":
		var of struct {
			URI         string
			Version     *int
			Diagnostics []diagnostic
		}
		if json.Unmarshal(m.Params, &of) != nil {
			return
		}
		was, open := c.told[of.URI]
		if !open {
			return
		}
		c.told[of.URI] = told{of.Version, of.Diagnostics[:min(len(of.Diagnostics), maxFaults)], was.n + 1}
	default:
		return
	}
	close(c.news)
	c.news = make(chan struct{})
}

// until waits until something holds of what the server told, which is looked at with c.mu held.
func (c *conn) until(ctx context.Context, holds func() bool) error {
	for {
		c.mu.Lock()
		ok, news := holds(), c.news
		c.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-news:
		case <-c.gone:
			return c.err()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (c *conn) send(ctx context.Context, m message) error {
	b, err := framed(m)
	if err != nil {
		return err
	}
	select {
	case c.out <- b:
		return nil
	case <-c.gone:
		return c.err()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (c *conn) notify(ctx context.Context, method string, params any) error {
	p, err := json.Marshal(params)
	if err != nil {
		return err
	}
	return c.send(ctx, message{Method: method, Params: p})
}

// Codes of the protocol for a question that may be put again at once.
const (
	contentModified = -32801
	serverCancelled = -32802
	maxAgain        = 10
)

// call asks a question. An error of type *fault is the server's own.
func (c *conn) call(ctx context.Context, method string, params, result any) error {
	for again := 0; ; again++ {
		raw, err := c.once(ctx, method, params)
		var f *fault
		if errors.As(err, &f) && (f.Code == contentModified || f.Code == serverCancelled) && again < maxAgain {
			if err := pause(ctx, 50*time.Millisecond<<min(again, 4)); err != nil {
				return err
			}
			continue
		}
		if err != nil || result == nil {
			return err
		}
		if err := json.Unmarshal(raw, result); err != nil {
			return fmt.Errorf("its answer to %s has another form", method)
		}
		return nil
	}
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (c *conn) once(ctx context.Context, method string, params any) (json.RawMessage, error) {
	p, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	to := make(chan message, 1)
	c.mu.Lock()
	c.next++
	id := strconv.Itoa(c.next)
	c.wait[id] = to
	c.said.bytes, c.said.messages = 0, 0
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.wait, id)
		c.mu.Unlock()
	}()
	if err := c.send(ctx, message{ID: json.RawMessage(id), Method: method, Params: p}); err != nil {
		return nil, err
	}
	select {
	case m := <-to:
		if m.Error != nil {
			return nil, m.Error
		}
		if m.Result == nil {
			m.Result = json.RawMessage("null")
		}
		return m.Result, nil
	case <-c.gone:
		return nil, c.err()
	case <-ctx.Done():
		cancel, _ := json.Marshal(map[string]json.RawMessage{"id": json.RawMessage(id)})
		if b, err := framed(message{Method: "$/cancelRequest", Params: cancel}); err == nil {
			select {
			case c.out <- b:
			default:
			}
		}
		return nil, context.Cause(ctx)
	}
}

// quietTime is how long a server that does not say which version of a file its diagnostics
// are of is given for more of them.
const quietTime = 300 * time.Millisecond

// await makes what is known of a file's diagnostics that of a text before.
func (c *conn) await(uri string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told[uri] = told{}
}

func (c *conn) forget(uri string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.told, uri)
}

// diagnostics are those of a version of a file.
func (c *conn) diagnostics(ctx context.Context, uri string, version int) ([]diagnostic, error) {
	if c.pulls {
		var is struct{ Items []diagnostic }
		err := c.call(ctx, "textDocument/diagnostic", map[string]any{"textDocument": map[string]any{"uri": uri}}, &is)
		return is.Items[:min(len(is.Items), maxFaults)], err
	}
	if c.compiles {
		return c.compiled(ctx, uri)
	}
	var is told
	if err := c.until(ctx, func() bool {
		is = c.told[uri]
		return is.n > 0 && (is.version == nil || *is.version == version)
	}); err != nil || is.version != nil {
		return is.list, err
	}
	for n := 0; n != is.n; {
		n = is.n
		more, cancel := context.WithTimeout(ctx, quietTime)
		err := c.until(more, func() bool { is = c.told[uri]; return is.n != n })
		cancel()
		if err != nil && c.err() != nil {
			return nil, err
		}
	}
	return is.list, ctx.Err()
}

// tsRequest hands a question on to the compiler of TypeScript.
const tsRequest = "typescript.tsserverRequest"

// compiled are the errors that the compiler of TypeScript finds in a file. Its server says of
// itself only those that are others than before, for which nobody can wait.
func (c *conn) compiled(ctx context.Context, uri string) (out []diagnostic, err error) {
	for _, what := range []string{"syntacticDiagnosticsSync", "semanticDiagnosticsSync"} {
		var is struct {
			Body []struct {
				Start          struct{ Line, Offset int }
				Text, Category string
			}
		}
		ask := map[string]any{"command": tsRequest, "arguments": []any{what, map[string]any{"file": uri}}}
		if err := c.call(ctx, "workspace/executeCommand", ask, &is); err != nil {
			return nil, err
		}
		for _, f := range is.Body {
			if f.Category == "error" && len(out) < maxFaults {
				d := diagnostic{Severity: 1, Message: f.Text}
				d.Range.Start = position{f.Start.Line - 1, f.Start.Offset - 1}
				out = append(out, d)
			}
		}
	}
	return out, nil
}
