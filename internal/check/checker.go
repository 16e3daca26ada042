package check

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"agency/internal/agency"
	"agency/internal/beneath"
	"agency/internal/bounded"
	"agency/internal/ecosystem"
	"agency/internal/sandbox"
	"agency/internal/slots"
	"agency/internal/store"
	"agency/internal/testreport"
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
	StageWork        Stage = agency.StageWork // an agent's workspace
	StageBase        Stage = agency.StageBase // the clean checkout of what a claim began from
	StageClaim       Stage = "claim"          // the clean checkout of a claim
	StageAlone       Stage = "alone"          // some tests of a claim or of its base, run again without the others
	StageOldTests    Stage = "old-tests"      // the claim's code under the base's tests
	StageWithout     Stage = "without"        // the base's code under the claim's tests
	StageCut         Stage = "cut"            // the claim with changed functions taken out
	StageOldBodies   Stage = "old-bodies"     // the claim with the bodies that functions had before
	StageOtherValues Stage = "other-values"   // the claim with other constants
	StageGutted      Stage = "gutted"         // the claim with nothing but its commands' own files as they are
	StageSpoken      Stage = "spoken-out"     // the claim without the comments by which it silences checks
	StageAnalyzed    Stage = "analyzed"       // the claim under the base's settings of analyzers
	StageFamiliar    Stage = "familiar"       // the base under the same analyzers
	StageLanding     Stage = "landing"        // the merged tree
	StageTarget      Stage = "target"         // the merge into the target branch
)

// Trial tells of runs that find out what tests are worth, of a part of them or on
// trees that are no state of the work: what fails there says nothing of the work,
// and what is counted there is no count of the suite.
func (s Stage) Trial() bool {
	return trials[s] != ""
}

// Words say for people on what a trial ran; "" of what is none.
func (s Stage) Words() string { return trials[s] }

// trials say for people what a trial runs on.
var trials = map[Stage]string{
	StageAlone: "trial of some tests alone", StageOldTests: "trial under the old tests", StageWithout: "trial without the change", StageCut: "trial with the change cut out",
	StageOldBodies: "trial with the old bodies", StageOtherValues: "trial with other values",
	StageAnalyzed: "trial for analyzers", StageFamiliar: "trial for analyzers of what was there",
	StageGutted: "trial with nothing to test", StageSpoken: "trial without silencing comments",
}

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
	// Seals has later commands of all begin with what this one builds: the checkout and
	// the command are of people alone, and nothing of an agent has touched them.
	Seals bool
	// Fresh runs the command even where a receipt of the same key exists.
	Fresh bool
	// Work names what the command is run for. Where it cannot be known whether
	// what commands load is as it was, a receipt counts in this work only; without
	// a name it is never reused.
	Work string
	// Fence, where set, is checked in the transaction that writes the receipt.
	Fence agency.Fence
	// Coverage asks the runners for the lines that the tests reach; the receipt
	// is then never one of another check.
	Coverage bool
	// Measure are files, relative to the repository, whose lines are found out in
	// passing by runners that can do so at next to no cost. The receipt is that of
	// the plain check, and kept for others only when it is green.
	Measure []string
	// Env is added to the command's environment.
	Env []string
	// Ahead is the time of processors that building for the command took before it: the
	// receipt counts it, as it counts what a command builds itself.
	Ahead time.Duration
	// Idle has the command stand back where others want a processor.
	Idle bool
}

// idleNice is how far idle commands stand back: nobody waits for them yet.
const idleNice = 10

func (s Subject) measure() ecosystem.Measure {
	return ecosystem.Measure{All: s.Coverage, Files: s.Measure}
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
	// Environment is what commands need around them (check/detect). Its Version
	// distinguishes two toolchains at one path: it is part of the environment's
	// hash. Its Loads count besides Reads and Dependencies.
	ecosystem.Environment
	// LayerDir is the host folder that holds a folder for each Layer.
	LayerDir string
	Reads    []sandbox.Mount
	// Hosts can be reached by every command, SetupHosts by setup besides.
	Hosts, SetupHosts []string
	Limits            sandbox.Limits // zero fields: MachineLimits; Wall is the command's
	// Dependencies are the folders of the user's checkout that checkouts share.
	Dependencies []Dependency
	// Finder finds what setup makes. InstallDir is the host folder that keeps what
	// setups of the run installed; empty: Install is refused.
	Finder     Finder
	InstallDir string
	Contracts  Contracts
}

