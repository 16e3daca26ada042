// Package demo is a sample repository with work to do in it, and the script by
// which the rehearsal model does that work: everything that `agency demo`
// needs to show the whole pipeline offline.
//
// It starts no run and no host; the command does, with the same parts as for
// a real run.
package demo

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"agency/internal/agency"
	"agency/internal/config"
	"agency/internal/sandbox"
)

//go:embed sample/*.txt shell/*.txt team/*.txt script.yaml shell.yaml team.yaml tiered.yaml
var files embed.FS

// kind is one of the two samples.
type kind struct {
	goal   string
	script string
	layout []file
}

// file is one of a sample, by its path in the repository.
type file struct{ path, from string }

// inGo is the sample where there is a go command.
func inGo() kind {
	return kind{
		goal:   "Parse durations like 1h30m in config.Timeout, plain seconds must go on; add tests",
		script: "script.yaml",
		layout: []file{
			{"go.mod", "sample/go.mod.txt"},
			{"README.md", "sample/README.md.txt"},
			{"config/timeout.go", "sample/timeout.go.txt"},
			{"config/timeout_test.go", "sample/timeout_test.go.txt"},
		},
	}
}

// ofTeam is the sample for a team, in Go, with the script that plays it.
func ofTeam(script string) kind {
	return kind{
		goal:   "Give orders discounts and shipping, and write an invoice that shows cents as money; test the edges",
		script: script,
		layout: []file{
			{"go.mod", "team/go.mod.txt"},
			{"README.md", "team/README.md.txt"},
			{"order/order.go", "team/order.go.txt"},
			{"order/order_test.go", "team/order_test.go.txt"},
		},
	}
}

// inShell is the sample that this program can check alone: see Check.
func inShell() kind {
	return kind{
		goal:   "Parse durations like 1h30m in config/timeout.sh, plain seconds must go on; add tests",
		script: "shell.yaml",
		layout: []file{
			{".gitignore", "shell/gitignore.txt"},
			{"README.md", "shell/README.md.txt"},
			{"config/timeout.sh", "shell/timeout.sh.txt"},
			{"config/timeout_test.sh", "shell/timeout_test.sh.txt"},
		},
	}
}

// Sample is a demo's folder.
type Sample struct {
	Dir    string // holds everything
	Repo   string // the sample repository
	Script string // what the rehearsal model plays
	Goal   string // what the demo's run is asked for
	// Checks is a copy of this program where the sample is in shell and it runs
	// the checks; empty where the go command does.
	Checks string
	kind   kind
	git    string
}

// Make writes the sample of a mode into an empty or new folder and commits it.
// Without a go command that for one agent is in shell, and self, this program,
// is copied beside it; a team's is in Go only.
func Make(ctx context.Context, dir, self string, mode agency.Mode) (*Sample, error) {
	git, err := exec.LookPath("git")
	if err != nil {
		return nil, agency.Errorf(agency.KindTransient, "the git command was not found: %w", err).WithMend("install git 2.38 or newer")
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, agency.Errorf(agency.KindTransient, "the demo's folder: %w", err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	s := &Sample{Dir: dir, Repo: filepath.Join(dir, "service"), Script: filepath.Join(dir, "script.yaml"), git: git, kind: inGo()}
	_, noGo := exec.LookPath("go")
	switch {
	case mode.Team() && noGo != nil:
		return nil, agency.Errorf(agency.KindInvalid, "the demo of mode %s needs the go command: %w", mode, noGo).WithMend("agency demo, which does without")
	case mode == agency.ModeTiered:
		s.kind = ofTeam("tiered.yaml")
	case mode.Team():
		s.kind = ofTeam("team.yaml")
	case noGo != nil:
		s.kind = inShell()
		s.Checks = filepath.Join(dir, "bin", "agency")
	}
	s.Goal = s.kind.goal
	if err := s.write(); err != nil {
		return nil, err
	}
	if err := s.bring(self); err != nil {
		return nil, err
	}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"},
		{"config", "user.name", "Demo"},
		{"config", "user.email", "demo@localhost"},
		{"add", "-A"},
		{"commit", "-q", "-m", "First version"},
	} {
		if _, err := s.Git(ctx, args...); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *Sample) write() error {
	if _, err := os.Stat(s.Repo); err == nil {
		return agency.Errorf(agency.KindInvalid, "%s exists already", s.Repo).WithMend("agency demo --keep another folder")
	}
	for _, f := range s.kind.layout {
		b, err := files.ReadFile(f.from)
		if err != nil {
			return err
		}
		to := filepath.Join(s.Repo, filepath.FromSlash(f.path))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return agency.Errorf(agency.KindTransient, "the sample: %w", err)
		}
		if err := os.WriteFile(to, b, 0o644); err != nil {
			return agency.Errorf(agency.KindTransient, "the sample: %w", err)
		}
	}
	script, err := files.ReadFile(s.kind.script)
	if err != nil {
		return err
	}
	if err := os.WriteFile(s.Script, script, 0o644); err != nil {
		return agency.Errorf(agency.KindTransient, "the sample: %w", err)
	}
	return nil
}

// bring copies this program to where the sandbox shows it: its own folder may
// hold anything, and go run deletes it.
func (s *Sample) bring(self string) error {
	if s.Checks == "" {
		return nil
	}
	err := func() (err error) {
		from, err := os.Open(self)
		if err != nil {
			return err
		}
		defer func() { _ = from.Close() }() // only read
		if err := os.MkdirAll(filepath.Dir(s.Checks), 0o755); err != nil {
			return err
		}
		to, err := os.OpenFile(s.Checks, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
		if err != nil {
			return err
		}
		_, err = io.Copy(to, from)
		return errors.Join(err, to.Close())
	}()
	if err != nil {
		return agency.Errorf(agency.KindTransient, "a copy of this program for the sample's checks: %w", err)
	}
	return nil
}

// Git runs git in the sample repository, without the user's configuration.
func (s *Sample) Git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, s.git, args...)
	cmd.Dir = s.Repo
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + s.Dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_TERMINAL_PROMPT=0", "LC_ALL=C",
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return "", agency.Errorf(agency.KindTransient, "git %s in the sample: %w: %s", args[0], err, strings.TrimSpace(out.String()))
	}
	return out.String(), nil
}

