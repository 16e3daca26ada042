package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"agency/internal/agency"
	"agency/internal/config"
)

func initCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "init", Short: "Write agency.yaml with the commands that were detected", Args: none,
		Long: "Detects languages and the test, lint, type-check and build commands, and writes a commented agency.yaml\nat the repository's root. A file that is there stays as it is.",
		RunE: func(c *cobra.Command, _ []string) error { return a.init(c.Context()) },
	}
}

func (r *repository) init(ctx context.Context) error {
	h, err := r.claim()
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(h.Repo.WorkTree)
	if err != nil {
		return usage("%v", err)
	}
	defer func() { _ = root.Close() }() // the file below is closed on its own
	d, advice := r.preview(h).Detect(ctx, root)
	f, err := root.OpenFile(config.RepoFile, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		r.printf(r.out, "%s exists and stays as it is; check it with: agency config validate\n", config.RepoFile)
		return nil
	}
	if err != nil {
		return usage("%v", err)
	}
	_, err = f.Write(config.Template(d))
	if err = errors.Join(err, f.Close()); err != nil {
		return agency.Errorf(agency.KindTransient, "%s: %w", filepath.Join(h.Repo.WorkTree, config.RepoFile), err)
	}
	r.printf(r.out, "wrote %s: %s\n", config.RepoFile, d.Line())
	for _, line := range advice {
		r.printf(r.out, "%s\n", line)
	}
	l, err := r.load(h)
	if err != nil || len(l.Widenings) == 0 {
		return err
	}
	return config.NewTrustStore(h.Root, r.now).Accept(h.ID, l.Widenings, l.TrustHash())
}