// Contracts is what is known of those for which commands run. The zero knows nothing.
type Contracts struct {
	// Landed tells whether a contract's work is in the run's branch: what was
	// installed for it counts for others then.
	Landed func(ctx context.Context, run agency.RunID, contract agency.ContractID) (bool, error)
	// Needs names the resources that a command needs, which it takes of Slots before it
	// starts.
	Needs func(ctx context.Context, run agency.RunID, contract agency.ContractID, cmd Command) ([]string, error)
	Slots *slots.Pool
	// Rest, where set, is asked while a command waits for a slot: it leaves the line and
	// rests where the run is to pause.
	Rest func(ctx context.Context, run agency.RunID, leave func()) (rested bool, err error)
}

// Checker runs checks of one repository. It is safe for concurrent use.
type Checker struct {
	o      Options
	limits sandbox.Limits
	reads  int64         // bytes of an output, and of its reports
	each   time.Duration // of the processor, for one report

	receiptStore
	*packages
	builds

	installing sync.Mutex // one setup at a time
}

// New makes a Checker; it does nothing yet.
func New(o Options) *Checker {
	i, c := &setups{dir: o.InstallDir, landed: o.Contracts.Landed}, &copies{}
	if o.Runner != nil {
		i.release, c.tier = o.Runner.Release, o.Runner.Tier
	}
	if o.InstallDir != "" {
		c.notes = o.InstallDir + "-copied"
	}
	return &Checker{
		o: o, limits: orMachine(o.Limits), reads: maxRead, each: testreport.MaxFileTime,
		receiptStore: receiptStore{o.DB}, packages: &packages{o: o, setups: i, copies: c},
	}
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
	if !s.Fresh && !s.Coverage {
		if old, ok, err := c.Known(ctx, s, cmd); err != nil || ok {
			return old, err
		}
	}
	if cmd.Kind != agency.CheckSetup { // which what is built needs, too
		if err := c.built(ctx); err != nil {
			return agency.Receipt{}, err
		}
	}
	env, known := c.env(ctx, s, cmd, false)
	started := time.Now()
	r, d, whole, err := c.execute(ctx, s, cmd)
	if err != nil {
		return agency.Receipt{}, err
	}
	r.Env, r.Tree, r.RunID, r.ContractID = env, s.Tree, s.Run, s.Contract
	r.Duration = (time.Since(started) - d.waited).Seconds()
	if whole = whole && known && !s.Coverage; whole {
		after, still := c.env(ctx, s, cmd, true) // somebody may have installed something meanwhile
		whole = still && after == env
	}
	return c.keep(ctx, s, r, d, "", whole)
}

// Known is the receipt of an equal check, made the subject's own, without
// running anything; of the subject's place only At is looked at.
func (c *Checker) Known(ctx context.Context, s Subject, cmd Command) (agency.Receipt, bool, error) {
	env, known := c.env(ctx, s, cmd, false)
	if !known {
		return agency.Receipt{}, false, nil
	}
	old, ok, err := c.Cached(ctx, s.Run, s.Tree, cmd.Line, env)
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
	return beneath.Remove(dir)
}

// scratchDir holds the scratch layers, trustedDir those of subjects that seal, warmDir what
// they have sealed.
const (
	scratchDir = "scratch"
	trustedDir = "base"
	warmDir    = "warm"
)

