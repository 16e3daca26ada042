package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"agency/internal/text"
)

// commandTimeout bounds a command with its process group; what begins a session of its own goes on.
const commandTimeout = 30 * time.Second

// keptEnv is what a command finds of the host's environment: what programs need to run and to
// speak to the desktop, and none of the keys that the host may have been started with.
var keptEnv = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR",
	"DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME",
}

// command runs a command of the user's own. What it is told are values of its environment and
// a document on its standard input: no text of a run becomes a part of what the shell reads. It
// works in the user's home, for in a checkout a relative name would be a program of the
// repository's. It is not tried again: it may have done half of what it does.
func (s Sender) command(ctx context.Context, line string, what About) error {
	limit := s.Patience
	if limit == 0 {
		limit = commandTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	doc, err := json.Marshal(what)
	if err != nil {
		return err
	}
	out := text.Tail{Most: maxSaid}
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", line)
	cmd.Dir, cmd.Env = "/", commandEnv(os.Environ(), what)
	if home, err := os.UserHomeDir(); err == nil {
		if _, err := os.Stat(home); err == nil {
			cmd.Dir = home
		}
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(append(doc, '\n')), &out, &out
	cmd.WaitDelay = time.Second
	together(cmd)
	err = cmd.Run()
	ended := (*exec.ExitError)(nil)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return refused("it was ended after %s%s", limit, said(&out)).WithMend("have it begin what takes long with setsid, without its output")
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &ended):
		return refused("it ended with code %d%s", ended.ExitCode(), said(&out)).WithMend("mend the command in your own file")
	case errors.Is(err, exec.ErrWaitDelay), err == nil:
		return nil
	}
	return refused("sh cannot be started").WithMend("see whether there is a /bin/sh")
}

// commandEnv is the environment of a command.
func commandEnv(host []string, what About) []string {
	env := slices.DeleteFunc(slices.Clone(host), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return !slices.Contains(keptEnv, name)
	})
	for _, v := range [][2]string{
		{"EVENT", what.Event},
		{"RUN", string(what.Run)},
		{"NUMBER", strconv.Itoa(what.Number)},
		{"STATE", what.State},
		{"REPOSITORY", what.Repository},
		{"GATE", what.Gate},
		{"SUMMARY", what.Summary},
		{"KEY", what.Key},
	} {
		env = append(env, "AGENCY_"+v[0]+"="+strings.ReplaceAll(v[1], "\x00", ""))
	}
	return env
}

// maxSaid is how much of a command's output is kept, from its end.
const maxSaid = 1 << 10

// said is the end of an output in one line; "" where there is none.
func said(t *text.Tail) string {
	end, _ := t.End()
	if s := text.OneLine(strings.ToValidUTF8(end, ""), maxSaid); s != "" {
		return ": " + s
	}
	return ""
}
