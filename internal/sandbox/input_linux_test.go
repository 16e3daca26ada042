package sandbox

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A command that is spoken with reads its input as it comes and ends with it, in every tier
// that counts its processes; what looks on at a folder is let be while that is made still,
// sees what changes there, and cannot change it.
func TestInput(t *testing.T) {
	counters(t, func(t *testing.T, r *Runner, c *Census) {
		seen := t.TempDir()
		w := newWorkspace(t, sh(`while read -r line; do case $line in look) cat "$SEEN/file";; write) (echo x >"$SEEN/file") 2>/dev/null && echo wrote || echo refused;; *) echo "said $line";; esac; done`)...)
		w.spec.Tools.ReadOnly = append(w.spec.Tools.ReadOnly, Mount{Host: seen, At: seen, Own: true, Apart: true})
		w.spec.Env = append(w.spec.Env, "SEEN="+seen)
		theirs, ours, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		answers, out := io.Pipe()
		w.spec.Input, w.spec.Stdout = theirs, out
		ended := make(chan Result, 1)
		go func() {
			res, err := r.Run(testContext(), w.spec)
			if err != nil {
				t.Error(err)
			}
			_ = out.Close()
			ended <- res
		}()
		lines := bufio.NewScanner(answers)
		ask := func(line, want string) {
			t.Helper()
			if _, err := fmt.Fprintln(ours, line); err != nil {
				t.Fatal(err)
			}
			if !lines.Scan() || lines.Text() != want {
				t.Fatalf("%s is answered %q, want %q", line, lines.Text(), want)
			}
		}
		ask("one", "said one")
		if err := os.WriteFile(filepath.Join(seen, "file"), []byte("now\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := c.Still(t.Context(), seen); err != nil {
			t.Fatal(err)
		}
		ask("look", "now")
		ask("write", "refused")
		ask(strings.Repeat("x", 1<<15), "said "+strings.Repeat("x", 1<<15))
		if err := ours.Close(); err != nil {
			t.Fatal(err)
		}
		if res := <-ended; res.Cause != CauseExited || res.ExitCode != 0 {
			t.Errorf("without input it ended %s %d: %s", res.Cause, res.ExitCode, res.Output)
		}
		if _, err := theirs.Read(make([]byte, 1)); err == nil {
			t.Error("the input is still open")
		}
	})
}
