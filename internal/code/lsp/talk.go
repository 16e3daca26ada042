package lsp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"

	"agency/internal/code"
)

// Bounds of what a server is shown and of what it answers.
const (
	maxOpen   = 400      // files
	maxShown  = 32 << 20 // bytes of them
	maxPlaces = 20_000   // of one answer
	maxFaults = 500      // of a file
	maxWord   = 300      // bytes, of what it says in words
)

// ErrTooMuch is that of a question about more files than a server is shown.
var ErrTooMuch = fmt.Errorf("it is about more than %d files", maxOpen)

type sum = [sha256.Size]byte

// doc is a file that the server was shown.
type doc struct {
	language code.Language
	version  int
	text     []byte
	sum      sum
}

// Talk is one question's conversation with a server. It is for one goroutine, and of no use
// after the question.
type Talk struct {
	server *server
	read   func(path string) []byte
}

// Name is the server's.
func (t *Talk) Name() string { return t.server.kind.name }

// begin starts the process and makes its acquaintance.
func (s *server) begin(ctx context.Context) error {
	s.end()
	line, err := dial(s.kind, s.w.at, s.w.start)
	if err != nil {
		return err
	}
	s.line = line
	ctx, cancel := context.WithTimeoutCause(ctx, startTime, fmt.Errorf("no answer within %s", startTime))
	defer cancel()
	defer context.AfterFunc(s.w.ctx, cancel)()
	root := uriOf(s.w.at, ".")
	var is struct {
		Capabilities struct {
			PositionEncoding       string
			DiagnosticProvider     json.RawMessage
			ExecuteCommandProvider struct{ Commands []string }
		}
	}
	ask := map[string]any{
		"processId": nil, "clientInfo": map[string]any{"name": "agency"}, "rootUri": root, "rootPath": s.w.at,
		"workspaceFolders": []any{map[string]any{"uri": root, "name": path.Base(s.w.at)}},
		"capabilities":     capabilities, "initializationOptions": s.kind.options,
	}
	if err := line.call(ctx, "initialize", ask, &is); err != nil {
		return err
	}
	line.bytes = is.Capabilities.PositionEncoding == "utf-8"
	line.pulls = len(is.Capabilities.DiagnosticProvider) > 0 && string(is.Capabilities.DiagnosticProvider) != "null"
	line.compiles = slices.Contains(is.Capabilities.ExecuteCommandProvider.Commands, tsRequest)
	return line.notify(ctx, "initialized", struct{}{})
}

// capabilities are those of this client.
var capabilities = map[string]any{
	"general": map[string]any{"positionEncodings": []string{"utf-8", "utf-16"}},
	"window":  map[string]any{"workDoneProgress": true},
	"workspace": map[string]any{
		"configuration": true, "workspaceFolders": true,
		"didChangeWatchedFiles": map[string]any{"dynamicRegistration": true},
		"workspaceEdit":         map[string]any{"documentChanges": true},
	},
	"textDocument": map[string]any{
		"synchronization": map[string]any{}, "references": map[string]any{}, "definition": map[string]any{"linkSupport": false},
		"rename": map[string]any{}, "publishDiagnostics": map[string]any{"versionSupport": true}, "diagnostic": map[string]any{},
	},
	"experimental": map[string]any{"serverStatusNotification": true},
}

// refresh brings what the server was shown up to date.
func (t *Talk) refresh(ctx context.Context) error {
	for p, d := range t.server.docs {
		if err := t.Show(ctx, p, d.language, t.read(p)); err != nil {
			return err
		}
	}
	return nil
}

