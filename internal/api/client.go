package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"syscall"

	"agency/internal/agency"
)

// MaxAnswer bounds the body of an answer that is one document, in bytes.
const MaxAnswer = 256 << 20

// Client speaks to one host. It is safe for concurrent use.
type Client struct {
	conn *connection
	tails
}

// connection sends requests with the token of the host's start.
type connection struct {
	http      *http.Client
	tokenFile string

	mu    sync.Mutex
	token Token // as last read
}

// Dial makes a client for the host that listens on a unix socket and keeps its
// token in a file; nothing is read or sent yet. Close ends its connections.
func Dial(socket, tokenFile string) *Client {
	d := net.Dialer{}
	t := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return d.DialContext(ctx, "unix", socket)
		},
		DisableCompression: true,
		MaxIdleConns:       2,
	}
	c := &connection{http: &http.Client{Transport: t}, tokenFile: tokenFile}
	return &Client{conn: c, tails: tails{c}}
}

// Close ends the client's idle connections.
func (c *Client) Close() { c.conn.http.CloseIdleConnections() }

// Hello asks who listens. It is the same in all versions of the wire.
func (c *Client) Hello(ctx context.Context) (Hello, error) {
	return get[Hello](ctx, c, "/hello", nil)
}

// Drain asks the host to stop its runs at their next turn boundary and to
// leave; it answers when they stand still. It is the same in all versions.
func (c *Client) Drain(ctx context.Context) (DrainDoc, error) {
	return post[DrainDoc](ctx, c, "/drain", struct{}{})
}

// Hide tells the host texts that it must write nowhere: keys of this user that
// no run may need. They stay in its memory.
func (c *Client) Hide(ctx context.Context, r HideRequest) error {
	_, err := post[struct{}](ctx, c, "/v1/hide", r)
	return err
}

// Runs lists the runs of the repository, oldest first.
func (c *Client) Runs(ctx context.Context) ([]RunDoc, error) {
	return get[[]RunDoc](ctx, c, "/v1/runs", nil)
}

// DiskUse gives what the files of each run take, in bytes.
func (c *Client) DiskUse(ctx context.Context) (map[agency.RunID]int64, error) {
	return get[map[agency.RunID]int64](ctx, c, "/v1/disk", nil)
}

// Outcomes gives what the latest contracts of all runs came to, the latest first.
func (c *Client) Outcomes(ctx context.Context) ([]agency.Outcome, error) {
	return get[[]agency.Outcome](ctx, c, "/v1/outcomes", nil)
}

// Decisions gives what the agents of a run decided together, and what is kept.
func (c *Client) Decisions(ctx context.Context, run agency.RunID) ([]agency.SharedDecision, error) {
	return get[[]agency.SharedDecision](ctx, c, "/v1/decisions", url.Values{"run": {string(run)}})
}

// Inspect gives a run with everything that it did, or what is asked for of it.
func (c *Client) Inspect(ctx context.Context, run agency.RunID, of ...Extent) (InspectDoc, error) {
	if OneOf(of) == Tree {
		return call(ctx, c, http.MethodGet, runPath(run, ""), Tree.query(), nil, decodeTree)
	}
	return get[InspectDoc](ctx, c, runPath(run, ""), OneOf(of).query())
}

// Cost gives what a run spent, or what is asked for of it.
func (c *Client) Cost(ctx context.Context, run agency.RunID, of ...Extent) (CostDoc, error) {
	return get[CostDoc](ctx, c, runPath(run, "/cost"), OneOf(of).query())
}

// Diff gives what a run would land.
func (c *Client) Diff(ctx context.Context, run agency.RunID) (DiffDoc, error) {
	return get[DiffDoc](ctx, c, runPath(run, "/diff"), nil)
}

