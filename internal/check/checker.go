package check

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/sandbox"
	"agency/internal/store"
)

// Layer says which cache layers a command writes and reads. What an agent
// could write is never read by a verification.
type Layer string

// The layers.
const (
	LayerAgents Layer = "agents"
	LayerVerify Layer = "verify"
)

// Stage says on what a check ran.
type Stage string

// The stages.
const (
	StageWork    Stage = "work"    // an agent's workspace
	StageBase    Stage = "base"    // the clean checkout of what a claim began from
	StageClaim   Stage = "claim"   // the clean checkout of a claim
	StageLanding Stage = "landing" // the merged tree
	StageTarget  Stage = "target"  // the merge into the target branch
)

// Subject is what a command runs on.
type Subject struct {
	Place sandbox.Place
	Dir   string // working folder, relative to the checkout
	// Tree is the git tree that the checkout holds. Empty: unknown; then no
	// receipt is reused and this one never will be.
	Tree     agency.OID
	Run      agency.RunID
	Contract agency.ContractID
	Agent    agency.AgentID
	Stage    Stage
	Layer    Layer // default LayerAgents
	// Scratch, where set, names a cache layer of this subject alone, thrown
	// away by Checker.Drop: the tests of a claim are an agent's code and can
	// write into the build cache that they see.
	Scratch string
	// Fresh runs the command even where a receipt of the same key exists.
	Fresh bool
	// Fence, where set, is checked in the transaction that writes the receipt.
	Fence agency.Fence
}

// Runner runs a command: *sandbox.Runner.
type Runner interface {
	// Run returns an error only when the sandbox itself could not run.
	Run(context.Context, sandbox.Spec) (sandbox.Result, error)
	Mode() sandbox.Mode
	// Release ends what still shows a folder that is about to be removed.
	Release(dir string)
	// Tier is what is in force of the sandbox: results of one tier do not stand
	// for another.
	Tier() sandbox.Tier
}

// Options make a Checker.
type Options struct {
	Runner Runner
	DB     *store.DB
	// Tools is what the commands need around them (check/detect), Version what
	// distinguishes two toolchains at one path: it is part of the environment's
	// hash.
	Tools   sandbox.Toolchain
	Version string
	// LayerDir is the host folder that holds a folder for each Layer.
	LayerDir string
	Reads    []sandbox.Mount
	Limits   sandbox.Limits // zero fields: MachineLimits; Wall is the command's
}

// Checker runs checks of one repository. It is safe for concurrent use.
type Checker struct {
	o      Options
	limits sandbox.Limits
}

// New makes a Checker; it does nothing yet.
func New(o Options) *Checker {
	return &Checker{o: o, limits: orMachine(o.Limits)}
}

// Run runs a command, or finds the receipt of an equal one, and keeps the
// receipt: the same tree, command and environment need not run again. The
// event tests_run or lint_run is appended in the same transaction. An error
// means that there is no receipt: the sandbox could not run, the context ended
// (its error), or the store refused; a command that fails is a receipt.
func (c *Checker) Run(ctx context.Context, s Subject, cmd Command) (agency.Receipt, error) {
	if strings.TrimSpace(cmd.Line) == "" {
		return agency.Receipt{}, agency.Errorf(agency.KindInvalid, "%s: no command is configured", cmd.Kind).
			WithMend("set commands.%s in agency.yaml", cmd.Kind)
	}
	if !s.Fresh {
		if old, ok, err := c.Known(ctx, s, cmd); err != nil || ok {
			return old, err
		}
	}
	started := time.Now()
	r, whole, err := c.execute(ctx, s, cmd)
	if err != nil {
		return agency.Receipt{}, err
	}
	r.Env, r.Tree, r.RunID, r.ContractID = c.Env(s, cmd), s.Tree, s.Run, s.Contract
	r.Duration = time.Since(started).Seconds()
	return c.keep(ctx, s, r, "", whole)
}

// Known is the receipt of an equal check, made the subject's own, without
// running anything; of the subject's place only At is looked at.
func (c *Checker) Known(ctx context.Context, s Subject, cmd Command) (agency.Receipt, bool, error) {
	old, ok, err := c.Cached(ctx, s.Tree, cmd.Line, c.Env(s, cmd))
	if err != nil || !ok {
		return agency.Receipt{}, false, err
	}
	r, err := c.takeOver(ctx, s, cmd, old)
	return r, err == nil, err
}

// Drop removes a scratch layer.
func (c *Checker) Drop(scratch string) error {
	if scratch == "" || !filepath.IsLocal(scratch) {
		return nil
	}
	dir := filepath.Join(c.o.LayerDir, scratchDir, scratch)
	c.o.Runner.Release(dir)
	return os.RemoveAll(dir)
}

// scratchDir holds the scratch layers.
const scratchDir = "scratch"