// execute runs the command and reads its results, and what the tests reached
// where that is asked for. whole is false when a later
// run could end otherwise for reasons outside the tree.
func (c *Checker) execute(ctx context.Context, s Subject, cmd Command) (r agency.Receipt, d detail, whole bool, err error) {
	root, err := os.OpenRoot(s.Place.Root)
	if err != nil {
		return r, d, false, fmt.Errorf("checkout: %w", err)
	}
	defer func() { _ = root.Close() }() // only read
	if how, err := c.setUp(ctx, root, s, cmd); err != nil || how != "" {
		return agency.Receipt{Kind: cmd.Kind, Command: cmd.Line, Output: how + "\n"}, d, false, err
	}
	got, err := c.ask(ctx, s, cmd, root, true)
	d.waited = got.waited
	if err == nil && got.refused() {
		got.close()
		got, err = c.ask(ctx, s, cmd, root, false)
		d.waited += got.waited
	}
	if err != nil {
		return r, d, false, err
	}
	defer got.close()
	r = agency.Receipt{Kind: cmd.Kind, Command: cmd.Line, ExitCode: got.res.ExitCode, CPU: (got.res.CPU + s.Ahead).Seconds(), Cause: cause(got.res.Cause)}
	o, ok := got.read()
	r.Output = o.text.Clip(testreport.MaxOutput)
	if ok {
		r.Tests, r.Parsed = o.tests, o.complete
		count(&r)
		if !o.complete && r.Cause == "" {
			r.Cause = CauseIncomplete
		}
	}
	if why := cmp.Or(got.left.Why, got.said.Why); why != "" && (r.Cause == "" || r.Cause == CauseIncomplete) {
		r.Cause, r.Unread, r.Parsed = causeUnreadable, why, false
	}
	if s.measure().Wanted() {
		var why string
		if d.Coverage, why = got.coverage(); why != "" {
			r.Output += "[no coverage: unreadable: " + why + "]\n"
		}
	}
	if !r.OK() && (r.Failed == 0 || cmd.Kind != agency.CheckTest) {
		found := testreport.ReadFindings(o.text.Reader(), got.roots, got.res.Dropped > 0 || o.text.Lost() > 0)
		d.Findings = &found
	}
	// A run that was measured in passing stands for a plain one where all is well.
	return r, d, r.Cause == "" && s.Tree != "" && (len(s.Measure) == 0 || r.OK()), nil
}

// ask runs a command; its runners are asked for the names of their tests, or it
// runs as the user wrote it.
func (c *Checker) ask(ctx context.Context, s Subject, cmd Command, root *os.Root, names bool) (r reader, err error) {
	r = reader{root: root, all: s.Coverage, roots: []string{s.Place.At, s.Place.Root}, plan: plan{line: cmd.Line}, left: testreport.NewAllowance(c.reads, c.each, c.each*testreport.ReportTimes), said: testreport.NewAllowance(1<<62, testreport.MaxOutputTime, testreport.MaxOutputTime)}
	defer func() {
		if err != nil {
			r.close()
		}
	}()
	if r.stdout, err = newSpill(c.o.LayerDir, c.reads); err != nil {
		return r, fmt.Errorf("%s: file for its output: %w", cmd.Line, err)
	}
	files := ecosystem.Repo{FS: bounded.FS(root)}
	if names {
		r.plan = makePlan(cmd.Line, files, "", ecosystem.Measure{})
	}
	// Only what is asked to write a report gets a folder for it: a sandbox with
	// one serves no other command.
	if names && (s.measure().Wanted() || len(directly(findCalls(cmd.Line, files), false)) > 0) {
		if r.out, err = outDir(c.o.LayerDir); err != nil {
			return r, fmt.Errorf("%s: folder for reports: %w", cmd.Line, err)
		}
		r.plan = makePlan(cmd.Line, files, r.out, s.measure())
		if err = r.plan.writeReporters(r.out); err != nil {
			return r, fmt.Errorf("%s: reporters: %w", cmd.Line, err)
		}
	}
	if len(r.plan.direct) == 0 {
		r.before = findReports(root)
	}
	spec, err := c.spec(ctx, s, cmd, r.plan.line)
	if err == nil {
		spec.Out, spec.Stdout = r.out, r.stdout
		r.res, r.waited, err = c.exec(ctx, s, cmd, spec)
	}
	if err == nil {
		err = c.outOfRoom(s, r.res, r.stdout)
	}
	if err != nil {
		return r, fmt.Errorf("%s: %w", cmd.Line, err)
	}
	if r.res.Cause == sandbox.CauseCancelled {
		err = context.Cause(ctx)
	}
	return r, err
}

// CauseIncomplete is the cause of a receipt of which results are missing: its
// output was cut, or not every test came to its turn. Its exit code is true,
// its tests are not all.
const CauseIncomplete = "incomplete"

// causeUnreadable is the cause of a receipt with a report that takes more bytes,
// names or time than are read of one.
const causeUnreadable = "unreadable"

