package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/check/detect"
	"agency/internal/config"
)

// version is set by the build of a release.
var version = "0.1.0-dev"

// build says which program this is: later is what was written later.
func build() api.Build {
	b := api.Build{Version: version}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				b.Commit = s.Value
			}
		}
	}
	if exe, err := os.Stat(selfFile()); err == nil {
		b.Made = exe.ModTime().UTC()
	}
	return b
}

func selfFile() string {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe"
	}
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	return path
}

func (a *app) versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			b := build()
			return a.showAsIs(asJSON, b, func() string {
				s := "agency " + b.Version
				if b.Commit != "" {
					s += fmt.Sprintf(" (%.12s)", b.Commit)
				}
				return fmt.Sprintf("%s %s %s/%s\n", s, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *app) configCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "config", Short: "Show and check the configuration", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		&cobra.Command{
			Use: "show", Short: "The effective configuration: each value and where it came from", Args: cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error {
				_, l, err := a.loadHere()
				if err != nil {
					return err
				}
				_, err = a.out.Write(config.Show(l, config.ShowOptions{Origins: true}))
				return err
			},
		},
		&cobra.Command{
			Use: "validate", Short: "Check the files; faults are shown with line, column and caret", Args: cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error {
				_, l, err := a.loadHere()
				if err != nil {
					return err
				}
				for _, w := range l.Warnings {
					a.note("%s: %s", w.Origin, w.Text)
				}
				if err := l.Supported(); err != nil {
					return err
				}
				_, err = fmt.Fprintln(a.out, "the configuration is valid")
				return err
			},
		},
		&cobra.Command{
			Use: "schema", Short: "The JSON schema of agency.yaml", Args: cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error {
				_, err := a.out.Write(append(bytes.TrimRight(config.Schema(), "\n"), '\n'))
				return err
			},
		},
	)
	return cmd
}

// loadHere reads the configuration of the repository, or outside of one the
// user's own.
func (a *app) loadHere() (here, *config.Loaded, error) {
	h, err := a.look()
	if err != nil {
		f, ferr := config.FindFolders(a.env)
		if ferr != nil {
			return h, nil, err
		}
		h = here{folders: f}
	}
	l, err := a.load(h, nil)
	return h, l, err
}

type trustFlags struct{ yes, show, revoke bool }

func (a *app) trustCommand() *cobra.Command {
	var f trustFlags
	cmd := &cobra.Command{
		Use: "trust", Short: "Show and accept what a repository's configuration asks for", Args: cobra.NoArgs,
		Long: `A repository's agency.yaml can narrow what a run may reach, but not widen it:
other providers, hosts, paths or a sandbox that is off need your trust. It is
bound to exactly these settings of this repository; a change asks again.`,
		RunE: func(*cobra.Command, []string) error { return a.trust(f) },
	}
	cmd.Flags().BoolVar(&f.yes, "yes", false, "accept what is shown")
	cmd.Flags().BoolVar(&f.show, "show", false, "only show")
	cmd.Flags().BoolVar(&f.revoke, "revoke", false, "take the trust back")
	return cmd
}

func (a *app) trust(f trustFlags) error {
	h, err := a.claim()
	if err != nil {
		return err
	}
	ts := config.NewTrustStore(h.folders.State, a.now)
	if f.revoke {
		had, err := ts.Revoke(h.place.ID)
		if err == nil && had {
			a.printf(a.out, "%s\n", "this repository is not trusted any more")
		} else if err == nil {
			a.printf(a.out, "%s\n", "this repository was not trusted")
		}
		return err
	}
	l, err := a.load(h, nil)
	if err != nil {
		return err
	}
	if len(l.Widenings) == 0 {
		a.printf(a.out, "%s\n", "the repository's configuration asks for nothing that needs trust")
		return nil
	}
	a.printf(a.out, "%s of %s asks for:\n", repoFile, h.loc.WorkTree)
	for _, w := range l.Widenings {
		a.printf(a.out, "  %s\n", w)
	}
	if l.RequireTrust(ts, h.place.ID) == nil {
		a.printf(a.out, "%s\n", "it is trusted; take it back with: agency trust --revoke")
		return nil
	}
	if f.show {
		a.printf(a.out, "%s\n", "it is not trusted; accept it with: agency trust --yes")
		return nil
	}
	if !f.yes && !a.confirm("trust these settings in this repository?") {
		return agency.Errorf(agency.KindInvalid, "the settings above are not trusted").WithMend("agency trust --yes")
	}
	if err := ts.Accept(h.place.ID, l.TrustHash()); err != nil {
		return err
	}
	a.printf(a.out, "%s\n", "trusted")
	return nil
}