// execute runs the command and reads its results. whole is false when a later
// run could end otherwise for reasons outside the tree.
func (c *Checker) execute(ctx context.Context, s Subject, cmd Command) (r agency.Receipt, whole bool, err error) {
	root, err := os.OpenRoot(s.Place.Root)
	if err != nil {
		return r, false, fmt.Errorf("checkout: %w", err)
	}
	defer func() { _ = root.Close() }() // only read
	line, goCalls := instrument(cmd.Line)
	var before reportFiles
	if goCalls == 0 {
		before = findReports(root)
	}
	res, err := c.o.Runner.Run(ctx, c.spec(s, cmd, line))
	if err == nil {
		err = c.outOfRoom(s, res)
	}
	if err != nil {
		return r, false, fmt.Errorf("%s: %w", cmd.Line, err)
	}
	if res.Cause == sandbox.CauseCancelled {
		if err := context.Cause(ctx); err != nil {
			return r, false, err
		}
	}
	r = agency.Receipt{Kind: cmd.Kind, Command: cmd.Line, ExitCode: res.ExitCode, Cause: cause(res.Cause)}
	o, ok := read(res, goCalls, root, before)
	r.Output = clip(o.text, maxOutput)
	if ok {
		r.Tests, r.Parsed = o.tests, o.complete
		count(&r)
		if !o.complete && r.Cause == "" {
			r.Cause = CauseIncomplete
		}
	}
	return r, r.Cause == "" && s.Tree != "", nil
}

// CauseIncomplete is the cause of a receipt whose output was cut, so that
// results are missing: its exit code is true, its tests are not all.
const CauseIncomplete = "incomplete"

// cause is why a command ended, where not by itself. Death by a signal is told
// by the exit code, as a shell tells it.
func cause(c sandbox.Cause) string {
	switch c {
	case sandbox.CauseExited, sandbox.CauseSignalled, sandbox.CauseNotStarted:
		return ""
	}
	return string(c)
}

// read finds the results in what a command printed or wrote; ok is false where
// only the exit code counts.
func read(res sandbox.Result, goCalls int, root *os.Root, before reportFiles) (o outcome, ok bool) {
	if goCalls > 0 {
		suite, complete := parseGo(res.Stdout, res.StdoutDropped > 0)
		complete = complete || (res.Cause != sandbox.CauseExited && res.StdoutDropped == 0)
		o = suite.outcome(complete, stray(res.Output), newDeclaredTests(root).has)
		return o, suite.results > 0 || res.ExitCode == 0
	}
	text := string(res.Output)
	t := newTally()
	if complete, err := parseJUnit(res.Stdout, t); err == nil || (len(t.order) > 0 && res.StdoutDropped > 0) {
		return outcome{tests: t.list(), text: failures(t) + text, complete: complete && err == nil && res.StdoutDropped == 0}, true
	}
	if t, complete, ok := readReports(root, before.newReports(root)); ok && len(t.order) > 0 {
		return outcome{tests: t.list(), text: text, complete: complete && t.dropped == 0}, true
	}
	return outcome{text: text}, false
}

// failures is the output of the failed tests of a report that is itself the
// output: people want those first.
func failures(t *tally) string {
	var b strings.Builder
	for _, r := range t.list() {
		if r.Status == agency.TestFailed {
			fmt.Fprintf(&b, "--- FAIL: %s\n%s\n", r.Name, r.Output)
		}
	}
	return b.String()
}

func (c *Checker) spec(s Subject, cmd Command, line string) sandbox.Spec {
	limits := c.limits
	limits.Wall = cmd.Timeout
	if limits.Wall <= 0 {
		limits.Wall = DefaultTimeout
	}
	return sandbox.Spec{
		Place: s.Place, Tools: c.o.Tools, LayerDir: c.layer(s), Dir: s.Dir,
		Argv: []string{"/bin/sh", "-c", line}, Limits: limits, Reads: c.o.Reads,
	}
}

func (c *Checker) layer(s Subject) string {
	if s.Scratch != "" {
		return filepath.Join(c.o.LayerDir, scratchDir, s.Scratch)
	}
	return filepath.Join(c.o.LayerDir, string(s.layer()))
}

func (s Subject) layer() Layer {
	if s.Layer == "" {
		return LayerAgents
	}
	return s.Layer
}

// Env is the hash of everything but tree and command that a result depends on:
// toolchain, sandbox, limits, the path and the caches.
func (c *Checker) Env(s Subject, cmd Command) agency.Hash {
	spec := c.spec(s, cmd, cmd.Line)
	b, err := json.Marshal(struct {
		Form    int
		Mode    sandbox.Mode
		Tier    sandbox.Tier
		Version string
		Tools   sandbox.Toolchain
		At, Dir string
		Layer   Layer
		Limits  sandbox.Limits
		Reads   []sandbox.Mount
	}{2, c.o.Runner.Mode(), c.o.Runner.Tier(), c.o.Version, spec.Tools, spec.Place.At, spec.Dir, s.layer(), spec.Limits, spec.Reads})
	if err != nil { // plain data
		return ""
	}
	sum := sha256.Sum256(b)
	return agency.Hash(hex.EncodeToString(sum[:]))
}