// cause is why a command ended, where not by itself. Death by a signal is told
// by the exit code, as a shell tells it.
func cause(c sandbox.Cause) string {
	switch c {
	case sandbox.CauseExited, sandbox.CauseSignalled, sandbox.CauseNotStarted:
		return ""
	}
	return string(c)
}

// Spec is how a command of no receipt runs on a subject.
func (c *Checker) Spec(ctx context.Context, s Subject, cmd Command) (sandbox.Spec, error) {
	return c.spec(ctx, s, cmd, cmd.Line)
}

func (c *Checker) spec(ctx context.Context, s Subject, cmd Command, line string) (sandbox.Spec, error) {
	tools, err := c.Tools(ctx, s.Place, s.Contract)
	s.Seals = s.Seals && !hasInstalled(tools) // and its layer is that of agents' things then
	spec := sandbox.Spec{
		Place: s.Place, Tools: tools, LayerDir: c.layer(s), Dir: s.Dir,
		Argv: []string{"/bin/sh", "-c", line}, Limits: limitsOf(c.limits, cmd), Reads: c.o.Reads,
		Hosts: c.Hosts(cmd), Env: slices.Clone(s.Env), Seals: s.Seals,
	}
	if cmd.Kind == agency.CheckSetup {
		spec.Env = append(spec.Env, c.o.Online...)
	}
	if s.Idle {
		spec.Limits.Nice = idleNice
	}
	return spec, err
}

// Hosts are those that a command may reach: setup has more.
func (c *Checker) Hosts(cmd Command) []string {
	if cmd.Kind != agency.CheckSetup {
		return c.o.Hosts
	}
	return append(slices.Clone(c.o.Hosts), c.o.SetupHosts...)
}

func (s Subject) layer() Layer { return cmp.Or(s.Layer, LayerAgents) }

// Has tells whether commands may find a program: in PATH as they see it, at one of these
// places in a dependency folder, or anywhere where a setup may have put it.
func (c *packages) Has(program string, own []string, setup bool) bool {
	paths := ecosystem.SystemPath
	for _, kv := range c.o.Tools.Env {
		if p, ok := strings.CutPrefix(kv, "PATH="); ok {
			paths = p
		}
	}
	seen := func(p string) bool {
		at := p
		for _, m := range slices.Concat(c.o.Tools.ReadOnly, c.o.Reads) {
			if ecosystem.LiesIn(p, m.At) {
				at = filepath.Join(m.Host, strings.TrimPrefix(p, m.At))
			}
		}
		info, err := os.Stat(at)
		return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
	}
	if slices.ContainsFunc(filepath.SplitList(paths), func(dir string) bool { return seen(filepath.Join(dir, program)) }) {
		return true
	}
	return len(own) > 0 && setup || slices.ContainsFunc(c.o.Dependencies, func(d Dependency) bool {
		return slices.ContainsFunc(own, func(p string) bool {
			rest, ok := strings.CutPrefix(p, d.Folder+"/")
			return ok && seen(filepath.Join(d.Host, rest))
		})
	})
}

// MachineLimits are the sizes of a check (docs/design.md, Modes): three quarters of the
// machine's memory, processes by its processors, and of the output as much as
// findings are read from; parsers read all of it.
func MachineLimits() sandbox.Limits {
	return sandbox.Limits{
		MemoryMB: max(memoryMB()*3/4, 2048), Processes: 256 + 64*runtime.NumCPU(),
		OpenFiles: 16384, FileSizeMB: 8192, OutputKB: 2048,
	}
}

func orMachine(l sandbox.Limits) sandbox.Limits {
	m := MachineLimits()
	l.MemoryMB = cmp.Or(max(l.MemoryMB, 0), m.MemoryMB)
	l.Processes = cmp.Or(max(l.Processes, 0), m.Processes)
	l.OpenFiles = cmp.Or(max(l.OpenFiles, 0), m.OpenFiles)
	l.FileSizeMB = cmp.Or(max(l.FileSizeMB, 0), m.FileSizeMB)
	l.OutputKB = cmp.Or(max(l.OutputKB, 0), m.OutputKB)
	return l
}

// memoryMB is the machine's memory; 0 where it cannot be read.
func memoryMB() int {
	b, _ := os.ReadFile("/proc/meminfo")
	kb := 0
	_, _ = fmt.Sscanf(string(b), "MemTotal: %d kB", &kb) // its first line
	return kb / 1024
}
