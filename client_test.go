package agency_test

import (
	"maps"
	"slices"
	"testing"
)

// clientMayImport is all that the commands may know of the product. Whatever a
// run is made of is behind the host's socket or behind preview; a command that
// reaches for it has taken over a part of the host's work.
var clientMayImport = map[string]string{
	"agency":   "the words",
	"api":      "what the host is asked, and what it answers",
	"bug":      "what cannot happen",
	"codebase": "the answers on a checkout's code",
	"config":   "what is shown, checked and trusted",
	"daemon":   "the host: found, started, asked",
	"demo":     "the sample, and the player of scripts",
	"doctor":   "what the machine and a record are held to",
	"overseer": "how agents are, by the events that are shown",
	"preview":  "what is known of a run before its host is asked",
	"quality":  "findings as SARIF",
	"report":   "a report in words: the same as at the gate",
	"text":     "texts of others, cut",
	"ui":       "drawing",
}

// mainMayImport is what main alone needs beside that: a process that was started as
// a sandbox's child never becomes a command.
const mainMayImport = "internal/sandbox"

func TestClientImports(t *testing.T) {
	unused := maps.Clone(clientMayImport)
	delete(unused, "bug")
	delete(unused, "text")
	mains := 0
	for _, imp := range packages(t, false) {
		switch {
		case imp.from != "cmd/agency" || !ours(imp.to):
		case imp.to == mainMayImport:
			mains++
		case clientMayImport[top(imp.to)] == "":
			t.Errorf("cmd/agency imports %s", imp.to)
		default:
			delete(unused, top(imp.to))
		}
	}
	if mains != 1 {
		t.Errorf("%d files of cmd/agency import %s, want main.go alone", mains, mainMayImport)
	}
	for _, name := range slices.Sorted(maps.Keys(unused)) {
		t.Errorf("cmd/agency imports no %s: take it off the list", name)
	}
}

// engineNamedBy is the one place that knows which engine carries runs out: the
// wiring. All others know flow.Engine.
const engineNamedBy = "internal/daemon"

func TestEngineIsNamedOnce(t *testing.T) {
	named := 0
	for _, imp := range packages(t, false) {
		switch {
		case imp.to != "internal/flow/local":
		case imp.from == engineNamedBy:
			named++
		default:
			t.Errorf("%s imports %s: it needs flow.Engine", imp.from, imp.to)
		}
	}
	if named != 1 {
		t.Errorf("%d files of %s name the engine, want assemble.go alone", named, engineNamedBy)
	}
}
