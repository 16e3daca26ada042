package notify

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agency/internal/agency"
)

// What a command is told are values: no text of a run is read by the shell, and no key of the
// host stands in its environment.
func TestCommandIsToldByValues(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("ANTHROPIC_API_KEY", "sk-canary")
	hostile := "$(touch owned) `touch owned` '; touch owned; \"\n\x00touch owned"
	what := About{Event: "gate", Run: "r1", Number: 42, State: "waiting", Repository: "/x", Gate: "r1.merge-1", Summary: hostile, Key: "k"}
	err := Sender{}.Send(t.Context(), Channel{Type: Command, Command: `cat >doc; env >env; printf %s "$AGENCY_SUMMARY" >summary; eval : $AGENCY_RUN`}, Message{About: what})
	if err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	var got About
	if err := json.Unmarshal([]byte(read("doc")), &got); err != nil || got != what {
		t.Errorf("on standard input: %+v, %v", got, err)
	}
	if got := read("summary"); got != strings.ReplaceAll(hostile, "\x00", "") {
		t.Errorf("summary %q", got)
	}
	env := read("env")
	for _, want := range []string{"AGENCY_EVENT=gate\n", "AGENCY_RUN=r1\n", "AGENCY_NUMBER=42\n", "AGENCY_STATE=waiting\n", "AGENCY_REPOSITORY=/x\n", "AGENCY_GATE=r1.merge-1\n", "AGENCY_KEY=k\n", "HOME=" + dir + "\n"} {
		if !strings.Contains("\n"+env, "\n"+want) {
			t.Errorf("%q is not in the environment", want)
		}
	}
	if strings.Contains(env, "canary") {
		t.Error("a key of the host is in the environment")
	}
	if _, err := os.Stat(filepath.Join(dir, "owned")); err == nil {
		t.Error("a text of the run was executed")
	}
}

// A command that hangs is ended with what it started, one that fails says so with the end of
// its output; neither is tried again.
func TestCommandsThatFail(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	for line, want := range map[string]string{
		"echo $$ >pid; sleep 1000 & echo waits; wait":           "it was ended after 300ms: waits",
		"yes 0123456789 | head -c 100000; echo the end; exit 3": "it ended with code 3: ",
	} {
		begun := time.Now()
		err := Sender{Patience: 300 * time.Millisecond}.Send(t.Context(), Channel{Type: Command, Command: line}, Message{})
		if err == nil || !strings.HasPrefix(err.Error(), want) || len(err.Error()) > 2*maxSaid || agency.KindOf(err) != agency.KindInvalid {
			t.Errorf("%s: %v", line, err)
		}
		if time.Since(begun) > 10*time.Second {
			t.Errorf("%s: it took %s", line, time.Since(begun))
		}
	}
	pid, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	group, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range group {
		b, _ := os.ReadFile(p) // it may have ended meanwhile
		if _, rest, ok := strings.Cut(string(b), ") "); ok {
			if f := strings.Fields(rest); f[2] == strings.TrimSpace(string(pid)) && f[0] != "Z" {
				t.Errorf("%s is left of it", p)
			}
		}
	}
}