// Warm compiles what the sample's tests need into the user's own build cache,
// which sandboxes then read: the first demo on a machine compiles the standard
// library once and not for each cache. The sample is this program's own code.
// A failure is no failure of the demo; the sandbox will tell.
func (s *Sample) Warm(ctx context.Context, env map[string]string) error {
	if s.Checks != "" {
		return nil
	}
	goCommand, err := exec.LookPath("go")
	if err != nil {
		return agency.Errorf(agency.KindTransient, "the go command was not found: %w", err).WithMend("install Go from https://go.dev/dl")
	}
	for _, args := range [][]string{{"vet", "./..."}, {"test", "-run", "^$", "./..."}} {
		cmd := exec.CommandContext(ctx, goCommand, args...)
		cmd.Dir = s.Repo
		cmd.Env = []string{"GOTOOLCHAIN=local", "GOPROXY=off"}
		for k, v := range env {
			cmd.Env = append(cmd.Env, k+"="+v)
		}
		_ = cmd.Run() // see above
	}
	return ctx.Err()
}

// Config is the configuration of the demo's run: the rehearsal model plays the
// script, everything else is as in a repository without a file.
func (s *Sample) Config(c config.Config) config.Config {
	c.Providers = map[string]config.Provider{"rehearsal": {Type: "rehearsal", Script: s.Script}}
	c.Models = map[string][]string{}
	for _, level := range []string{config.LevelReasoningHeavy, config.LevelCapable, config.LevelFastCheap} {
		c.Models[level] = []string{"rehearsal/demo"}
	}
	if s.Checks == "" {
		c.Commands.Test, c.Commands.Lint, c.Commands.Build = "go test ./...", "go vet ./...", "go build ./..."
		return c
	}
	c.Commands.Test, c.Commands.Lint = s.Checks+" "+CheckCommand+" test", s.Checks+" "+CheckCommand+" lint"
	c.Sandbox.Read = []string{filepath.Dir(s.Checks)}
	return c
}

// Sandbox is why this machine has no sandbox for the demo's commands, which are the
// program's own; nil: it has one.
func Sandbox() error {
	_, err := sandbox.New(sandbox.Options{Mode: sandbox.ModeAuto})
	return err
}

// Remove deletes the sample with everything in it; folders that a cache made
// read-only too.
func (s *Sample) Remove() error {
	_ = filepath.WalkDir(s.Dir, func(p string, d os.DirEntry, err error) error { // what counts is the removal
		if err == nil && d.IsDir() {
			_ = os.Chmod(p, 0o700)
		}
		return nil
	})
	if err := os.RemoveAll(s.Dir); err != nil {
		return agency.Errorf(agency.KindTransient, "the demo's folder: %w", err)
	}
	return nil
}
