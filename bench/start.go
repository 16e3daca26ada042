package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"agency/internal/agency"
	"agency/internal/config"
	"agency/internal/daemon"
	"agency/internal/git"
	"agency/internal/registry"
	"agency/internal/store"
)

const (
	startEach  = 5 // a round
	versionAim = 40 * time.Millisecond
	psAim      = 150 * time.Millisecond
)

// startRow is what a person waits for: agency version, and agency ps in a
// repository with a run and no host, against their aims. The binary is built
// for it.
func startRow() row {
	return row{figures: []string{"start/version", "start/ps"}, measure: measureStart}
}

func measureStart(ctx context.Context, b *bench) ([]figure, error) {
	bin, home, err := b.installed(ctx)
	if err != nil {
		return nil, err
	}
	if out, err := home.run(ctx, bin, "ps"); err != nil || !bytes.Contains(out, []byte(benchRun)) {
		return nil, fmt.Errorf("agency ps does not show the run: %w: %s", err, out)
	}
	each := func(args ...string) func(context.Context) (float64, error) {
		return func(ctx context.Context) (float64, error) {
			begun := time.Now()
			for range startEach {
				if out, err := home.run(ctx, bin, args...); err != nil {
					return 0, fmt.Errorf("%w: %s", err, out)
				}
			}
			return float64(time.Since(begun)) / startEach, nil
		}
	}
	s, err := b.rounds(ctx, contender{"version", each("version")}, contender{"ps", each("ps")})
	if err != nil {
		return nil, err
	}
	return []figure{
		{"start/version", median(s["version"]) / float64(versionAim), atMost(1), []string{s.raw("version", 1e6, "ms")}},
		{"start/ps", median(s["ps"]) / float64(psAim), atMost(1), []string{s.raw("ps", 1e6, "ms")}},
	}, nil
}

// installed builds the binary, and makes a home in which to run it.
func (b *bench) installed(ctx context.Context) (bin string, h home, err error) {
	_, product, err := modules(ctx)
	if err != nil {
		return "", h, err
	}
	if bin, err = b.build(ctx, product, "./cmd/agency", "agency"); err != nil {
		return "", h, err
	}
	h, err = b.home(ctx)
	return bin, h, err
}

// home is a user's home with a repository that has a run.
type home struct{ dir, repo string }

// variables are the folders that the program finds by its environment.
var variables = [...]struct{ name, folder string }{
	{"HOME", ""},
	{"XDG_CONFIG_HOME", "config"},
	{"XDG_STATE_HOME", "state"},
	{"XDG_CACHE_HOME", "cache"},
	{"XDG_RUNTIME_DIR", "run"},
}

func (h home) env(key string) (string, bool) {
	for _, v := range variables {
		if v.name == key {
			return filepath.Join(h.dir, v.folder), true
		}
	}
	return "", false
}

// home makes a home, and the run as the host would have recorded it.
func (b *bench) home(ctx context.Context) (h home, err error) {
	if h.dir, err = b.folder(); err != nil {
		return h, err
	}
	h.repo = filepath.Join(h.dir, "repo")
	if err := errors.Join(os.MkdirAll(filepath.Join(h.dir, "run"), 0o700), os.Mkdir(h.repo, 0o755)); err != nil {
		return h, err
	}
	if err := errors.Join(fillTree(h.repo, 100), commitAll(ctx, h.repo)); err != nil {
		return h, err
	}
	return h, h.record(ctx)
}

func (h home) record(ctx context.Context) (err error) {
	folders, err := config.FindFolders(h.env)
	if err != nil {
		return err
	}
	if err := folders.Make(); err != nil {
		return err
	}
	loc, err := git.Find(h.repo)
	if err != nil {
		return err
	}
	place, err := daemon.Claim(loc, folders)
	if err != nil {
		return err
	}
	db, err := store.Open(ctx, store.Options{Path: place.DB(), Sets: daemon.Migrations()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return db.Write(ctx, func(tx *store.Tx) error {
		run := agency.Run{ID: benchRun, Goal: "read the notes", Mode: agency.ModeSingle, State: agency.StateInterrupted, Target: "main"}
		return registry.CreateRun(tx, run, []byte(`{}`))
	})
}

// run runs the program in the repository.
func (h home) run(ctx context.Context, bin string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Dir = h.repo
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "NO_COLOR=1"}
	for _, v := range variables {
		cmd.Env = append(cmd.Env, v.name+"="+filepath.Join(h.dir, v.folder))
	}
	return cmd.CombinedOutput()
}
