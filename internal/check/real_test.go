package check_test

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/ecosystem"
	"agency/internal/sandbox"
)

var realRunners = flag.Bool("real", false, "install Jest, Vitest and Mocha with npm and run them, instead of what was recorded of them")

// TestRealRunners runs the runners of JavaScript as npm installs them: what was
// recorded of them is what the parsers were written for, and this shows that it
// is still so.
func TestRealRunners(t *testing.T) {
	if !*realRunners {
		t.Skip("needs -real, npm and a registry")
	}
	const suite = `describe('sums', () => {
  it('adds', () => {});
  it('adds wrongly', () => { throw new Error('boom'); });
  it.skip('waits', () => {});
});
`
	for name, tt := range map[string]struct {
		line  string
		files map[string]string
		at    string
	}{
		"jest":   {"npx jest", map[string]string{"sum.test.js": suite}, "sum.test.js"},
		"vitest": {"npx vitest run", map[string]string{"sum.test.js": "import { describe, it } from 'vitest';\n" + suite}, "sum.test.js"},
		"mocha":  {"npx mocha", map[string]string{"test/sum.js": suite}, "test/sum.js"},
	} {
		t.Run(name, func(t *testing.T) {
			tt.files["package.json"] = `{"name": "x", "version": "1.0.0", "devDependencies": {"` + name + `": "*"}}`
			w := newWorld(t, tt.files)
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			npm := exec.CommandContext(ctx, "npm", "install", "--no-audit", "--no-fund")
			npm.Dir = w.dir
			if out, err := npm.CombinedOutput(); err != nil {
				t.Fatalf("npm install: %v\n%s", err, out)
			}
			w.checker = check.New(check.Options{Runner: w.runner, DB: w.db, LayerDir: w.layers, Environment: ecosystem.Environment{Tools: toolsOf(t, w.dir)}})
			wantTests(t, w, tt.line, 1, map[string]agency.TestStatus{
				tt.at + " > sums > adds": passed, tt.at + " > sums > adds wrongly": failed, tt.at + " > sums > waits": skipped,
			})
		})
	}
}

// TestReadsOfOthers runs a program that lies outside of the system's folders,
// which only sandbox.read shows.
func TestReadsOfOthers(t *testing.T) {
	t.Parallel()
	for _, mode := range []sandbox.Mode{sandbox.ModeFull, sandbox.ModeLandlock} {
		t.Run(string(mode), func(t *testing.T) {
			w := newWorld(t, map[string]string{"a": ""})
			tools := t.TempDir()
			if err := os.WriteFile(filepath.Join(tools, "tool"), []byte("#!/bin/sh\necho the tool ran\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			runner, err := sandbox.New(sandbox.Options{Mode: mode, StateDir: t.TempDir()})
			if err != nil {
				t.Skipf("no tier %s here: %v", mode, err)
			}
			for _, reads := range [][]sandbox.Mount{nil, {{Host: tools, At: tools}}} {
				w.checker = check.New(check.Options{Runner: runner, DB: w.db, LayerDir: w.layers, Reads: reads})
				r := w.run(w.subject(""), test(filepath.Join(tools, "tool")+"; echo x > "+filepath.Join(tools, "new")))
				if ran := strings.Contains(r.Output, "the tool ran"); ran != (reads != nil) || r.ExitCode == 0 {
					t.Errorf("reads %v: exit code %d, %s", reads, r.ExitCode, r.Output)
				}
			}
		})
	}
}
