// Package tool is what an agent can do. The tools stand in the packages below it,
// one file of Go and one of Markdown each: file, oversee, shell, symbol, team and web; toolset
// lists them.
// A tool has typed arguments, from which its JSON
// schema is made and against which a call is decoded strictly; it reaches the
// world only through its Env; and it answers with text that a model reads.
//
// A call that is wrong, refused or fails in a way that the model can mend is a
// Result that begins "error: ". An error of Go means that the world itself did
// not answer (no sandbox, disk full, cancelled), and the session decides.
//
// Which role is offered which tool is decided by package roster, when a call
// runs and what becomes of its effect by package session.
package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"agency/internal/llm"
)

// Access says whether a tool changes anything: reads of one turn run beside
// each other, writes in order (docs/design.md, Sessions).
type Access uint8

// The two kinds of access.
const (
	Read Access = iota
	Write
)

// Scope says what a tool touches. After a crash, calls on the workspace run
// again on the restored tree; calls on the board are idempotent by (session,
// turn, index) and run by a session in the transaction that settles the turn.
type Scope uint8

// The scopes.
const (
	Workspace Scope = iota
	Board
	// Elsewhere is what no tree holds: a call that was begun is never made again.
	Elsewhere
)

// Tool is one tool. It is immutable and shared by all sessions.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage // of an object; names that it does not have are refused
	Access      Access
	Scope       Scope
	// Last is set for tools that end or park the session: they run after every
	// other call of their turn.
	Last bool
	// Joins is set for those of which several calls of one turn park the session
	// together.
	Joins bool

	form string // the right form of its arguments, for errors
	run  func(ctx context.Context, t Tool, env *Env, raw json.RawMessage) (Result, error)
}

// Result is what a call answers.
type Result struct {
	Text string
	// Failed is set where Text begins "error: ".
	Failed bool
	// Refused is set where the call did not run at all: its arguments, a path
	// or a rule forbade it.
	Refused bool
	// Outcome is how the command ended that the call ran, on one line; empty: it ran
	// none.
	Outcome string
	// Red is set where that command did not end well.
	Red bool
	// Wrote is the file that the call created, changed or deleted.
	Wrote string
	// AlsoWrote are more of them.
	AlsoWrote []string
	// Shows are pictures beside Text, for models that see; Text says what they are.
	Shows []llm.Image
	// Effect is what the session has to do about it; nil for most calls.
	Effect Effect
}

// Run decodes the arguments and runs the call. The text is capped and valid
// UTF-8.
func (t Tool) Run(ctx context.Context, env *Env, raw json.RawMessage) (Result, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = json.RawMessage(`{}`)
	}
	if len(raw) > maxArguments {
		return t.Malformed("the arguments have " + Size(int64(len(raw))) + ", the most is " + Size(maxArguments)), nil
	}
	res, err := t.run(ctx, t, env, raw)
	if err != nil {
		return Answer(env.hideIn(err))
	}
	res.Text = Cap(env.Hide(res.Text), MaxResult) // a cut could hide half of a secret
	return res, nil
}

// Malformed is the answer to a call whose arguments are not of the right form:
// what is wrong, and the form.
func (t Tool) Malformed(what string) Result {
	return Refuse(what + "\nThe right form: " + t.Name + " " + t.form)
}

// Unknown is the answer to a call of a tool that is not offered.
func Unknown(name string, offered []Tool) Result {
	names := make([]string, 0, len(offered))
	for _, t := range offered {
		names = append(names, t.Name)
	}
	slices.Sort(names)
	return Refuse("there is no tool " + QuoteName(name) + " here. Your tools: " + strings.Join(names, ", "))
}
