package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"agency/internal/api"
)

// childName is the first argument of a background host. With it the process
// table shows what the process is, and Child knows that it is one.
const childName = "agency-host"

// ready is the one line that a background host tells whoever started it.
type ready struct {
	OK    bool       `json:"ok"`
	Held  *Holder    `json:"held,omitempty"`
	Fault *api.Fault `json:"fault,omitempty"`
}

// Child never returns in a process that was started as a background host; in
// any other it does nothing. It stands in main after sandbox.Child.
func Child() {
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

// silent tells that the line never came: the host ended before it.
func (r ready) silent() bool { return !r.OK && r.Held == nil && r.Fault == nil }

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
