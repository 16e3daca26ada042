package main

import (
	"errors"
	"net"
	"net/http"

	"agency/internal/llm"
	"agency/internal/llm/failover"
	"agency/internal/llm/openai"
	"agency/internal/llm/rehearsal"
	"agency/internal/llm/rehearsal/wire"
)

// modelName is what every contender asks for, as provider/model.
const modelName = "bench/rehearsal"

// server is the model's side of a comparison: the product's own player behind
// real HTTP on loopback.
type server struct {
	*wire.Server
	url  string // without /v1
	http *http.Server
	done chan error
}

// serve starts a server that plays a script; wrap may stand before it.
func serve(script string, keep bool, wrap func(http.Handler) http.Handler) (*server, error) {
	parsed, err := rehearsal.Parse("bench.yaml", []byte(script))
	if err != nil {
		return nil, err
	}
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &server{
		Server: wire.New(rehearsal.NewPlayer(parsed), wire.Options{KeepBodies: keep}),
		url:    "http://" + at.Addr().String(), done: make(chan error, 1),
	}
	var handler http.Handler = s.Server
	if wrap != nil {
		handler = wrap(handler)
	}
	s.http = &http.Server{Handler: handler}
	go func() { s.done <- s.http.Serve(at) }() // close waits for it
	return s, nil
}

func (s *server) close() error {
	err := s.http.Close()
	if served := <-s.done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// openaiModel is the product's model as the host makes it: the adapter with
// retries and the fallback list.
func openaiModel(base string) (llm.Model, error) {
	m := openai.New(openai.Options{Name: "bench", BaseURL: base, APIKey: "key"})
	return asHost(m)
}

func asHost(m llm.Model) (llm.Model, error) {
	return failover.Fallback([]failover.Named{{
		Name: modelName, Provider: "bench", ID: "rehearsal", Model: failover.Retry(m, failover.RetryOptions{}),
	}}, failover.FallbackOptions{})
}
