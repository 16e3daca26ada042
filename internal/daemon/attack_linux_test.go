package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/config"
	"agency/internal/sandbox"
)

// attackName, as the first argument of this program, makes it one that attacks
// the host of the run that it is a command of.
const attackName = "attack-host"

// attacker never returns in such a program.
func attacker() {
	if len(os.Args) != 5 || os.Args[1] != attackName {
		return
	}
	start, err := os.ReadFile(os.Args[4])
	if err != nil {
		fmt.Println(err)
	}
	attack(os.Args[2], os.Args[3], string(start), os.Stdout)
	os.Exit(0)
}

// attack asks the host on a socket for everything that it does, as a process
// that has read whatever it could, and says what came of it a line each.
func attack(socket, tokenFile, start string, out io.Writer) {
	token, err := os.ReadFile(tokenFile)
	_, _ = fmt.Fprintf(out, "token: %v\n", outcome(err, len(token)))
	lock, err := os.ReadFile(filepath.Join(filepath.Dir(tokenFile), "host.lock"))
	_, _ = fmt.Fprintf(out, "state folder: %v\n", outcome(err, len(lock)))
	c, err := net.DialTimeout("unix", socket, time.Second)
	_, _ = fmt.Fprintf(out, "socket: %v\n", outcome(err, 1))
	if err == nil {
		_ = c.Close()
	}
	for _, ask := range attacks(start) {
		status, err := ask.send(socket, strings.TrimSpace(string(token)))
		if err != nil {
			status = "unreachable"
		}
		_, _ = fmt.Fprintf(out, "%s %s: %s\n", ask.method, ask.path, status)
	}
}

func outcome(err error, n int) string {
	if err != nil || n == 0 {
		return "refused"
	}
	return "REACHED"
}

// asked is a request as anybody can write one.
type asked struct{ method, path, body string }

func attacks(start string) []asked {
	return []asked{
		{"GET", "/hello", ""},
		{"POST", "/v1/runs", start},
		{"GET", "/v1/runs", ""},
		{"GET", "/v1/events?run=run-1", ""},
		{"GET", "/v1/runs/run-1/copy", ""},
		{"POST", "/v1/runs/run-1/answer", `{"verb":"approve","by":"x"}`},
		{"POST", "/v1/runs/run-1/say", `{"id":"m1","text":"x","by":"x"}`},
		{"POST", "/v1/runs/run-1/cancel", `{"by":"x"}`},
		{"POST", "/v1/runs/run-1/remove", `{"by":"x"}`},
		{"POST", "/v1/hide", `{"texts":["x"]}`},
		{"POST", "/drain", `{}`},
	}
}

func (a asked) send(socket, token string) (string, error) {
	t := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}
	defer t.CloseIdleConnections()
	r, err := http.NewRequest(a.method, "http://"+api.HostName+a.path, strings.NewReader(a.body))
	if err != nil {
		return "", err
	}
	r.Header.Set("Agency-Wire", fmt.Sprint(api.Wire))
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := (&http.Client{Transport: t, Timeout: 5 * time.Second}).Do(r)
	if err != nil {
		return "", err
	}
	_ = resp.Body.Close()
	return resp.Status, nil
}

// widest is the start of a run that may do everything.
func (w *work) widest(id agency.RunID) string {
	cfg := w.cfg
	cfg.Sandbox.Mode = "off"
	r := (&work{w.t, w.place, cfg}).request(id, true)
	b, err := json.Marshal(r)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(b)
}

// A process of the same user that does not know the token is refused everything,
// and nothing has happened.
func TestStrangersOfTheSameUserAreRefused(t *testing.T) {
	w := newWork(t, quick)
	d, c := w.start(Options{})
	if _, err := c.Start(t.Context(), w.request("run-1", false)); err != nil {
		t.Fatal(err)
	}
	w.until(c, "run-1", 0, "gate_pending")
	for _, ask := range attacks(w.widest("run-2")) {
		for _, token := range []string{"", string(api.NewToken())} {
			if status, err := ask.send(w.place.Socket, token); err != nil || status != "401 Unauthorized" {
				t.Errorf("%s %s: %s %v", ask.method, ask.path, status, err)
			}
		}
	}
	runs, err := c.Runs(t.Context())
	if err != nil || len(runs) != 1 || len(runs[0].Gates) != 1 {
		t.Errorf("afterwards: %+v %v", runs, err)
	}
	if _, err := c.Cancel(t.Context(), "run-1", api.ByRequest{By: "test"}); err != nil {
		t.Error(err)
	}
	w.healthy(d, "run-1")
}