// confirm asks a person; without a terminal the answer is no.
func (a *app) confirm(question string) bool {
	if !a.asksPeople() {
		return false
	}
	a.printf(a.out, "%s [y/N] ", question)
	var answer string
	_, err := fmt.Fscanln(os.Stdin, &answer)
	answer = strings.ToLower(answer)
	return err == nil && (answer == "y" || answer == "yes")
}

func (a *app) initCommand() *cobra.Command {
	return &cobra.Command{
		Use: "init", Short: "Write agency.yaml with the commands that were detected", Args: cobra.NoArgs,
		Long: "Detects languages and the test, lint, type-check and build commands, and writes a commented agency.yaml\nat the repository's root. A file that is there stays as it is.",
		RunE: func(c *cobra.Command, _ []string) error { return a.init(c.Context()) },
	}
}

// adviceOf is how packages that a change asks for could be installed without a
// question. It is not written by itself: it lets packages run programs of their
// own.
func adviceOf(ctx context.Context, root *os.Root) []string {
	setup, hosts := detect.Advice(ctx, root.FS(), os.LookupEnv)
	if setup == "" {
		return nil
	}
	from := "[" + strings.Join(hosts, ", ") + "]"
	if len(hosts) == 0 {
		from = "[] with the hosts of your package registry"
	}
	return []string{"new packages: a gate asks before they are installed; to allow it, set commands.setup: " + setup + " and sandbox.setup_hosts: " + from}
}

func (a *app) init(ctx context.Context) error {
	h, err := a.claim()
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(h.loc.WorkTree)
	if err != nil {
		return usage("%v", err)
	}
	defer func() { _ = root.Close() }() // the file below is closed on its own
	seen := detect.Detect(detect.Input{Repo: root.FS(), Dir: h.loc.WorkTree, Env: a.env})
	cmds, languages := seen.Commands, seen.Languages
	d := config.Detected{Test: cmds.Test, Lint: cmds.Lint, Typecheck: cmds.Typecheck, Build: cmds.Build, Setup: cmds.Setup}
	for _, l := range languages {
		d.Notes = append(d.Notes, strings.TrimSpace(l.Name+" ("+l.Manifest+") "+l.Note))
	}
	for _, left := range seen.Left {
		d.Notes = append(d.Notes, left.String())
	}
	advice := adviceOf(ctx, root)
	d.Notes = append(d.Notes, advice...)
	f, err := root.OpenFile(repoFile, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		a.printf(a.out, "%s exists and stays as it is; check it with: agency config validate\n", repoFile)
		return nil
	}
	if err != nil {
		return usage("%v", err)
	}
	_, err = f.Write(config.Template(d))
	if err = errors.Join(err, f.Close()); err != nil {
		return agency.Errorf(agency.KindTransient, "%s: %w", filepath.Join(h.loc.WorkTree, repoFile), err)
	}
	a.printf(a.out, "wrote %s: %s\n", repoFile, shownCommands(config.Commands{
		Test: cmds.Test, Lint: cmds.Lint, Typecheck: cmds.Typecheck, Build: cmds.Build, Setup: cmds.Setup,
	}))
	for _, line := range advice {
		a.printf(a.out, "%s\n", line)
	}
	l, err := a.load(h, nil)
	if err != nil || len(l.Widenings) == 0 {
		return err
	}
	return config.NewTrustStore(h.folders.State, a.now).Accept(h.place.ID, l.TrustHash())
}