// Transcript gives a session's conversation, or a turn of it.
func (c *Client) Transcript(ctx context.Context, run agency.RunID, session agency.SessionID, turn ...int) (TranscriptDoc, error) {
	q := url.Values{"session": {string(session)}}
	if n := Turn(turn); n > 0 {
		q.Set("turn", strconv.Itoa(n))
	}
	return get[TranscriptDoc](ctx, c, runPath(run, "/transcript"), q)
}

// Messages gives the messages of a run, oldest first.
func (c *Client) Messages(ctx context.Context, run agency.RunID) ([]MessageDoc, error) {
	return get[[]MessageDoc](ctx, c, runPath(run, "/messages"), nil)
}

// Gates gives the gates of a run, answered ones too, oldest first.
func (c *Client) Gates(ctx context.Context, run agency.RunID) ([]agency.Gate, error) {
	return get[[]agency.Gate](ctx, c, runPath(run, "/gates"), nil)
}

// Copy gives the configuration that a run keeps, so that a client knows which
// keys to bring.
func (c *Client) Copy(ctx context.Context, run agency.RunID) (CopyDoc, error) {
	return get[CopyDoc](ctx, c, runPath(run, "/copy"), nil)
}

// Start starts a run.
func (c *Client) Start(ctx context.Context, r RunRequest) (RunStarted, error) {
	return post[RunStarted](ctx, c, "/v1/runs", r)
}

// Resume makes a run go on.
func (c *Client) Resume(ctx context.Context, run agency.RunID, r ResumeRequest) (RunDoc, error) {
	return post[RunDoc](ctx, c, runPath(run, "/resume"), r)
}

// Pause stops a run at its next turn boundary.
func (c *Client) Pause(ctx context.Context, run agency.RunID, r ByRequest) (RunDoc, error) {
	return post[RunDoc](ctx, c, runPath(run, "/pause"), r)
}

// Cancel ends a run.
func (c *Client) Cancel(ctx context.Context, run agency.RunID, r ByRequest) (RunDoc, error) {
	return post[RunDoc](ctx, c, runPath(run, "/cancel"), r)
}

// Answer decides a gate.
func (c *Client) Answer(ctx context.Context, run agency.RunID, r AnswerRequest) (Answered, error) {
	return post[Answered](ctx, c, runPath(run, "/answer"), r)
}

// Say sends a person's message into a run.
func (c *Client) Say(ctx context.Context, run agency.RunID, r SayRequest) (SaidDoc, error) {
	return post[SaidDoc](ctx, c, runPath(run, "/say"), r)
}

// Keep has decisions stand in later runs, or no more.
func (c *Client) Keep(ctx context.Context, r KeepRequest) ([]agency.KeptDecision, error) {
	return post[[]agency.KeptDecision](ctx, c, "/v1/decisions", r)
}

// Free takes a reserved name from the contract that has it.
func (c *Client) Free(ctx context.Context, run agency.RunID, r FreeRequest) (agency.Reservation, error) {
	return post[agency.Reservation](ctx, c, runPath(run, "/release"), r)
}

// Merge lands a run that ended on its branch.
func (c *Client) Merge(ctx context.Context, run agency.RunID, r ByRequest) (RunDoc, error) {
	return post[RunDoc](ctx, c, runPath(run, "/merge"), r)
}

// Remove deletes a finished run's record, workspaces and branch.
func (c *Client) Remove(ctx context.Context, run agency.RunID, r ByRequest) error {
	_, err := post[struct{}](ctx, c, runPath(run, "/remove"), r)
	return err
}

// Choose has a run ask another model.
func Choose(ctx context.Context, c *Client, run agency.RunID, r ModelRequest) (ModelDoc, error) {
	return post[ModelDoc](ctx, c, runPath(run, "/model"), r)
}

func runPath(run agency.RunID, rest string) string {
	return "/v1/runs/" + string(run) + rest
}

func get[T any](ctx context.Context, c *Client, path string, q url.Values) (T, error) {
	return call(ctx, c, http.MethodGet, path, q, nil, decode[T])
}

