// Package wire serves the rehearsal player over HTTP: POST
// /v1/chat/completions, /v1/responses, /v1/messages and
// /v1beta/models/MODEL:streamGenerateContent, streamed or not, and GET
// /v1/models, with every fault of a script as real behaviour of a server:
// resets, cut streams, silence, pages of a proxy.
//
// It decides nothing about the answer; that is the player's.
package wire

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/llm"
	"agency/internal/llm/rehearsal"
)

// Options tune a server; the zero value is ready for use.
type Options struct {
	Key        string // demanded as bearer token, x-api-key or x-goog-api-key; "" takes anything
	KeepBodies bool   // the recorder keeps the requests' bodies
	// Sleep waits or returns the context's error; default a timer.
	Sleep func(context.Context, time.Duration) error
}

// Server is an http.Handler. It needs no closing: a handler that plays a hang
// ends when its client leaves or the http.Server closes the connection.
type Server struct {
	player   *rehearsal.Player
	opts     Options
	mux      *http.ServeMux
	recorder Recorder
}

// New serves a player.
func New(p *rehearsal.Player, opts Options) *Server {
	if opts.Sleep == nil {
		opts.Sleep = llm.Sleep
	}
	s := &Server{player: p, opts: opts, mux: http.NewServeMux()}
	s.mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) { s.answer(w, r, openaiWire{}) })
	s.mux.HandleFunc("POST /v1/messages", func(w http.ResponseWriter, r *http.Request) { s.answer(w, r, anthropicWire{}) })
	s.mux.HandleFunc("POST /v1/responses", func(w http.ResponseWriter, r *http.Request) { s.answer(w, r, responsesWire{}) })
	s.mux.HandleFunc("POST /v1beta/models/{call...}", s.generate)
	s.mux.HandleFunc("GET /v1/models", s.models)
	return s
}

// Recorder is what the server has been asked.
func (s *Server) Recorder() *Recorder { return &s.recorder }

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// generate answers the wire on which the path says model and method.
func (s *Server) generate(w http.ResponseWriter, r *http.Request) {
	model, method, _ := strings.Cut(r.PathValue("call"), ":")
	p := geminiWire{model, method}
	if method != "generateContent" && method != "streamGenerateContent" {
		writeJSON(w, http.StatusNotFound, p.failure("not_found_error", "", "no method "+method))
		return
	}
	s.answer(w, r, p)
}

// protocol is what differs between the wires.
type protocol interface {
	name() string
	// read decodes a request; stream says that its answer shall be streamed.
	read(body []byte) (req llm.Request, stream bool, err error)
	// frames renders a streamed answer, document a whole one.
	frames(t rehearsal.Take) []frame
	document(t rehearsal.Take) []byte
	// failure renders an error body.
	failure(kind, code, message string) []byte
}

// frame is a piece of a stream that is written at once.
type frame struct {
	data []byte
	kind frameKind
}

type frameKind int

const (
	frameOther frameKind = iota
	frameText
	frameArgs
)

// bodyLimit is the largest request, in bytes.
const bodyLimit = 64 << 20

func (s *Server) answer(w http.ResponseWriter, r *http.Request, p protocol) {
	if !s.allowed(r) {
		writeJSON(w, http.StatusUnauthorized, p.failure("authentication_error", "invalid_api_key", "invalid key"))
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
	if err != nil {
		writeJSON(w, http.StatusRequestEntityTooLarge, p.failure("invalid_request_error", "", "request too large"))
		return
	}
	req, stream, err := p.read(body)
	if err != nil {
		writeJSON(w, http.StatusBadRequest, p.failure("invalid_request_error", "", err.Error()))
		return
	}
	t := s.player.Play(req)
	rec := Record{Wire: p.name(), Hash: t.Hash, Rule: t.Rule, Usage: t.Usage, Session: sessionOf(r)}
	if s.opts.KeepBodies {
		rec.Body = body
	}
	if t.Fault != nil {
		rec.Fault = string(t.Fault.Kind)
	}
	seq := s.recorder.begin(rec)
	defer func() { s.recorder.end(seq) }()
	x := exchange{s: s, w: w, r: r, p: p, take: t, stream: stream && !t.Has("no_stream")}
	if x.play() {
		s.recorder.finish(seq)
	}
}

func sessionOf(r *http.Request) string { return r.Header.Get("X-Rehearsal-Session") }

func (s *Server) allowed(r *http.Request) bool {
	if s.opts.Key == "" {
		return true
	}
	given := r.Header.Get("X-Api-Key") + r.Header.Get("X-Goog-Api-Key")
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		given = token
	}
	return subtle.ConstantTimeCompare([]byte(given), []byte(s.opts.Key)) == 1
}

// models lists one model, in a form that both vendors' clients read.
func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	type model struct {
		ID          string `json:"id"`
		Object      string `json:"object"`
		Type        string `json:"type"`
		DisplayName string `json:"display_name"`
		OwnedBy     string `json:"owned_by"`
	}
	writeJSON(w, http.StatusOK, encode(struct {
		Object  string  `json:"object"`
		Data    []model `json:"data"`
		HasMore bool    `json:"has_more"`
	}{"list", []model{{"rehearsal", "model", "model", "Rehearsal player", "agency"}}, false}))
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that has left needs no answer
}

// encode is for the package's own types, which always encode.
func encode[T any](v T) []byte {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)
	return []byte(strings.TrimRight(b.String(), "\n"))
}

// uncached is the part of a prompt that no cache took part in.
func uncached(u agency.Usage) int64 { return max(0, u.In-u.Cached-u.CacheWrite) }
