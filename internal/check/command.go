// Package check runs one command of a repository in the sandbox and keeps what
// happened as a receipt: command, exit code, output, the tests by name, and the
// tree and environment that it is true of (docs/design.md, Verification). Of commands whose results
// it cannot read only the exit code counts.
//
// # How results are read
//
// The calls of runners in a line are found by reading it as shell, and behind npm,
// pnpm and yarn by reading package.json. What a runner is, how it is asked without a
// change of any file, what it reports, and how it is told to run a part or follows a
// change, its language knows (ecosystem.Runner). One that refuses is run again as the
// user wrote it. Of other commands a JUnit report or TAP on standard output counts,
// or JUnit files that they write.
//
// Outputs and reports may have any size (package testreport): half a gigabyte of
// either is read. What is beyond that, or has more tests than a receipt, is
// incomplete. A report has twenty seconds of the processor, all of a command have
// forty, standard output twenty: what takes longer, or names more than is kept, is
// unreadable, and the receipt's cause says which report and why.
//
// # Parts and lines
//
// Every known runner can be told to run a part: files, folders, tests by name
// (Target, Rerun). A package script is put in place of its call, for only what
// stands in it can be told. Which lines of a change run is found out in passing
// of the changed files alone, where that costs next to nothing. Which tests a change
// can affect is picked by files (Only), from what code/imports reads of a checkout.
//
// # What a receipt depends on
//
// On the tree, and on the world around it: what is installed, the folders that
// may be read, the toolchain's programs and the runner's, the environment. All of
// it is signed when a receipt is made, once more when its command has ended, and
// when one is looked up, by what the kernel says of each file (world.go). Caches
// that hashes guard, such as Go's modules and Cargo's crates, are signed by the
// names in them; what is built from the tree is not. Where nobody can tell in a
// few seconds, a receipt counts in one piece of work only.
//
// It does not judge. Whether a receipt is good enough, what the base did and
// which criterion it proves is the work of package verify; which commands a
// repository has and what they need around them that of check/detect.
//
// # What a test run can forge
//
// A test binary is the claim's own code, so what it says about itself is worth
// only so much. The parsers trust as little as they can: a result counts only
// after `go test` announced that test, with the control byte that the testing
// package puts before its own lines; text that merely looks like a result is
// output; a top-level test that no test file of its package declares is
// dropped; a test that fails once has failed; a command that exits non-zero has
// failed whatever its output says. What remains is a test binary that is
// written to deceive: one that writes the control byte itself, or reaches the
// output of the go command through /proc, can report a declared test as passed
// that never ran. Nothing of that happens by accident, it stands in the diff,
// and package verify names a changed TestMain as an edited control file.
//
// The same holds for reports: the runner is told their path by a variable that
// is gone before the tests start, but a test runs as the same user and can look
// for the folder and write there. What tests print cannot be taken for results,
// except of TAP, which is what they print. A target of cargo whose number of
// results is not the one that it announced is incomplete.
package check

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"agency/internal/agency"
	"agency/internal/ecosystem"
	"agency/internal/sandbox"
	"agency/internal/text"
)

// Command is one line of shell with what it is for.
type Command struct {
	Kind    agency.CheckKind `json:"kind"`
	Line    string           `json:"line"`
	Timeout time.Duration    `json:"timeout,omitempty"` // zero: DefaultTimeout
}

// shown is its line as people are told of it.
func (c Command) shown() string { return "`" + text.OneLine(c.Line, 60) + "`" }

// DefaultTimeout is how long a check may take (docs/design.md, Modes).
const DefaultTimeout = 1800 * time.Second

// Commands are a repository's own. An empty one does not exist.
type Commands struct {
	Setup          string `json:"setup,omitempty"`
	Build          string `json:"build,omitempty"`
	Typecheck      string `json:"typecheck,omitempty"`
	Lint           string `json:"lint,omitempty"`
	Test           string `json:"test,omitempty"`
	TimeoutSeconds int    `json:"timeout_seconds,omitempty"` // of one command; zero: DefaultTimeout
	// LintMayFail, TestsMayFail and, of the other commands, BuildMayFail say that a claim
	// which fails them is not held back by that.
	LintMayFail  bool `json:"lint_may_fail,omitempty"`
	TestsMayFail bool `json:"tests_may_fail,omitempty"`
	BuildMayFail bool `json:"build_may_fail,omitempty"`
}

// MayFail tells whether a claim that fails the command of a kind is not held back by that.
func (c Commands) MayFail(kind agency.CheckKind) bool {
	switch kind {
	case agency.CheckLint:
		return c.LintMayFail
	case agency.CheckTest:
		return c.TestsMayFail
	}
	return c.BuildMayFail
}

// Command is the command of a kind; its Line is empty where there is none.
func (c Commands) Command(kind agency.CheckKind) Command {
	line := map[agency.CheckKind]string{
		agency.CheckSetup: c.Setup, agency.CheckBuild: c.Build, agency.CheckTypecheck: c.Typecheck,
		agency.CheckLint: c.Lint, agency.CheckTest: c.Test,
	}[kind]
	return Command{Kind: kind, Line: strings.TrimSpace(line), Timeout: c.timeout()}
}

