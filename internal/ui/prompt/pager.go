package prompt

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"

	"agency/internal/agency"
)

// Pager is a person's own pager.
type Pager struct {
	// Env looks a variable up.
	Env func(string) (string, bool)
}

// ErrNoPager is that of a machine that has none.
var ErrNoPager = errors.New("no pager is known here")

// Show has a person read a text, which may have colours, and waits until they are done.
func (p Pager) Show(ctx context.Context, text string) error {
	command := "less"
	if v, ok := p.Env("PAGER"); ok && strings.TrimSpace(v) != "" {
		command = v
	} else if _, err := exec.LookPath(command); err != nil {
		return ErrNoPager
	}
	// As git does: the variable is a command of the person's shell, with options of its own.
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Env = os.Environ()
	if _, ok := p.Env("LESS"); !ok {
		cmd.Env = append(cmd.Env, "LESS=FRX") // as git does: colours, and no more than one screen wants
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(text), os.Stdout, os.Stderr
	// Who leaves early closes the pipe.
	var left *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &left) {
		return agency.Errorf(agency.KindInvalid, "the pager %s failed: %w", command, agency.Cause(err)).WithMend("set PAGER to one that works")
	}
	return nil
}