// Show gives the server a file's text, whatever the disk says; nil: it has gone.
func (t *Talk) Show(ctx context.Context, p string, l code.Language, text []byte) error {
	s := t.server
	uri := uriOf(s.w.at, p)
	d, open := s.docs[p]
	if text == nil {
		if !open {
			return nil
		}
		delete(s.docs, p)
		s.line.forget(uri)
		return s.line.notify(ctx, "textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": uri}})
	}
	is := sha256.Sum256(text)
	if open && d.sum == is {
		return nil
	}
	if open {
		d.version, d.text, d.sum = d.version+1, text, is
		s.line.await(uri)
		return s.line.notify(ctx, "textDocument/didChange", map[string]any{
			"textDocument": map[string]any{"uri": uri, "version": d.version}, "contentChanges": []any{map[string]any{"text": string(text)}},
		})
	}
	shown := len(text)
	for _, o := range s.docs {
		shown += len(o.text)
	}
	if len(s.docs) == maxOpen || shown > maxShown {
		return ErrTooMuch
	}
	s.docs[p] = &doc{language: l, version: 1, text: text, sum: is}
	s.line.await(uri)
	return s.line.notify(ctx, "textDocument/didOpen", map[string]any{"textDocument": map[string]any{
		"uri": uri, "languageId": s.kind.languages[l], "version": 1, "text": string(text),
	}})
}

