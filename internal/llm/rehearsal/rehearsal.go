// Package rehearsal is a language model without a model: it plays a script,
// offline, and always the same way for the same request. The demo, the tests,
// a dry run of a configuration and fault injection use it.
//
// What it answers follows from the script, the seed and the request alone; a
// restarted process answers the same request identically. The one exception
// are faults with `times`: they count the identical requests that this
// process has seen. It runs no tool and knows no HTTP; rehearsal/wire does.
package rehearsal

import (
	"context"
	"iter"

	"agency/internal/llm"
)

// Script is a decoded and checked script.
type Script struct{}

// Parse decodes a script strictly. Errors name file, line and column and show
// the line with a caret.
func Parse(file string, data []byte) (*Script, error) { return &Script{}, nil }

// Default is the embedded script: a generalist that looks at any repository,
// runs its tests and says honestly that it cannot do more.
func Default() (*Script, error) { return &Script{}, nil }

// Player answers requests by a script. It is safe for concurrent use.
type Player struct{}

// NewPlayer starts a player with the script's seed.
func NewPlayer(s *Script) *Player { return &Player{} }

// Model is the player as an in-process llm.Model.
type Model struct {
	name   string
	player *Player
}

// NewModel wraps a player; name is the provider's configured name.
func NewModel(name string, p *Player) *Model { return &Model{name: name, player: p} }

// Ask plays one answer, with the script's latency; the context ends it.
func (m *Model) Ask(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {}
}
