//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/config"
	"agency/internal/daemon"
	"agency/internal/git"
	"agency/internal/git/gittest"
	"agency/internal/host/settings"
	"agency/internal/ui/tui"
)

// --yes does not answer a refused merge, and after the gate's time the command
// leaves with the code of a gate that waits. A program that reads the events
// has the commands on standard error.
func TestYesLeavesARefusedMergeAfterItsTime(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		d, req := hostOf(t, impatient)
		c := &daemon.Connected{Client: d.Dial()}
		defer c.Close()
		if err := os.WriteFile(filepath.Join(req.Repo, "new.txt"), []byte("mine\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		started, err := c.Start(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		var out, said bytes.Buffer
		a := &app{repository: repository{terminal: terminal{out: tui.NewScreen(&out, tui.Style{}), err: tui.NewScreen(&said, tui.Style{})}, now: time.Now}}
		err = a.follow(t.Context(), c, started.Run, followOptions{yes: true, levels: levels{json: asJSON}})
		if codeOf(err) != exitWaiting {
			t.Errorf("json %v: %v\n%s%s", asJSON, err, &out, &said)
		}
		for _, want := range []string{"waits at the merge gate", "new.txt", "agency approve " + string(req.ID), "agency reject " + string(req.ID)} {
			if !strings.Contains(said.String(), want) {
				t.Errorf("json %v: no %q on standard error:\n%s", asJSON, want, &said)
			}
		}
	}
}

// impatient lets every deadline of a person pass at once.
func impatient(_ time.Duration, f func()) (stop func() bool) {
	go f()
	return func() bool { return false }
}

// hostOf starts a host in this process, of a repository without a language,
// and gives the request of a run that adds new.txt.
func hostOf(t *testing.T, after func(time.Duration, func()) func() bool) (*daemon.Daemon, api.RunRequest) {
	t.Helper()
	dir := gittest.New(t, "README", "A repository without a language.\n").Dir
	loc, err := git.Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	short, err := os.MkdirTemp("", "ag") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(short) })
	p, err := daemon.Claim(loc, config.Folders{State: t.TempDir(), Cache: t.TempDir(), Socket: filepath.Join(short, "s")})
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(short, "script.yaml")
	if err := os.WriteFile(script, []byte(adds), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := config.Defaults()
	cfg.Providers = map[string]config.Provider{"rehearsal": {Type: "rehearsal", Script: script}}
	cfg.Sandbox.Mode = "off"
	for level := range cfg.Models {
		cfg.Models[level] = []string{"rehearsal/x"}
	}
	d, err := daemon.Start(context.Background(), daemon.Options{Place: p, After: after, Settings: settings.Only(cfg)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	raw, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return d, api.RunRequest{
		ID: "add-a-file", Goal: "Add a file", Repo: loc.WorkTree, Mode: agency.ModeSingle, Land: agency.LandMerge, Yes: true, Untested: true, Config: raw, By: "Tess",
	}
}

const adds = `
version: 1
name: adds
rules:
  - when: {turn: 1}
    calls: [{tool: write_file, args: {path: new.txt, content: "theirs\n"}}]
  - when: {turn: "2+"}
    calls: [{tool: signal_complete, args: {evidence: done}}]
`

// What a manager reports begins with a heading more often than not, which says
// nothing.
func TestFirstWords(t *testing.T) {
	for text, want := range map[string]string{
		"# Report\n\n## Done\nBoth bugs are mended.\nMore.": "Both bugs are mended.", "One line": "One line", "# Only a heading\n": "", "": "",
	} {
		if got := firstWords(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// A dry run is removed once it has ended, however: nothing advises to look at it.
func TestADryRunThatEndedIsNotToBeLookedAt(t *testing.T) {
	for _, state := range []agency.RunState{agency.StateFailed, agency.StateCancelled, agency.StateSucceeded} {
		d := api.InspectDoc{RunDoc: api.RunDoc{ID: "run-1", State: state, Why: api.Why{Reason: "the plan was not accepted"}, Dry: true}}
		got := (&follower{}).last(d, exitFailed)
		if strings.Contains(got, "agency ") || state != agency.StateSucceeded && !strings.Contains(got, "the plan was not accepted") {
			t.Errorf("%s: %q", state, got)
		}
		d.Dry = false
		if got := (&follower{}).last(d, exitFailed); !strings.Contains(got, "agency inspect run-1 --report") {
			t.Errorf("%s, not dry: %q", state, got)
		}
	}
}
