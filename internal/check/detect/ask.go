package detect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/ecosystem"
)

// machine is the user's, which is asked with an environment.
func machine(c *ecosystem.Checkout, dir string, env func(string) (string, bool)) *ecosystem.Machine {
	return &ecosystem.Machine{
		Checkout: c, Dir: dir, Env: env, Run: run,
		Ask: func(ctx context.Context, extra []string, bin string, args ...string) (string, error) {
			return ask(ctx, env, extra, bin, args...)
		},
		Mend:      func(u ecosystem.Unit) string { return mendBy(c, dir, u) },
		InstallIn: func(at, packages string) string { return setupOf(c, dir, at, packages) },
	}
}

// machine is the user's with checkout and home known by where they lead, and a PATH
// without folders of the checkout: whoever wrote a program there, it is not asked
// outside of the sandbox.
func (in Input) machine() *ecosystem.Machine {
	env := in.Env
	h, _ := env("HOME")
	for _, path := range []string{h, in.Sight.Repo} {
		if !filepath.IsAbs(path) {
			continue
		}
		for _, p := range []string{filepath.Clean(path), ecosystem.Resolved(path)} {
			if path == h && !slices.Contains(in.Sight.Homes, p) {
				in.Sight.Homes = append(slices.Clone(in.Sight.Homes), p)
			}
		}
	}
	if in.Dir != "" {
		in.Sight.Repo = ecosystem.Resolved(in.Dir)
	}
	inside := func(d string) bool {
		return ecosystem.LiesIn(d, filepath.Clean(in.Dir), in.Sight.Repo) || ecosystem.LiesIn(ecosystem.Resolved(d), filepath.Clean(in.Dir), in.Sight.Repo)
	}
	named := variables()
	m := machine(ecosystem.NewCheckout(in.Repo), in.Dir, func(name string) (string, bool) {
		v, ok := env(name)
		switch {
		case !ok || in.Dir == "":
		case name == "PATH":
			v = strings.Join(slices.DeleteFunc(filepath.SplitList(v), inside), string(filepath.ListSeparator))
		case name != "HOME" && slices.Contains(named, name) && inside(v):
			return "", false
		}
		return v, ok
	})
	m.Sight = in.Sight
	if m.Some = in.Commands != (check.Commands{}); m.Some {
		m.Starts = startDirs(in.Repo, in.Commands)
	}
	return m
}

// askTimeout bounds the questions to toolchains; they take milliseconds.
const askTimeout = 30 * time.Second

// variables are those by which version managers and toolchains are told where they
// lie.
func variables() []string {
	out := []string{"HOME", "PATH", "ASDF_DIR", "ASDF_DATA_DIR", "MISE_DATA_DIR"}
	for _, t := range toolchains() {
		out = append(out, t.Variables...)
	}
	return out
}

// ask runs a toolchain's own program, with what it has to know of where it lies.
func ask(ctx context.Context, env func(string) (string, bool), extra []string, bin string, args ...string) (string, error) {
	asked := []string{"LANG=C.UTF-8"}
	for _, t := range toolchains() {
		asked = append(asked, t.Quiet...)
	}
	for _, name := range variables() {
		if v, ok := env(name); ok {
			asked = append(asked, name+"="+v)
		}
	}
	out, err := run(ctx, append(asked, extra...), bin, args...)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%s: %w", bin, err)
	}
	return strings.TrimSpace(out), err
}

// run runs a program in an empty folder, so that no file of a repository is read,
// and gives its output.
func run(ctx context.Context, env []string, bin string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	dir, err := os.MkdirTemp("", "agency-ask-")
	if err != nil {
		return "", agency.Errorf(agency.KindTransient, "temporary folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // empty; the system sweeps /tmp
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Dir = dir
	cmd.Env = append([]string{"PWD=" + dir}, env...)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(exit.Stderr))
	}
	return string(out), err
}
