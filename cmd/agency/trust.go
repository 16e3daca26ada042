package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"agency/internal/agency"
	"agency/internal/config"
)

type trustFlags struct{ yes, show, revoke bool }

func trustCommand(a *app) *cobra.Command {
	var f trustFlags
	cmd := &cobra.Command{
		Use: "trust", Short: "Show and accept what a repository's configuration asks for", Args: none,
		Long: `A repository's agency.yaml can narrow what a run may reach, but not widen it:
other providers, hosts, paths or a sandbox that is off need your trust, and so do
the repository's agent files before one of them answers (run --agent). It is
bound to exactly these settings and files of this repository; a change asks again.`,
		RunE: func(*cobra.Command, []string) error { return a.trust(f) },
	}
	cmd.Flags().BoolVar(&f.yes, "yes", false, "accept what is shown")
	cmd.Flags().BoolVar(&f.show, "show", false, "only show")
	cmd.Flags().BoolVar(&f.revoke, "revoke", false, "take the trust back")
	oneOf(cmd, "yes", "show", "revoke")
	return cmd
}

func (r *repository) trust(f trustFlags) error {
	h, err := r.claim()
	if err != nil {
		return err
	}
	ts := config.NewTrustStore(h.Root, r.now)
	if f.revoke {
		had, err := ts.Revoke(h.ID)
		if err == nil && had {
			r.printf(r.out, "%s\n", "this repository is not trusted any more")
		} else if err == nil {
			r.printf(r.out, "%s\n", "this repository was not trusted")
		}
		return err
	}
	plain, err := r.load(h) // as a run counts it that needs no agent file
	if err != nil {
		return err
	}
	with := r.preview(h)
	with.Files.Agents = true
	l, err := with.Load()
	if err != nil {
		return err
	}
	if len(l.Widenings) == 0 {
		r.printf(r.out, "%s\n", "the repository's configuration asks for nothing that needs trust")
		return nil
	}
	r.printf(r.out, "the configuration of %s asks for:\n", h.Repo.WorkTree)
	since, err := ts.Since(h.ID, l.Widenings)
	if err != nil {
		return err
	}
	for i, w := range l.Widenings {
		r.printf(r.out, "  %s%s\n", w, since[i])
	}
	if l.RequireTrust(ts, h.ID) == nil {
		r.printf(r.out, "%s\n", "it is trusted; take it back with: agency trust --revoke")
		return nil
	}
	if f.show {
		r.printf(r.out, "%s\n", "it is not trusted; accept it with: agency trust --yes")
		return nil
	}
	if !f.yes && !r.confirm("trust these settings in this repository?") {
		return agency.Errorf(agency.KindInvalid, "the settings above are not trusted").WithMend("agency trust --yes")
	}
	if err := ts.Accept(h.ID, l.Widenings, plain.TrustHash(), l.TrustHash()); err != nil {
		return err
	}
	r.printf(r.out, "%s\n", "trusted")
	return nil
}

// confirm asks a person; without a terminal the answer is no.
func (t *terminal) confirm(question string) bool {
	if !t.asksPeople() {
		return false
	}
	t.printf(t.out, "%s [y/N]", question)
	t.printf(t.out, " ") // the end of a line that is broken
	var answer string
	_, err := fmt.Fscanln(os.Stdin, &answer)
	answer = strings.ToLower(answer)
	return err == nil && (answer == "y" || answer == "yes")
}

// asksPeople tells whether a person is there to be asked.
func (t *terminal) asksPeople() bool {
	return t.style.Live && term.IsTerminal(int(os.Stdin.Fd()))
}