// Kinds are those of the commands that there are, in the order in which they run.
func (c Commands) Kinds() (kinds []agency.CheckKind) {
	for _, k := range []agency.CheckKind{agency.CheckSetup, agency.CheckBuild, agency.CheckTypecheck, agency.CheckLint, agency.CheckTest} {
		if c.Command(k).Line != "" {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

func (c Commands) timeout() time.Duration {
	return cmp.Or(time.Duration(max(c.TimeoutSeconds, 0))*time.Second, DefaultTimeout)
}

// onlyErrors tells whether redirections leave standard output alone.
func onlyErrors(redirs []*syntax.Redirect) bool {
	return !slices.ContainsFunc(redirs, func(r *syntax.Redirect) bool { return r.N == nil || r.N.Value != "2" })
}

// Narrow makes a test line run only a part: packages (./internal/x), tests by name
// (TestParse, TestParse/case), or both with spaces between. Only a line that is one
// call of a runner that knows packages can be narrowed.
func Narrow(line, target string) (string, error) {
	target = strings.TrimSpace(target)
	if target == "" {
		return line, nil
	}
	var edits []ecosystem.Edit
	var err error
	if calls := directly(findCalls(line, ecosystem.Repo{}), true); len(calls) == 1 && calls[0].runner.Target != nil {
		edits, err = calls[0].runner.Target(calls[0].Call, target)
	}
	if err == nil && len(edits) == 0 {
		err = agency.Errorf(agency.KindInvalid, "target %q: the test command `%s` cannot be narrowed", target, line).
			WithMend("leave target out, or use run_command")
	}
	if err != nil {
		return "", err
	}
	return apply(line, edits), nil
}

// Named tells whether the tests that a line runs will be known by name: each
// statement of it calls a runner that can be asked. repo holds the repository's files.
func Named(line string, repo fs.FS) bool {
	if strings.TrimSpace(line) == "" {
		return false
	}
	p := makePlan(line, ecosystem.Repo{FS: repo}, "/out", ecosystem.Measure{})
	return p.asked()
}

// Part is one of the commands of a chain that belongs to a folder.
type Part struct {
	Dir  string // relative to the repository, "." for its root
	Line string // as it stands in the chain
}

// Parts parts a line that is a chain of commands, each in a folder of its own:
// `cmd && (cd web && cmd)`. Any other line is one part at the root.
func Parts(line string) []Part {
	whole := []Part{{Dir: ".", Line: line}}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(line), "")
	if err != nil || len(file.Stmts) != 1 || file.Stmts[0].Negated || file.Stmts[0].Background {
		return whole
	}
	elements, _ := chain(file.Stmts[0])
	var out []Part
	for _, e := range elements {
		if e.Negated || e.Background {
			return whole
		}
		p := Part{Dir: ".", Line: line[e.Pos().Offset():e.End().Offset()]}
		switch c := e.Cmd.(type) {
		case *syntax.CallExpr:
			if len(c.Args) == 0 || ecosystem.WordText(c.Args[0]) == "cd" {
				return whole
			}
		case *syntax.Subshell:
			p.Dir = subshellDir(c)
		default:
			return whole
		}
		if p.Dir == ecosystem.UnknownDir {
			return whole
		}
		out = append(out, p)
	}
	return out
}

func subshellDir(s *syntax.Subshell) string {
	if len(s.Stmts) != 1 {
		return ecosystem.UnknownDir
	}
	elements, _ := chain(s.Stmts[0])
	first, ok := elements[0].Cmd.(*syntax.CallExpr)
	if !ok || len(elements) < 2 || len(first.Args) == 0 || ecosystem.WordText(first.Args[0]) != "cd" {
		return ecosystem.UnknownDir
	}
	return changeDir(".", []string{"cd", ecosystem.WordText(first.Args[len(first.Args)-1])}, first)
}

// Touched is the line for the parts that a change of these paths touches: those
// in whose folder one of them lies and in no deeper part's. left are the
// folders of the parts that do not run. The whole line, and none left, where a
// path belongs to no part, such as a file at the root that any of them may read.
func Touched(line string, paths []string) (touched string, left []string) {
	parts := Parts(line)
	hit := make([]bool, len(parts))
	for _, p := range paths {
		deepest := ""
		for _, q := range parts {
			if q.Dir != "." && strings.HasPrefix(p, q.Dir+"/") && len(q.Dir) > len(deepest) {
				deepest = q.Dir
			}
		}
		if deepest == "" {
			return line, nil
		}
		for i, q := range parts {
			hit[i] = hit[i] || q.Dir == deepest
		}
	}
	var lines []string
	for i, p := range parts {
		if hit[i] {
			lines = append(lines, p.Line)
		} else if !slices.Contains(left, p.Dir) {
			left = append(left, p.Dir)
		}
	}
	if len(lines) == 0 || len(left) == 0 {
		return line, nil
	}
	return strings.Join(lines, " && "), left
}

// Output is the standard output of a command that only asks, such as `go list`:
// no receipt is kept of it. False where it failed or wrote more than is kept.
func (c *Checker) Output(ctx context.Context, s Subject, line string, timeout time.Duration) ([]byte, bool, error) {
	out, res, err := c.Ask(ctx, s, Command{Line: line, Timeout: timeout}, c.o.Hosts)
	return out, res.Cause == sandbox.CauseExited && res.ExitCode == 0 && res.StdoutErr == nil, err
}

// Ask runs a command of which no receipt is kept, with a way out to some hosts only. What
// it prints is kept up to 4 MiB; res.StdoutErr tells that there was more.
func (c *Checker) Ask(ctx context.Context, s Subject, cmd Command, hosts []string) (text []byte, res sandbox.Result, err error) {
	var out answer
	spec, err := c.spec(ctx, s, cmd, cmd.Line)
	spec.Stdout, spec.Hosts = &out, hosts
	if err != nil {
		return nil, res, err
	}
	res, err = c.Exec(ctx, s, Command{Line: cmd.Line}, spec)
	if err != nil {
		return nil, res, fmt.Errorf("%s: %w", cmd.Line, err)
	}
	if res.Cause == sandbox.CauseCancelled {
		if err := context.Cause(ctx); err != nil {
			return nil, res, err
		}
	}
	return out.text, res, nil
}
