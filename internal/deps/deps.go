package deps

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/ecosystem"
	"agency/internal/flow"
	"agency/internal/regexp"
	"agency/internal/sandbox"
	"agency/internal/workspace"
)

// The activities, bound to a Provider by Bind.
var (
	LookActivity    = flow.Activity[Spec, Need]{Name: "dependencies.look"}
	InstallActivity = flow.Activity[InstallSpec, Installed]{Name: "dependencies.install"}
)

// Spec is a change of a tree, and the commands of the run's own configuration.
type Spec struct {
	Run      agency.RunID      `json:"run"`
	Contract agency.ContractID `json:"contract,omitempty"`
	// Base is what the work began from, Claim what it made: commits or trees.
	Base     agency.OID     `json:"base"`
	Claim    agency.OID     `json:"claim"`
	Commands check.Commands `json:"commands"`
}

// Need is what a change asks to be installed. Without files it asks for nothing.
type Need struct {
	Files    []string            `json:"files,omitempty"` // lockfiles and manifests that changed
	Packages []ecosystem.Package `json:"packages,omitempty"`
	// Unread tells that the files name more packages than are read, or are too large.
	Unread bool `json:"unread,omitempty"`
	// Setup is the command that installs it; Proposed: the run's configuration
	// has none, and this is the usual one.
	Setup    string `json:"setup,omitempty"`
	Proposed bool   `json:"proposed,omitempty"`
	// Granted are the hosts that the configuration names for setup; Lacking those
	// that the base's lockfiles and the user's package managers name besides;
	// Foreign those that only the change names, which nobody is asked to allow.
	Granted []string `json:"granted,omitempty"`
	Lacking []string `json:"lacking,omitempty"`
	Foreign []string `json:"foreign,omitempty"`
	// Unlocked are manifests that changed without their lockfile.
	Unlocked []string `json:"unlocked,omitempty"`
}

// None tells whether nothing is to be installed.
func (n Need) None() bool { return len(n.Files) == 0 }

// Allowed tells whether the configuration lets setup run without a question:
// it names the command and every host that is needed, and what is asked for is known.
func (n Need) Allowed() bool {
	return !n.Unread && n.Setup != "" && !n.Proposed && len(n.Granted) > 0 && len(n.Lacking)+len(n.Foreign) == 0
}

// Hosts are those that setup may reach when a person approves.
func (n Need) Hosts() []string { return append(append([]string(nil), n.Granted...), n.Lacking...) }

// InstallSpec is a setup on a tree.
type InstallSpec struct {
	Run            agency.RunID      `json:"run"`
	Contract       agency.ContractID `json:"contract,omitempty"`
	Tree           agency.OID        `json:"tree"`
	Line           string            `json:"line"`
	Hosts          []string          `json:"hosts,omitempty"`
	TimeoutSeconds int               `json:"timeout_seconds,omitempty"`
}

// Installed is how a setup ended.
type Installed struct {
	Receipt agency.ReceiptID `json:"receipt,omitempty"`
	OK      bool             `json:"ok"`
	Reason  string           `json:"reason,omitempty"` // why not: exit code and the end of the output
	// Network tells that a host could not be reached: nothing that the change
	// could mend.
	Network bool `json:"network,omitempty"`
}

// Grant is what a run's configuration says about setup.
type Grant struct {
	Hosts []string // sandbox.setup_hosts and sandbox.allow_hosts
	Env   func(string) (string, bool)
}

// Options make a Provider.
type Options struct {
	Workspaces *workspace.Manager
	Checker    func(ctx context.Context, run agency.RunID) (*check.Checker, error)
	Grant      func(ctx context.Context, run agency.RunID) (Grant, error)
}

// Provider carries out the activities. It is safe for concurrent use.
type Provider struct{ o Options }

// New makes a Provider; it does nothing yet.
func New(o Options) *Provider { return &Provider{o: o} }

// Bind registers the activities.
func Bind(r *flow.Registry, p *Provider) {
	flow.Bind(r, LookActivity, p.Look)
	flow.Bind(r, InstallActivity, p.Install)
}

// checkout is a clean checkout of a tree for one step.
type checkout struct {
	root    *os.Root
	checker *check.Checker
	subject check.Subject
	close   func() error
}

func (p *Provider) open(ctx context.Context, key agency.StepKey, run agency.RunID, contract agency.ContractID, tree agency.OID) (*checkout, error) {
	r, err := p.o.Workspaces.Run(ctx, run)
	if err != nil {
		return nil, err
	}
	checker, err := p.o.Checker(ctx, run)
	if err != nil {
		return nil, err
	}
	if tree, err = r.Dir().Refs().ResolveTree(ctx, tree); err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(string(run) + "\x00" + string(key)))
	name := "deps-" + hex.EncodeToString(sum[:8])
	w, err := r.Clean(ctx, name, tree)
	if err != nil {
		return nil, err
	}
	c := &checkout{checker: checker}
	c.close = func() error {
		if c.root != nil {
			_ = c.root.Close() // only read
		}
		return errors.Join(r.Remove(context.WithoutCancel(ctx), name, workspace.Verify), checker.Drop(name))
	}
	c.subject = check.Subject{
		Tree: tree, Run: run, Contract: contract, Stage: check.StageClaim, Layer: check.LayerVerify, Scratch: name,
		Fresh: true, Fence: flow.ScopeOf(ctx).Fence,
	}
	if c.subject.Place, err = w.Place(); err == nil {
		c.root, err = w.Root()
	}
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// Install runs setup on a clean checkout of a tree. What it installs is kept
// for the run; done again it finds that. A setup that fails is an outcome.
func (p *Provider) Install(ctx context.Context, key agency.StepKey, in InstallSpec) (out Installed, err error) {
	c, err := p.open(ctx, key, in.Run, in.Contract, in.Tree)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	cmd := check.Commands{Setup: in.Line, TimeoutSeconds: in.TimeoutSeconds}.Command(agency.CheckSetup)
	r, err := c.checker.Install(ctx, c.subject, check.Install{Command: cmd, Hosts: in.Hosts})
	if err != nil {
		return out, fmt.Errorf("dependencies: %w", err)
	}
	out = Installed{Receipt: r.ID, OK: r.OK()}
	if !out.OK {
		out.Reason, out.Network = why(r), unreachable(r)
	}
	return out, nil
}

// tailLines is how much of a failed setup's output is told.
const tailLines = 20

func why(r agency.Receipt) string {
	lines := strings.Split(strings.TrimSpace(r.Output), "\n")
	lines = lines[max(0, len(lines)-tailLines):]
	cause := ""
	if r.Cause != "" {
		cause = ", " + r.Why()
	}
	return fmt.Sprintf("`%s` ended with exit code %d%s:\n\n%s", r.Command, r.ExitCode, cause, strings.Join(lines, "\n"))
}

// outside are the words in which package managers say that a host could not be
// reached.
var outside = regexp.MustCompile(`(?i)sandbox\.allow_hosts|sandbox: |ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENETUNREACH|ETIMEDOUT|could not resolve|name resolution|no such host|network is unreachable|connection refused|failed to (?:fetch|connect)|cannot connect to proxy|proxy[^\n]*forbidden|status(?: code)? 403|E403|GOPROXY=off|spurious network error|unknown host|offline mode|request to https?://[^\n]* failed`)

// unreachable tells whether a setup failed for want of a host, or of time to
// reach it.
func unreachable(r agency.Receipt) bool {
	return r.Cause == string(sandbox.CauseTimeout) || outside.MatchString(r.Output)
}
