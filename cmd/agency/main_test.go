//go:build unix

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"agency/internal/daemon"
	"agency/internal/race"
	"agency/internal/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Child()
	daemon.Child()
	testscript.Main(m, map[string]func(){
		"agency":   func() { os.Exit(run(os.Args[1:])) },
		"nouserns": func() { os.Exit(withoutNamespaces(os.Args)) },
		"nowalls":  func() { os.Exit(withoutNamespaces(os.Args)) },

		"withregistry": func() { os.Exit(withRegistry(os.Args)) },
	})
}

// The behaviour of the command, as people see it: every script has folders of
// its own, so that its host is its own too, and that host ends with it.
func TestScript(t *testing.T) {
	dir, some := "testdata/script", []string(nil)
	if race.Enabled || testing.Short() {
		dir = ""
		all, err := filepath.Glob("testdata/script/*.txtar")
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range all {
			name := strings.TrimSuffix(filepath.Base(path), ".txtar")
			if slices.Contains(busiest, name) == race.Enabled && (race.Enabled || !slices.Contains(longest, name)) {
				some = append(some, path)
			}
		}
	}
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		Files:               some,
		Deadline:            time.Now().Add(25 * time.Minute), // of all scripts; one that hangs is shown
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               surroundings,
		Cmds:                commands(),
		Condition:           conditions,
	})
}

// busiest are the scripts in which a host does most at once, which is what the
// race detector wants to see: answers while agents wait and work, pauses, kills,
// agents that start others. Where time is short it alone runs them.
var busiest = []string{"cancel_team", "clarify", "handoff", "pause", "spawn"}

// longest are the scripts that are left out where time is short: together they take
// as long as all others, which show the same parts at work.
var longest = []string{
	"beside", "coverage_whole", "critic_faults", "demo", "dependencies", "edited", "features", "lang_cargo", "lang_pip", "lang_rust",
	"many", "monorepo", "moved", "need_not_pass", "routing", "stats", "team_batch", "team_file", "team_structural", "team_suite",
}

// managed is where a version manager of whoever runs the tests keeps its
// toolchains.
func managed(name, inHome string) string {
	if at := os.Getenv(name); at != "" {
		return at
	}
	return filepath.Join(os.Getenv("HOME"), inHome)
}

// examples is the folder of the examples that users are shown.
func examples() string {
	dir, err := filepath.Abs("../../examples")
	if err != nil {
		return "examples"
	}
	return dir
}

// surroundings gives a script a home, the machine's Go, and nothing else of
// whoever runs the tests.
func surroundings(e *testscript.Env) error {
	runtime, err := os.MkdirTemp("", "ag") // a socket's path must be short
	if err != nil {
		return err
	}
	e.Defer(func() { _ = os.RemoveAll(runtime) })
	home := filepath.Join(e.WorkDir, ".home")
	for k, v := range map[string]string{
		"HOME": home, "XDG_CONFIG_HOME": filepath.Join(home, "config"), "XDG_STATE_HOME": filepath.Join(home, "state"),
		"XDG_CACHE_HOME": filepath.Join(home, "cache"), "XDG_RUNTIME_DIR": runtime, "AGENCY_HOST_IDLE": "2s",
		"GOCACHE": goEnv("GOCACHE"), "GOMODCACHE": goEnv("GOMODCACHE"), "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=mod -vet=off",
		"GIT_CONFIG_GLOBAL": filepath.Join(home, ".gitconfig"), "GIT_CONFIG_NOSYSTEM": "1", "NO_COLOR": "1",
		"GORACE":      "atexit_sleep_ms=20", // a second by default, which each command of a script would take longer
		"EXAMPLES":    examples(),
		"NPM_SERVERS": npmServers(),
		"RUSTUP_HOME": managed("RUSTUP_HOME", ".rustup"), "PYENV_ROOT": managed("PYENV_ROOT", ".pyenv"),
	} {
		e.Setenv(k, v)
	}
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(home, ".gitconfig"),
		[]byte("[user]\n\tname = Tess\n\temail = tess@example.com\n[init]\n\tdefaultBranch = main\n"), 0o600)
}