func post[T any](ctx context.Context, c *Client, path string, body any) (T, error) {
	var none T
	b, err := json.Marshal(body)
	if err != nil {
		return none, fmt.Errorf("request: %w", err)
	}
	return call(ctx, c, http.MethodPost, path, nil, b, decode[T])
}

func decode[T any](doc []byte) (out T, err error) {
	err = json.Unmarshal(doc, &out)
	return out, err
}

func call[T any](ctx context.Context, c *Client, method, path string, q url.Values, body []byte, decode func([]byte) (T, error)) (out T, err error) {
	resp, err := c.conn.do(ctx, method, path, q, body)
	if err != nil {
		return out, err
	}
	defer func() { _ = resp.Body.Close() }() // read to its end, or given up
	doc, err := whole(resp)
	if err == nil {
		out, err = decode(doc)
	}
	if err != nil {
		return out, lost(err)
	}
	return out, nil
}

// whole reads an answer that is one document. A host says how long one is: what is large
// is then not copied from one buffer into the next as it comes.
func whole(resp *http.Response) ([]byte, error) {
	var b bytes.Buffer
	if n := resp.ContentLength; n > 0 && n <= MaxAnswer {
		b.Grow(int(n) + bytes.MinRead) // which ReadFrom wants free when it meets the end
	}
	if _, err := b.ReadFrom(io.LimitReader(resp.Body, MaxAnswer)); err != nil {
		return nil, err
	}
	switch b.Len() {
	case 0:
		return nil, io.EOF
	case MaxAnswer:
		return nil, io.ErrUnexpectedEOF
	}
	return b.Bytes(), nil
}

// do sends a request and turns an answer that is an error into that error. Where
// the host has started anew since its token was read, it asks once more.
func (c *connection) do(ctx context.Context, method, path string, q url.Values, body []byte) (*http.Response, error) {
	token, err := c.bearer("")
	if err != nil {
		return nil, err
	}
	resp, err := c.send(ctx, token, method, path, q, body)
	if err == nil && resp.StatusCode == http.StatusUnauthorized {
		fresh, terr := c.bearer(token)
		if terr != nil || fresh != token {
			_ = resp.Body.Close() // it only says no
		}
		switch {
		case terr != nil:
			return nil, terr
		case fresh != token:
			resp, err = c.send(ctx, fresh, method, path, q, body)
		}
	}
	if err != nil {
		return nil, lost(err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer func() { _ = resp.Body.Close() }() // the error below is the one that counts
	var e envelope
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&e); err != nil || e.Error.Text == "" {
		return nil, agency.Errorf(agency.KindInternal, "the host answered %s", resp.Status)
	}
	return nil, e.Error.Err()
}

// bearer is the token to send: the one that is known, unless there is none or
// it was refused.
func (c *connection) bearer(refused Token) (Token, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.token != "" && c.token != refused {
		return c.token, nil
	}
	t, err := ReadToken(c.tokenFile)
	if err == nil {
		c.token = t
	}
	return t, err
}

func (c *connection) send(ctx context.Context, token Token, method, path string, q url.Values, body []byte) (*http.Response, error) {
	u := url.URL{Scheme: "http", Host: HostName, Path: path, RawQuery: q.Encode()}
	var in io.Reader
	if body != nil {
		in = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), in)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Agency-Wire", strconv.Itoa(Wire))
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+string(token))
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return c.http.Do(req)
}

// Unreachable tells whether an error means that no host answers: it is gone,
// or was never there.
func Unreachable(err error) bool {
	var gone *goneError
	return errors.As(err, &gone)
}

// goneError marks a connection that could not be made or that broke.
type goneError struct{ err error }

func (e *goneError) Error() string { return e.err.Error() }
func (e *goneError) Unwrap() error { return e.err }

func lost(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var op *net.OpError
	if errors.As(err, &op) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) {
		return agency.Errorf(agency.KindTransient, "the host of this repository went away: %w", &goneError{err})
	}
	return agency.Errorf(agency.KindTransient, "the host of this repository: %w", err)
}
