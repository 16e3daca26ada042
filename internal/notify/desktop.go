package notify

import (
	"context"
	"errors"
	"os/exec"
	"runtime"
	"strings"

	"agency/internal/agency"
)

// script shows a notification of two arguments on macOS: what is told is never a part of the
// program.
const script = "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run"

// desktopProgram finds the program that shows notifications.
func desktopProgram() (string, error) {
	name := "notify-send"
	if runtime.GOOS == "darwin" {
		name = "osascript"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", refused("there is no %s on this machine", name).WithMend("install it (on Debian and Ubuntu: apt install libnotify-bin), or take the channel desktop out of notify")
	}
	return path, nil
}

// desktop shows a message on the screen of whoever runs the host, without a shell.
func desktop(ctx context.Context, m Message) error {
	path, err := desktopProgram()
	if err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, path, desktopArgs(runtime.GOOS, m)...).CombinedOutput()
	if ctx.Err() != nil {
		return reason(ctx.Err())
	}
	if ended := (*exec.ExitError)(nil); errors.As(err, &ended) {
		if strings.Contains(string(out), "DBUS") || strings.Contains(string(out), "D-Bus") {
			return refused("there is no desktop that the host's session can reach").WithMend("start the host from a desktop session")
		}
		return agency.Errorf(agency.KindTransient, "the program that shows notifications ended with code %d", ended.ExitCode()).WithMend("start the host from a desktop session")
	}
	if err != nil {
		return refused("the program that shows notifications cannot be started").WithMend("see whether it may be executed")
	}
	return nil
}

func desktopArgs(goos string, m Message) []string {
	body := strings.Join(m.Lines, "\n")
	if goos == "darwin" {
		return []string{"-e", script, "--", m.Title, body}
	}
	plain := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;") // its body may hold markup
	return []string{"--app-name=agency", "--", m.Title, plain.Replace(body)}
}