// Who has the token cannot start what no file of the user's says, either.
func TestTokenStartsNothingWider(t *testing.T) {
	w := newWork(t, quick)
	w.place.Config = filepath.Join(t.TempDir(), "config.yaml")
	own := fmt.Sprintf("version: 1\nproviders: {rehearsal: {type: rehearsal, script: %s}}\nmodels: {capable: [rehearsal/x]}\ncommands: {test: \"\"}\n",
		w.cfg.Providers["rehearsal"].Script)
	if err := os.WriteFile(w.place.Config, []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := Start(t.Context(), options(w.place))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	c := d.Dial()
	defer c.Close()
	var r api.RunRequest
	if err := json.Unmarshal([]byte(w.widest("run-1")), &r); err != nil {
		t.Fatal(err)
	}
	_, err = c.Start(t.Context(), r)
	if agency.KindOf(err) != agency.KindDenied || !strings.Contains(err.Error(), `sandbox.mode: "off" instead of "auto"`) || !strings.Contains(agency.MendOf(err), "agency trust") {
		t.Errorf("sandbox off: %v; %s", err, agency.MendOf(err))
	}
	if runs, err := c.Runs(t.Context()); err != nil || len(runs) != 0 {
		t.Errorf("a run was begun: %v %v", runs, err)
	}
}

// A command of an agent, in either tier and also where it may open sockets, can
// neither read the token of its own host nor use the host without it.
func TestCommandsCannotUseTheirHost(t *testing.T) {
	for _, tt := range []struct {
		name, mode, loopback string
	}{
		{"full", string(sandbox.ModeFull), "deny"},
		{"landlock", string(sandbox.ModeLandlock), "deny"},
		{"landlock with sockets", string(sandbox.ModeLandlock), "allow"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := sandbox.New(sandbox.Options{Mode: sandbox.Mode(tt.mode)}); err != nil {
				t.Skip(err)
			}
			said := attackedFrom(t, tt.mode, tt.loopback)
			lines := strings.Split(strings.TrimSpace(said), "\n")
			if len(lines) != 3+len(attacks("")) {
				t.Fatalf("the attack did not run: %s", said)
			}
			for _, line := range lines {
				what, came, _ := strings.Cut(line, ": ")
				switch {
				case came == "unreachable", came == "refused", came == "401 Unauthorized":
				case what == "socket" && tt.loopback == "allow": // the token is the wall behind it
				default:
					t.Errorf("%s", line)
				}
			}
		})
	}
}

// attackedFrom has an agent attack its host and gives what it reports.
func attackedFrom(t *testing.T, mode, loopback string) string {
	t.Helper()
	tools := t.TempDir()
	self, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.WriteFile(filepath.Join(tools, "attacker"), self, 0o755)
	}
	if err == nil {
		err = os.Chmod(tools, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	w := newWork(t, quick)
	w.cfg.Sandbox = config.Defaults().Sandbox
	w.cfg.Sandbox.Mode, w.cfg.Sandbox.Loopback, w.cfg.Sandbox.Read = mode, loopback, []string{tools}
	start := filepath.Join(tools, "start.json")
	if err := os.WriteFile(start, []byte(w.widest("run-2")), 0o644); err != nil {
		t.Fatal(err)
	}
	command := fmt.Sprintf("%s/attacker %s %s %s %s >said.txt", tools, attackName, w.place.Socket, w.place.TokenFile(), start)
	script := fmt.Sprintf("version: 1\nname: attacks\nrules:\n  - when: {turn: 1}\n    calls: [{tool: run_command, args: {command: %q}}]\n"+
		"  - when: {turn: \"2+\"}\n    calls: [{tool: signal_complete, args: {evidence: done}}]\n", command)
	if err := os.WriteFile(w.cfg.Providers["rehearsal"].Script, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	d, c := w.start(Options{})
	if _, err := os.Stat(w.place.TokenFile()); err != nil {
		t.Fatalf("nothing to be read: %v", err)
	}
	if _, err := c.Start(t.Context(), w.request("run-1", true)); err != nil {
		t.Fatal(err)
	}
	w.until(c, "run-1", 0, "run_succeeded", "run_failed")
	said, err := os.ReadFile(filepath.Join(w.place.Repo.WorkTree, "said.txt"))
	if err != nil {
		t.Fatalf("%v\n%s", err, transcriptOf(t, c))
	}
	if runs, err := c.Runs(t.Context()); err != nil || len(runs) != 1 {
		t.Errorf("the agent's own runs: %v %v", runs, err)
	}
	w.healthy(d, "run-1")
	return string(said)
}

// transcriptOf is what the agent saw, where something went wrong.
func transcriptOf(t *testing.T, c *api.Client) string {
	var out bytes.Buffer
	for ev, err := range c.Events(t.Context(), api.EventQuery{Run: "run-1"}) {
		if err != nil {
			return err.Error()
		}
		_, _ = fmt.Fprintf(&out, "%s %s\n", ev.Type, ev.Summary)
	}
	return out.String()
}
