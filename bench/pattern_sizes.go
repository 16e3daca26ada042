package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"sync"
	"sync/atomic"

	"agency/internal/llm"
	"agency/internal/roster/agentfile"
)

// growthRow compares a team's requests late with those early.
func growthRow() row {
	return row{figures: []string{"pattern/team-growth"}, measure: func(ctx context.Context, b *bench) ([]figure, error) {
		early, late, err := teamSizes(ctx, b)
		return []figure{{"pattern/team-growth", late / early, atMost(1.02), []string{
			fmt.Sprintf("%.0f bytes a cycle and member late, %.0f early", late, early),
		}}}, err
	}}
}

// teamSizes is by how many bytes a member's request grows a cycle, over the first and the
// last ten cycles of a team.
func teamSizes(ctx context.Context, b *bench) (early, late float64, err error) {
	dir, err := os.MkdirTemp(b.dir, "agency-bench-team-")
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	super, team := file("super"), file("crew")
	team.Team = &agentfile.Team{Supervisor: super.Name}
	cast := agentfile.Cast{Agents: []agentfile.File{team, super}}
	for i := range crewed {
		f := file(fmt.Sprintf("m%d", i))
		team.Team.Members = append(team.Team.Members, f.Name)
		cast.Agents = append(cast.Agents, f)
	}
	model, err := atOnce()
	if err != nil {
		return 0, 0, err
	}
	sizes := &sizing{next: model, of: map[string][]int64{}}
	k, err := openCompany(ctx, dir, cast, sizes)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, k.close()) }()
	if err := k.play(ctx); err != nil {
		return 0, 0, err
	}
	if n := sizes.broken.Load(); n > 0 {
		return 0, 0, fmt.Errorf("%d requests do not begin as the one before", n)
	}
	var first, last int64
	for _, of := range sizes.of {
		if len(of) < cycled {
			return 0, 0, fmt.Errorf("a member had %d turns", len(of))
		}
		first += of[11] - of[1]
		last += of[cycled-1] - of[cycled-11]
	}
	n := float64(len(sizes.of) * 10)
	return float64(first) / n, float64(last) / n, nil
}

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
