// Package prompt asks the person at a terminal: for a key, a line, a text in their own editor;
// and shows long texts in their own pager. It knows nothing of runs.
package prompt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"agency/internal/agency"
)

// editors are those that are tried where the environment names none.
var editors = []string{"sensible-editor", "nano", "vi"}

// Editor is a person's own editor.
type Editor struct {
	// Env looks a variable up: VISUAL counts more than EDITOR, as for git.
	Env func(string) (string, bool)
	// Max bounds the text in bytes.
	Max int64
}

// scissors is the line from which on a text is left out, as git has it: a text in Markdown
// has lines of its own that begin with "#".
const scissors = "# ------------------------ >8 ------------------------\n"

// noCommand is from which exit code on a shell says that it could not start a command.
const noCommand = 126

// Text has the person write a text above a line of which hint stands below. An editor that
// fails, or a text that stays empty, is an error.
func (e Editor) Text(ctx context.Context, hint string) (text string, err error) {
	command, err := e.command()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "agency-edit-") // of this user alone
	if err != nil {
		return "", agency.Errorf(agency.KindTransient, "a file for the editor: %w", agency.Cause(err))
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := dir + "/TEXT.md"
	if err := os.WriteFile(file, []byte("\n\n"+scissors+hint+"\n"), 0o600); err != nil {
		return "", agency.Errorf(agency.KindTransient, "a file for the editor: %w", agency.Cause(err))
	}
	// As git does: the variable is a command of the person's shell, with options of its own.
	cmd := exec.CommandContext(ctx, "sh", "-c", command+` "$1"`, "sh", file)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = cmd.Run()
	var left *exec.ExitError
	if errors.As(err, &left) && left.ExitCode() > 0 && left.ExitCode() < noCommand {
		return "", agency.Errorf(agency.KindInvalid, "the editor %s was left with exit code %d, as :cq does: nothing is done", command, left.ExitCode())
	}
	if err != nil {
		return "", agency.Errorf(agency.KindInvalid, "the editor %s failed: %w", command, agency.Cause(err)).WithMend("set EDITOR to one that works")
	}
	raw, err := e.read(file)
	if err != nil {
		return "", agency.Errorf(agency.KindInvalid, "what was written in the editor: %w", agency.Cause(err))
	}
	text, _, _ = strings.Cut("\n"+string(raw), "\n"+scissors)
	if text = strings.TrimSpace(text); text == "" {
		return "", agency.Errorf(agency.KindInvalid, "nothing was written in the editor: nothing is done")
	}
	return text, nil
}

// read reads what was written.
func (e Editor) read(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	raw, err := io.ReadAll(io.LimitReader(f, e.Max+1))
	if err == nil && int64(len(raw)) > e.Max {
		err = fmt.Errorf("more than %d bytes", e.Max)
	}
	return raw, err
}

// command is the editor's.
func (e Editor) command() (string, error) {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		if v, _ := e.Env(name); strings.TrimSpace(v) != "" {
			return v, nil
		}
	}
	for _, name := range editors {
		if _, err := exec.LookPath(name); err == nil {
			return name, nil
		}
	}
	return "", agency.Errorf(agency.KindInvalid, "no editor is known here").WithMend("set EDITOR")
}