// Room lets all files go but these: those of questions before.
func (t *Talk) Room(ctx context.Context, keep map[string]bool) error {
	for p := range t.server.docs {
		if !keep[p] {
			if err := t.Show(ctx, p, "", nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// Kinds of changes of a file, in the protocol.
const (
	created = 1 + iota
	changed
	deleted
)

// Saw tells the server which files, of all of its languages, are others than at the question
// before.
func (t *Talk) Saw(ctx context.Context, all map[string][sha256.Size]byte) error {
	s := t.server
	first := len(s.seen) == 0
	var events []any
	tell := func(p string, what int) {
		events = append(events, map[string]any{"uri": uriOf(s.w.at, p), "type": what})
	}
	for p, is := range all {
		if was, ok := s.seen[p]; !ok {
			tell(p, created)
		} else if was != is {
			tell(p, changed)
		}
		s.seen[p] = is
	}
	for p := range s.seen {
		if _, ok := all[p]; !ok {
			tell(p, deleted)
			delete(s.seen, p)
		}
	}
	if first || len(events) == 0 {
		return nil
	}
	return s.line.notify(ctx, "workspace/didChangeWatchedFiles", map[string]any{"changes": events})
}

// Settled waits until the server has read the project, as far as it says so.
func (t *Talk) Settled(ctx context.Context) error {
	l := t.server.line
	return l.until(ctx, func() bool { return len(l.works) == 0 && (l.settled || !t.server.kind.quiet) })
}

// Span is a place in a file of the checkout, in bytes of its text.
type Span struct {
	Path       string // "": outside of the checkout
	Start, End int
}

// Edit is a new text of a place.
type Edit struct {
	Span
	Text string
}

type position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

type place struct {
	URI   string
	Range struct{ Start, End position }
}

type diagnostic struct {
	Range    struct{ Start, End position }
	Severity int
	Message  string
	Code     any
}

// text is a file as the server sees it.
func (t *Talk) text(p string) []byte {
	if d := t.server.docs[p]; d != nil {
		return d.text
	}
	return t.read(p)
}

func (t *Talk) at(p string, offset int) map[string]any {
	return map[string]any{
		"textDocument": map[string]any{"uri": uriOf(t.server.w.at, p)},
		"position":     positionOf(t.text(p), offset, t.server.line.bytes),
	}
}

// spans are places of the checkout; those outside have no path, and those in files that are not
// read, such as the declarations of a whole browser, no length.
func (t *Talk) spans(all []place) ([]Span, error) {
	if len(all) > maxPlaces {
		return nil, fmt.Errorf("its answer has more than %d places", maxPlaces)
	}
	out := make([]Span, 0, len(all))
	texts := map[string]lines{}
	for _, p := range all {
		name := pathOf(t.server.w.at, p.URI)
		if name == "" {
			out = append(out, Span{})
			continue
		}
		text, ok := texts[name]
		if !ok {
			if raw := t.text(name); raw != nil {
				text = linesOf(raw)
			}
			texts[name] = text
		}
		if text == nil {
			out = append(out, Span{Path: name})
			continue
		}
		s := Span{Path: name, Start: text.offset(p.Range.Start, t.server.line.bytes), End: text.offset(p.Range.End, t.server.line.bytes)}
		if s.Start < 0 || s.End < s.Start {
			return nil, fmt.Errorf("it names a place that %s has not", name)
		}
		out = append(out, s)
	}
	return out, nil
}

// References are the places of what a name stands for, its definition too.
func (t *Talk) References(ctx context.Context, p string, offset int) ([]Span, error) {
	ask := t.at(p, offset)
	ask["context"] = map[string]any{"includeDeclaration": true}
	var all []place
	if err := t.server.line.call(ctx, "textDocument/references", ask, &all); err != nil {
		return nil, t.said(err)
	}
	return t.spans(all)
}

// Definitions are where what a name stands for is defined; none where the server cannot tell.
func (t *Talk) Definitions(ctx context.Context, p string, offset int) ([]Span, error) {
	var raw json.RawMessage
	if err := t.server.line.call(ctx, "textDocument/definition", t.at(p, offset), &raw); err != nil {
		return nil, t.said(err)
	}
	var all []place
	if bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) {
		raw = json.RawMessage("[" + string(raw) + "]")
	}
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, errors.New("its answer to textDocument/definition has another form")
	}
	return t.spans(all)
}

// Rename is what becomes of the files when a name is another; none where the server does not
// rename it.
func (t *Talk) Rename(ctx context.Context, p string, offset int, to string) ([]Edit, error) {
	ask := t.at(p, offset)
	ask["newName"] = to
	type edit struct {
		Range   struct{ Start, End position }
		NewText string
	}
	var is struct {
		Changes         map[string][]edit
		DocumentChanges []struct {
			Kind         string // of a file that is created, renamed or deleted
			TextDocument struct{ URI string }
			Edits        []edit
		}
	}
	if err := t.server.line.call(ctx, "textDocument/rename", ask, &is); err != nil {
		return nil, t.said(err)
	}
	var places []place
	var texts []string
	add := func(uri string, all []edit) {
		for _, e := range all {
			places, texts = append(places, place{uri, e.Range}), append(texts, e.NewText)
		}
	}
	for uri, all := range is.Changes {
		add(uri, all)
	}
	for _, d := range is.DocumentChanges {
		if d.Kind != "" {
			return nil, errors.New("it would rename files, too")
		}
		add(d.TextDocument.URI, d.Edits)
	}
	spans, err := t.spans(places)
	out := make([]Edit, len(spans))
	for i, s := range spans {
		out[i] = Edit{s, texts[i]}
	}
	return out, err
}

// Fault is an error that the server finds in a file.
type Fault struct {
	Line, Column int // from 1
	What         string
}

// Faults are the errors of a file that the server was shown.
func (t *Talk) Faults(ctx context.Context, p string) (out []Fault, err error) {
	d := t.server.docs[p]
	if d == nil {
		return nil, fmt.Errorf("%s is not shown", p)
	}
	all, err := t.server.line.diagnostics(ctx, uriOf(t.server.w.at, p), d.version)
	if err != nil {
		return nil, t.said(err)
	}
	for _, d := range all {
		if d.Severity <= 1 { // what has none is an error
			out = append(out, Fault{d.Range.Start.Line + 1, d.Range.Start.Character + 1, plain(d.Message)})
		}
	}
	return out, nil
}

// said bounds the words of a server in an error.
func (t *Talk) said(err error) error {
	if f := (*fault)(nil); errors.As(err, &f) {
		return &Refusal{t.server.kind.name, plain(f.Message)}
	}
	return err
}

// Refusal is a server's answer that it does not do what is asked.
type Refusal struct{ Server, Says string }

func (r *Refusal) Error() string { return "the language server " + r.Server + " says: " + r.Says }

// plain is a text of a server in one line of bounded length.
func plain(s string) string {
	s = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "?"), func(r rune) bool { return r <= ' ' || r == 0x7f }), " ")
	if len(s) > maxWord {
		s = strings.ToValidUTF8(s[:maxWord], "") + " ..."
	}
	return s
}

func uriOf(at, p string) string {
	return (&url.URL{Scheme: "file", Path: path.Join(at, p)}).String()
}

// pathOf is the path below the checkout that a URI names; "" for any other.
func pathOf(at, uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Host != "" {
		return ""
	}
	rel, below := strings.CutPrefix(u.Path, strings.TrimSuffix(at, "/")+"/")
	if !below || !fs.ValidPath(rel) || rel == "." || strings.ContainsRune(rel, 0) {
		return ""
	}
	return rel
}
