package verify

import (
	"context"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"

	"agency/internal/agency"
	"agency/internal/check"
)

// needsBase tells whether the results of the claim's tests can only be judged
// beside the base's: something is red or missing, a test may be a proof, or the
// change could have taken tests away.
func (f facts) needsBase() bool {
	s := f.claimSuite
	if !s.receipt.OK() || len(s.tests) == 0 {
		return f.isClaim() || !s.receipt.OK()
	}
	if !f.isClaim() { // what a merged tree proves was judged at its claims
		return false
	}
	for _, c := range f.Criteria {
		if c.Check == nil || c.Check.Test != "" {
			return true
		}
	}
	for _, c := range f.changes {
		if isTestFile(c.Path) || isRunner(c.Path) || c.Status == 'D' {
			return true
		}
	}
	return false
}

// hasNamedTests tells whether every test that a criterion or its evidence names
// is among the results.
func (f facts) hasNamedTests() bool {
	for _, c := range checksOf(f.task) {
		if _, ok := agency.LookUp(f.claimSuite.tests, c.Test); c.Test != "" && !ok {
			return false
		}
	}
	return true
}

// doesNothing tells whether a line of shell consists of commands that succeed
// whatever the repository holds.
func doesNothing(line string) bool {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(line), "")
	if err != nil {
		return false
	}
	calls, idle := 0, 0
	syntax.Walk(file, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		calls++
		switch check.Word(call.Args[0]) {
		case "true", ":", "echo", "printf", "exit":
			idle++
		}
		return true
	})
	return calls > 0 && calls == idle
}

// turns lets one caller at a time work under a name.
type turns struct {
	mu    sync.Mutex
	names map[string]chan struct{}
}

// take waits for its turn, which done gives back, or for the end of ctx.
func (t *turns) take(ctx context.Context, name string) (done func(), err error) {
	t.mu.Lock()
	if t.names == nil {
		t.names = map[string]chan struct{}{}
	}
	turn := t.names[name]
	if turn == nil {
		turn = make(chan struct{}, 1)
		t.names[name] = turn
	}
	t.mu.Unlock()
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
