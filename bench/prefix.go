package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"sync"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/llm"
	"agency/internal/llm/anthropic"
	"agency/internal/session"
	"agency/internal/store"
)

// prefixRow is the share of requests of a session that the next one begins
// with, byte for byte and without cache marks: in the canonical form, and as
// bodies on both wires. The session reads, searches, edits, is refused, and gets
// mail in between; its model speaks in letters that encoders escape.
func prefixRow() row {
	return row{figures: []string{"prefix/canonical", "prefix/openai", "prefix/anthropic"}, cheap: true, measure: measurePrefix}
}

const prefixTurns = 20

const prefixScript = `version: 1
name: prefix
rules:
  - name: refused
    when: {turn: "5"}
    text: "A <b>wrong</b> & odd call \u2028 é 日本"
    calls: [{tool: read_file, args: {path: ../outside}}, {tool: no_such_tool, args: {x: 1}}]
  - name: write
    when: {turn: "6-8"}
    calls:
      - tool: write_file
        args: {path: 'new/${{turn}}.txt', content: "<a href=\"x\">&\u2028é\n"}
  - name: look
    when: {turn: "9-12"}
    text: I look around.
    calls: [{tool: list_directory, args: {path: .}}, {tool: search_files, args: {pattern: 'fox'}}, {tool: get_git_diff, args: {}}]
  - name: read
    when: {turn: "1-19"}
    calls: [{tool: read_file, args: {path: 'notes/n${{turn}}.txt'}}]
  - name: end
    calls:
      - tool: signal_complete
        args: {evidence: [{criterion: goal, kind: file, ref: notes/n1.txt}], files_modified: [new/6.txt]}
`

func measurePrefix(ctx context.Context, b *bench) ([]figure, error) {
	srv, err := serve(prefixScript, true, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = srv.close() }() // nothing depends on it any more
	overOpenai, err := openaiModel(srv.url + "/v1")
	if err != nil {
		return nil, err
	}
	overAnthropic, err := asHost(anthropic.New(anthropic.Options{Name: "bench", BaseURL: srv.url, APIKey: "key"}, anthropic.Thinking{}))
	if err != nil {
		return nil, err
	}
	var canonical, bodies [2][][]byte
	for i, m := range []llm.Model{overOpenai, overAnthropic} {
		before := srv.Recorder().Count()
		if canonical[i], err = b.talk(ctx, m); err != nil {
			return nil, err
		}
		for _, rec := range srv.Recorder().Records()[before:] {
			bodies[i] = append(bodies[i], rec.Body)
		}
	}
	kept, of := 0, 0
	for _, requests := range canonical {
		for n := 1; n < len(requests); n++ {
			of++
			if bytes.HasPrefix(requests[n], requests[n-1]) {
				kept++
			}
		}
	}
	figures := []figure{share("prefix/canonical", kept, of, nil)}
	for i, name := range []string{"prefix/openai", "prefix/anthropic"} {
		kept, odd, err := continued(bodies[i])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		figures = append(figures, share(name, kept, len(bodies[i])-1, odd))
	}
	return figures, nil
}

func share(name string, kept, of int, odd []string) figure {
	return figure{name, float64(kept) / float64(max(1, of)), atLeast(1), append([]string{fmt.Sprintf("%d of %d requests", kept, of)}, odd...)}
}

// talk holds one session and gives its requests in canonical form.
func (b *bench) talk(ctx context.Context, m llm.Model) (requests [][]byte, err error) {
	dir, err := b.folder()
	if err != nil {
		return nil, err
	}
	seen := &recorder{next: m}
	r, err := newRig(ctx, dir, seen, notes(prefixTurns, 800))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	if err := r.write(ctx, func(tx *store.Tx) error { return r.contract(tx, "main") }); err != nil {
		return nil, err
	}
	var mailErr error
	seen.asked = func(n int) {
		if n%4 == 2 {
			mailErr = errors.Join(mailErr, r.mail(ctx, n))
		}
	}
	out, err := r.hold(ctx, "main", 1)
	if err = errors.Join(err, mailErr); err == nil && out.Kind != session.Claimed {
		err = fmt.Errorf("session ended as %s: %s", out.Kind, out.Reason)
	}
	return seen.requests, err
}

// mail sends a person's message to the agent.
func (r *rig) mail(ctx context.Context, turn int) error {
	return r.write(ctx, func(tx *store.Tx) error {
		return board.Send(tx, agency.Message{
			ID: agency.MessageID(fmt.Sprintf("mail-%d", turn)), RunID: benchRun, From: "human", To: "generalist",
			Type: "note", Body: "Mind the <details> & the rest.",
		})
	})
}

// recorder is a model that keeps what is asked.
type recorder struct {
	next     llm.Model
	mu       sync.Mutex
	requests [][]byte
	asked    func(n int) // is told of each request
}

// Ask is for llm.Model.
func (r *recorder) Ask(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	r.mu.Lock()
	r.requests = append(r.requests, llm.Encode(req))
	n := len(r.requests)
	r.mu.Unlock()
	r.asked(n)
	return r.next.Ask(ctx, req)
}

// cacheMark is what a body holds only to tell the provider where to cache. A
// quotation of it inside of a text has its quotes escaped.
var cacheMark = regexp.MustCompile(`,?"cache_control":\{[^{}]*\}`)

// continued counts the bodies whose successor repeats them: the same fields
// with the same bytes, and the same messages with others behind.
func continued(bodies [][]byte) (kept int, odd []string, err error) {
	var before map[string]json.RawMessage
	for n, body := range bodies {
		var now map[string]json.RawMessage
		if err := json.Unmarshal(cacheMark.ReplaceAll(body, nil), &now); err != nil {
			return 0, nil, err
		}
		switch where := differs(before, now); {
		case n == 0:
		case where == "":
			kept++
		default:
			odd = append(odd, fmt.Sprintf("request %d differs from the one before in %s", n+1, where))
		}
		before = now
	}
	return kept, odd, nil
}

// differs names the first field in which a body does not go on as the one
// before.
func differs(before, now map[string]json.RawMessage) string {
	if len(before) != len(now) {
		return fmt.Sprintf("its fields (%d, %d)", len(before), len(now))
	}
	for name := range maps.Keys(before) {
		was, is := before[name], now[name]
		if name == "messages" {
			if !bytes.HasPrefix(is, bytes.TrimSuffix(was, []byte("]"))) {
				return name
			}
			continue
		}
		if !bytes.Equal(was, is) {
			return name
		}
	}
	return ""
}
