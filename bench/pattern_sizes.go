package main

import (
	"bytes"
	"context"
	"iter"
	"sync"
	"sync/atomic"

	"agency/internal/llm"
)

// sizing is a model that notes how large each session's requests are, and whether each begins
// with the bytes of the one before.
type sizing struct {
	next   llm.Model
	broken atomic.Int64

	mu   sync.Mutex
	of   map[string][]int64
	last map[string][]byte
}

// Ask is for llm.Model.
func (s *sizing) Ask(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	sent := messagesOf(req)
	s.mu.Lock()
	s.of[req.Session] = append(s.of[req.Session], int64(len(sent)))
	if s.last == nil {
		s.last = map[string][]byte{}
	}
	if !bytes.HasPrefix(sent, s.last[req.Session]) {
		s.broken.Add(1)
	}
	s.last[req.Session] = sent
	s.mu.Unlock()
	return s.next.Ask(ctx, req)
}

// messagesOf are the messages of a request, one after the other as they are encoded.
func messagesOf(req llm.Request) (all []byte) {
	for _, m := range req.Messages {
		all = append(all, llm.Encode(llm.Request{Messages: []llm.Message{m}})...)
	}
	return all
}
