package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/notify"
)

// spawn starts a host in the background and waits until it is ready or says
// why not. The host goes on when this process ends: it has a session of its
// own, stands in no folder of anybody's, and holds no file of this process.
func spawn(ctx context.Context, o Options) error {
	spec, err := json.Marshal(o)
	if err != nil {
		return err
	}
	path, err := SelfPath()
	if err != nil {
		return agency.Errorf(agency.KindTransient, "starting a host: %w", err)
	}
	tell, told, err := os.Pipe()
	if err != nil {
		return agency.Errorf(agency.KindTransient, "starting a host: %w", err)
	}
	defer func() { _ = tell.Close() }() // read to its end, or given up
	trace, err := os.OpenFile(o.Place.LogFile(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		_ = told.Close()
		return agency.Errorf(agency.KindTransient, "starting a host: %w", err)
	}
	cmd := exec.Cmd{
		Path: path, Args: []string{childName}, Dir: "/", Env: passed(os.Environ()), Stdin: bytes.NewReader(spec),
		Stderr: trace, ExtraFiles: []*os.File{told}, SysProcAttr: ownSession(),
	}
	err = cmd.Start()
	_ = told.Close() // the child has its own, and its end must be seen here
	_ = trace.Close()
	if err != nil {
		return agency.Errorf(agency.KindTransient, "starting a host: %w", err)
	}
	exited := make(chan struct{})
	go func() { // reaps it where it ends before this process does
		_ = cmd.Wait()
		close(exited)
	}()
	answer := make(chan ready, 1)
	go func() {
		var r ready
		if b, err := io.ReadAll(io.LimitReader(tell, 1<<20)); err == nil {
			_ = json.Unmarshal(b, &r) // an empty answer is one too
		}
		answer <- r
	}()
	select {
	case r := <-answer:
		if !r.isZero() {
			return r.err()
		}
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-exited: // its end closed the line
		return unready(cmd.ProcessState, o.Place.LogFile())
	case <-ctx.Done():
		return ctx.Err()
	}
}

// unready is a host that ended without a word. One that somebody else ended
// (a kill, a machine short of memory) is to be started again; one that ended
// by itself has a fault, and its log shows it.
func unready(end *os.ProcessState, logFile string) error {
	const what = "the host of this repository ended before it was ready"
	if cut, by := cutOff(end); cut {
		return agency.Errorf(agency.KindTransient, "%s: it was ended from outside (%s)", what, by).WithMend("type the same again; where it happens again, see %s", logFile)
	}
	return agency.Errorf(agency.KindInternal, "%s (%s)", what, end).WithMend("see %s", logFile)
}

// childName is the first argument of a background host. With it the process
// table shows what the process is, and Child knows that it is one.
const childName = "agency-host"

// ready is the one line that a background host tells whoever started it.
type ready struct {
	OK    bool       `json:"ok"`
	Held  *Holder    `json:"held,omitempty"`
	Fault *api.Fault `json:"fault,omitempty"`
}

// Child never returns in a process that was started as a background host, or to
// send one announcement; in any other it does nothing. It stands in main after
// sandbox.Child.
func Child() {
	notify.Child()
	if len(os.Args) == 0 || os.Args[0] != childName {
		return
	}
	os.Exit(runChild())
}

func runChild() int {
	TuneMemory()
	tell := os.NewFile(3, "ready")
	o, err := readOptions(os.Stdin)
	if err != nil {
		fmt.Fprintln(os.Stderr, "agency-host:", err)
		return 1
	}
	out, err := openLog(o.Place.LogFile())
	if err == nil {
		err = ownTemp(o.Place)
	}
	if err != nil {
		say(tell, err)
		return 1
	}
	o.Log = slog.New(slog.NewTextHandler(out, nil))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	d, err := Start(ctx, o)
	say(tell, err)
	if err != nil {
		o.Log.Error("not started", "error", err)
		return 1
	}
	out.hide(d.Redact)
	o.Log.Info("host started", "pid", os.Getpid(), "repository", o.Place.Repo.WorkTree, "build", o.Build.Version)
	end := context.AfterFunc(ctx, d.Close)
	defer end()
	if err := d.Err(); err != nil {
		o.Log.Error("host ended", "error", err)
		return 1
	}
	o.Log.Info("host ended")
	return 0
}

func readOptions(in io.Reader) (Options, error) {
	var o Options
	b, err := io.ReadAll(io.LimitReader(in, 1<<20))
	if err != nil {
		return o, err
	}
	return o, json.Unmarshal(b, &o)
}

// say tells whoever started the host how it went, and closes the line.
func say(tell *os.File, err error) {
	r := ready{OK: err == nil}
	var held *Held
	switch {
	case errors.As(err, &held):
		r.Held = &held.By
	case err != nil:
		f := api.FaultOf(err)
		r.Fault = &f
	}
	b, _ := json.Marshal(r) // plain structs
	_, _ = tell.Write(append(b, '\n'))
	_ = tell.Close() // nobody is left to be told
}

// isZero tells that the line never came: the host ended before it.
func (r ready) isZero() bool { return !r.OK && r.Held == nil && r.Fault == nil }

// err is what the line says.
func (r ready) err() error {
	switch {
	case r.Held != nil:
		return &Held{*r.Held}
	case r.Fault != nil:
		return r.Fault.Err()
	}
	return nil
}

// passed are the variables that a background host gets of its starter's
// environment. Keys of providers are not among them: clients bring keys over
// the socket.
func passed(environ []string) []string {
	exact := map[string]bool{
		"PATH": true, "HOME": true, "USER": true, "LOGNAME": true, "LANG": true, "TZ": true, "TMPDIR": true,
		"SSL_CERT_FILE": true, "SSL_CERT_DIR": true, "HTTPS_PROXY": true, "HTTP_PROXY": true, "NO_PROXY": true,
		"https_proxy": true, "http_proxy": true, "no_proxy": true, "GOTRACEBACK": true, "GOCOVERDIR": true,
		// What the user's git and a signer of the final merge are set up by.
		"GIT_CONFIG_GLOBAL": true, "GIT_CONFIG_SYSTEM": true, "GIT_CONFIG_NOSYSTEM": true, "GNUPGHOME": true, "GPG_TTY": true,
		"SSH_AUTH_SOCK": true, "SSH_ASKPASS": true, "DISPLAY": true, "WAYLAND_DISPLAY": true, "XAUTHORITY": true, "DBUS_SESSION_BUS_ADDRESS": true,
		"SystemRoot": true, "TEMP": true, "TMP": true, "USERPROFILE": true, "APPDATA": true, "LOCALAPPDATA": true,
	}
	var out []string
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if exact[name] || strings.HasPrefix(name, "XDG_") || strings.HasPrefix(name, "LC_") {
			out = append(out, kv)
		}
	}
	return out
}
