//go:build unix

package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"agency/internal/llm/rehearsal"
	"agency/internal/llm/rehearsal/wire"
	"agency/internal/sandbox"
)

var goEnvs = sync.OnceValue(func() map[string]string {
	out, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE").Output()
	lines := strings.Split(string(out), "\n")
	if err != nil || len(lines) < 2 {
		return map[string]string{}
	}
	return map[string]string{"GOCACHE": lines[0], "GOMODCACHE": lines[1]}
})

func goEnv(name string) string { return goEnvs()[name] }

// conditions of scripts: sandbox holds where the full tier is to be had, maven
// and junit where the system brings what Maven and Gradle need to test without a
// network, venv where Python makes environments with pip.
func conditions(cond string) (bool, error) {
	if cond == "yarn1" { // the one whose options later ones have no more
		version, err := exec.Command("yarn", "--version").Output()
		return err == nil && strings.HasPrefix(string(version), "1."), nil
	}
	if cond == "sandbox" {
		_, err := sandbox.New(sandbox.Options{Mode: sandbox.ModeFull})
		return err == nil, nil
	}
	if jar, ok := map[string]string{"maven": "org/apache/maven/plugins/maven-surefire-plugin/2.22.3/*.jar", "junit": "junit/junit/4.x/*.jar"}[cond]; ok {
		found, err := filepath.Glob("/usr/share/maven-repo/" + jar)
		return err == nil && len(found) > 0, nil
	}
	if cond == "venv" {
		return exec.Command("python3", "-c", "import venv, ensurepip").Run() == nil, nil
	}
	if cond == "npm-servers" {
		return installNpmServers() == nil, nil
	}
	return false, os.ErrInvalid
}

// npmServers is where public MCP servers are, of which the name holds the version.
func npmServers() string { return filepath.Join(os.TempDir(), "agency-test-mcp-servers-2026.8.31") }

// installNpmServers gets them from npm where they are not there yet, whole or not at all.
var installNpmServers = sync.OnceValue(func() error {
	if _, err := os.Stat(npmServers()); err == nil {
		return nil
	}
	half, err := os.MkdirTemp("", "agency-test-mcp-servers-half-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(half) }() // where it was not renamed
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	npm := exec.CommandContext(ctx, "npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=0", "--fetch-timeout=20000", "--prefix", half,
		"@modelcontextprotocol/server-everything@2026.8.31", "@modelcontextprotocol/server-filesystem@2026.8.31")
	if err := npm.Run(); err != nil {
		return err
	}
	return os.Rename(half, npmServers())
})

// patience is how long a script waits for what must come: beside other work on a small
// machine a run takes minutes, and a script that hangs is told of at the end.
const patience = 3 * time.Minute

func commands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		"repo":     makeRepo,
		"setrun":   setRun,
		"code":     wantCode,
		"state":    waitState,
		"killhost": killHost,
		"newest":   newest,
		"until":    until,
		"model":    serveModel,
		"webhook":  serveWebhook,
		"vectors":  serveEmbeddings,
		"nowhere":  nowhere,
		"fill":     fill,
		"totals":   oneNumber,
		"hostile":  hostile,
		"clean":    wantClean,
	}
}

// repo DIR makes a git repository of the files that the script has there.
func makeRepo(ts *testscript.TestScript, _ bool, args []string) {
	dir := ts.MkAbs(args[0])
	for _, a := range [][]string{{"init", "-q"}, {"add", "-A"}, {"commit", "-q", "--allow-empty", "-m", "first"}} {
		cmd := exec.Command("git", a...)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + ts.Getenv("PATH"), "HOME=" + ts.Getenv("HOME"), "GIT_CONFIG_NOSYSTEM=1"}
		if out, err := cmd.CombinedOutput(); err != nil {
			ts.Fatalf("git %v: %v\n%s", a, err, out)
		}
	}
}

var firstLine = regexp.MustCompile(`(?m)^run ([a-z0-9-]+)(?: \(agency-\d+\))?$`)

// setrun sets $RUN from the first line that the last command printed.
func setRun(ts *testscript.TestScript, _ bool, _ []string) {
	out := ts.ReadFile("stdout")
	if m := firstLine.FindStringSubmatch(out); m != nil {
		ts.Setenv("RUN", m[1])
		return
	}
	id := strings.TrimSpace(out)
	if strings.ContainsAny(id, " \n") || id == "" {
		ts.Fatalf("no run id in %q", out)
	}
	ts.Setenv("RUN", id)
}

// code N COMMAND... runs a command and wants its exit code; the output is what
// stdout and stderr look at.
func wantCode(ts *testscript.TestScript, _ bool, args []string) {
	want := args[0]
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if e, ok := err.(*exec.ExitError); ok {
		got = e.ProcessState.String()
		got = strings.TrimPrefix(got, "exit status ")
	} else if err != nil {
		ts.Fatalf("%v: %v", args[1:], err)
	}
	if got != want {
		ts.Fatalf("%v: exit code %s, want %s", args[1:], got, want)
	}
}

