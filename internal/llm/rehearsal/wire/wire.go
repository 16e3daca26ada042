// Package wire serves the rehearsal player over HTTP: POST
// /v1/chat/completions, POST /v1/messages, both streamed or not, and GET
// /v1/models, with every fault of a script as real behaviour of a server.
package wire

import (
	"net/http"

	"agency/internal/llm/rehearsal"
)

// Server is the http.Handler.
type Server struct{}

// New serves a player.
func New(p *rehearsal.Player) *Server { return &Server{} }

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {}

// Recorder is what the server has been asked.
func (s *Server) Recorder() *Recorder { return nil }

// Recorder keeps the requests of a server in memory.
type Recorder struct{}

// Record is one request that came in.
type Record struct {
	Seq      int    // from 1, in order of arrival
	Wire     string // openai or anthropic
	Hash     string // of the canonical request: equal questions have equal hashes
	Rule     string // the script's rule that answered
	Fault    string // the fault played, "" for an answer
	Finished bool   // the answer was written to its end
	Body     []byte // as received; nil unless bodies are kept
}

// Records is a copy of what came in so far.
func (r *Recorder) Records() []Record { return nil }
