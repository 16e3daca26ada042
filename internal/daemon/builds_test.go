//go:build unix

package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/config"
	"agency/internal/sandbox"
)

// user is somebody with a repository, folders of their own and two builds.
type user struct {
	t    *testing.T
	repo string
	env  []string
	p    Place
}

// builtAs links the command as a version that was made at a time.
func builtAs(t *testing.T, dir, version string, made time.Time) string {
	t.Helper()
	file := filepath.Join(dir, "agency-"+version)
	out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w -X main.version="+version, "-o", file, "agency/cmd/agency").CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	if err := os.Chtimes(file, made, made); err != nil {
		t.Fatal(err)
	}
	return file
}

func newUser(t *testing.T, script string) *user {
	t.Helper()
	loc, f := aRepo(t)
	dir := filepath.Dir(loc.WorkTree)
	u := &user{t: t, repo: loc.WorkTree}
	file := filepath.Join(dir, "script.yaml")
	conf := filepath.Join(dir, "config", "agency")
	if err := os.MkdirAll(conf, 0o700); err != nil {
		t.Fatal(err)
	}
	text := "version: 1\nproviders: {r: {type: rehearsal, script: " + file + "}}\n" +
		"models: {reasoning-heavy: [r/x], capable: [r/x], fast-cheap: [r/x]}\n" +
		"agents: {generalist: {max_turns: 60, max_tokens_per_session: 10000000}}\n"
	for path, text := range map[string]string{file: script, filepath.Join(conf, "config.yaml"): text} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	u.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "XDG_CONFIG_HOME=" + filepath.Join(dir, "config"), "XDG_STATE_HOME=" + filepath.Join(dir, "state"),
		"XDG_CACHE_HOME=" + filepath.Join(dir, "cache"), "XDG_RUNTIME_DIR=" + f.Socket, "NO_COLOR=1", "AGENCY_HOST_IDLE=60s",
	}
	var err error
	if u.p, err = Claim(loc, config.Folders{State: filepath.Join(dir, "state", "agency"), Cache: filepath.Join(dir, "cache"), Socket: filepath.Join(f.Socket, "agency")}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if by, held, err := HolderOf(u.p); err == nil && held && by.PID > 0 {
			_ = syscall.Kill(by.PID, syscall.SIGTERM)
			for held && err == nil { // its folders are removed next
				_ = pause(context.Background(), 5*time.Millisecond)
				_, held, err = HolderOf(u.p)
			}
		}
	})
	return u
}

// does runs a command and gives what it prints.
func (u *user) does(binary string, args ...string) string {
	u.t.Helper()
	cmd := exec.CommandContext(u.t.Context(), binary, args...)
	cmd.Dir, cmd.Env = u.repo, u.env
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		u.t.Fatalf("%s %v: %v\n%s%s", filepath.Base(binary), args, err, out.String(), errs.String())
	}
	return out.String()
}

func (u *user) host() Holder {
	u.t.Helper()
	by, held, err := HolderOf(u.p)
	if err != nil || !held {
		u.t.Fatalf("no host: %v", err)
	}
	return by
}

func (u *user) run(binary string) api.RunDoc {
	u.t.Helper()
	var runs []api.RunDoc
	if err := json.Unmarshal([]byte(u.does(binary, "ps", "--json")), &runs); err != nil || len(runs) != 1 {
		u.t.Fatalf("ps: %v %v", runs, err)
	}
	return runs[0]
}

// Two builds of one wire talk to each other's hosts; only run and resume with
// the newer one take over, and the run goes on where it stood.
func TestTwoBuildsHandOver(t *testing.T) {
	if testing.Short() {
		t.Skip("links the command twice")
	}
	if _, err := sandbox.New(sandbox.Options{Mode: sandbox.ModeFull}); err != nil {
		t.Skipf("the full sandbox tier is refused here: %v", err)
	}
	bin := t.TempDir()
	older := builtAs(t, bin, "1.0.0", time.Now().Add(-time.Hour))
	newer := builtAs(t, bin, "2.0.0", time.Now().Add(-time.Minute))
	u := newUser(t, slow)
	id := strings.TrimSpace(u.does(older, "run", "add a file", "--detach"))
	first := u.host()
	if first.Build.Version != "1.0.0" {
		t.Fatalf("host %+v", first)
	}
	if doc := u.run(newer); string(doc.ID) != id || !doc.Live {
		t.Errorf("the newer build sees %+v", doc)
	}
	u.does(newer, "say", id, "hello")
	if u.host().PID != first.PID {
		t.Error("a command that does no work took over")
	}
	w := &work{t: t, place: u.p}
	c := u.p.Dial()
	w.until(c, agency.RunID(id), 0, "turn_completed")
	c.Close()

	u.does(newer, "resume", id, "--detach")
	second := u.host()
	if second.PID == first.PID || second.Build.Version != "2.0.0" {
		t.Fatalf("resume with a newer build left the host %+v", second)
	}
	if doc := u.run(older); string(doc.ID) != id || !doc.Live {
		t.Errorf("the older build sees %+v", doc)
	}
	c = u.p.Dial()
	defer c.Close()
	w.until(c, agency.RunID(id), 0, "run_waiting")
	u.does(older, "approve", id)
	w.until(c, agency.RunID(id), 0, "run_succeeded")
	if now := u.host(); now.PID != second.PID {
		t.Errorf("the older build took over: %+v", now)
	}
	if n := count(t, c, agency.RunID(id), "turn_completed"); n != 42 {
		t.Errorf("%d turns of a script of 42: something was done twice", n)
	}
	if _, err := os.Stat(filepath.Join(u.repo, "new.txt")); err != nil {
		t.Error(err)
	}
}