// state RUN STATE waits until ps says that the run is in a state.
func waitState(ts *testscript.TestScript, _ bool, args []string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var last string
	for ctx.Err() == nil {
		if err := ts.Exec("agency", "ps", "--json"); err != nil {
			ts.Fatalf("ps: %v", err)
		}
		last = ts.ReadFile("stdout")
		_, rest, ok := strings.Cut(last, `"id": "`+args[0]+`"`)
		if ok {
			if _, s, ok := strings.Cut(rest, `"state": "`); ok && strings.HasPrefix(s, args[1]+`"`) {
				return
			}
		}
	}
	ts.Fatalf("run %s is not %s:\n%s", args[0], args[1], last)
}

// killhost [DIR] ends the host of the one repository, or of the one in a folder, without
// a word to it, as a crash does.
func killHost(ts *testscript.TestScript, _ bool, args []string) {
	id := struct{ ID string }{"*"}
	if len(args) > 0 {
		if err := json.Unmarshal([]byte(ts.ReadFile(filepath.Join(args[0], ".git", "agency-id"))), &id); err != nil {
			ts.Fatalf("%v", err)
		}
	}
	locks, err := filepath.Glob(filepath.Join(ts.Getenv("XDG_STATE_HOME"), "agency", "repos", id.ID, "host.lock"))
	if err != nil || len(locks) != 1 {
		ts.Fatalf("locks: %v %v", locks, err)
	}
	var holder struct{ PID int }
	b, err := os.ReadFile(locks[0])
	if err == nil {
		err = json.Unmarshal(b, &holder)
	}
	if err != nil {
		ts.Fatalf("%v", err)
	}
	if err := syscall.Kill(holder.PID, syscall.SIGKILL); err != nil {
		ts.Fatalf("kill %d: %v", holder.PID, err)
	}
	for syscall.Kill(holder.PID, 0) == nil { // a zombie of nobody's is gone at once, one of ours when it is reaped
		if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", holder.PID)); err != nil || strings.Contains(string(b), ") Z ") {
			return
		}
	}
}

// newest sets $RUN to the last run that ps shows, as soon as there is one.
func newest(ts *testscript.TestScript, _ bool, _ []string) {
	ids := regexp.MustCompile(`(?m)^    "id": "([^"]+)"`)
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if err := ts.Exec("agency", "ps", "--json"); err != nil {
			ts.Fatalf("ps: %v", err)
		}
		if found := ids.FindAllStringSubmatch(ts.ReadFile("stdout"), -1); len(found) > 0 {
			ts.Setenv("RUN", found[0][1])
			return
		}
	}
	ts.Fatalf("no run")
}

// model FILE KEY serves a script over the providers' wires at $URL, to who has
// the key. While there is a file $WORK/held, it does not answer what contains
// the text of that file.
func serveModel(ts *testscript.TestScript, _ bool, args []string) {
	script, err := rehearsal.Parse(args[0], []byte(ts.ReadFile(args[0])))
	if err != nil {
		ts.Fatalf("%v", err)
	}
	play, held := wire.New(rehearsal.NewPlayer(script), wire.Options{Key: args[1]}), ts.MkAbs(filepath.Join(ts.Getenv("WORK"), "held"))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		for text, err := os.ReadFile(held); err == nil && bytes.Contains(body, bytes.TrimSpace(text)); text, err = os.ReadFile(held) {
			select {
			case <-r.Context().Done():
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		play.ServeHTTP(w, r)
	}))
	ts.Defer(func() {
		s.CloseClientConnections() // a failed script may have left one without its answer
		s.Close()
	})
	ts.Setenv("URL", s.URL)
}

// webhook FILE serves a place to announce to at $HOOK_URL: what it is sent stands in the
// file, a message a line with its key, and whether it is signed with $HOOK_SECRET. While
// there is a file $WORK/down, it answers that it cannot.
func serveWebhook(ts *testscript.TestScript, _ bool, args []string) {
	log, down, secret := ts.MkAbs(args[0]), filepath.Join(ts.Getenv("WORK"), "down"), ts.Getenv("HOOK_SECRET")
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		if err != nil {
			return
		}
		if _, err := os.Stat(down); err == nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		mac := hmac.New(sha256.New, []byte(secret))
		_, _ = mac.Write(append([]byte(r.Header.Get("X-Agency-Timestamp")), body...))
		signed := "unsigned"
		if hmac.Equal([]byte(r.Header.Get("X-Agency-Signature")), []byte("sha256="+hex.EncodeToString(mac.Sum(nil)))) {
			signed = "signed"
		}
		f, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		_, _ = fmt.Fprintf(f, "%s %s %s\n", signed, r.Header.Get("Idempotency-Key"), body)
		_ = f.Close()
	}))
	ts.Defer(s.Close)
	ts.Setenv("HOOK_URL", s.URL+"/hook-canary-Ut14yhn88c")
}

// fill FILE... replaces ${NAME} in files by the script's own variables.
func fill(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		text := os.Expand(ts.ReadFile(name), func(v string) string {
			if s := ts.Getenv(v); s != "" {
				return s
			}
			return "${" + v + "}"
		})
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o600))
	}
}

// until waits for a file to contain a text: what a command in the background
// has printed shows how far it is.
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: until FILE TEXT")
	}
	deadline := time.After(patience)
	for {
		b, err := os.ReadFile(ts.MkAbs(args[0]))
		if err == nil && strings.Contains(string(b), args[1]) {
			return
		}
		select {
		case <-deadline:
			ts.Fatalf("%s does not say %q:\n%s", args[0], args[1], b)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
