package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/check/detect"
	"agency/internal/code"
	"agency/internal/ecosystem"
	"agency/internal/flow"
	"agency/internal/verify"
	"agency/internal/workspace"
)

const (
	verifyPackages = 10
	verifyChanged  = 5
	verifySeconds  = 2 // of each package's tests: 10 s of wall time on two cores
)

// verifyRow is the verification of a claim of five files with a new test each in
// a suite of ten seconds, proofs and unproved lines included, against the plain
// commands of base and claim on two clean checkouts.
func verifyRow() row {
	return row{figures: []string{"verify/claim"}, long: true, measure: func(ctx context.Context, b *bench) (_ []figure, err error) {
		dir, err := b.folder()
		if err != nil {
			return nil, err
		}
		r, err := newRig(ctx, dir, nil, func(dir string) error { return fillSuite(dir, "start", false) })
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, r.close()) }()
		v, err := newVerifying(ctx, r)
		if err != nil {
			return nil, err
		}
		s, err := b.rounds(ctx, contender{"ours", v.ours}, contender{"plain", v.plain})
		if err != nil {
			return nil, err
		}
		raw := []string{s.raw("ours", 1e9, "s"), s.raw("plain", 1e9, "s")}
		return []figure{{"verify/claim", s.ratio("ours", "plain"), atMost(1.6), raw}}, nil
	}}
}

// fillSuite writes the packages of a module: their tests keep a processor busy.
// The word makes each package another one than that of any other round.
func fillSuite(dir, word string, changed bool) error {
	files := map[string]string{"go.mod": "module ex.com/suite\n\ngo 1.22\n"}
	for i := range verifyPackages {
		name := fmt.Sprint("p", i)
		src := fmt.Sprintf("package %s\n\nconst Word = %q\n\nfunc Add(a, b int) int {\n\treturn a + b\n}\n", name, word)
		test := fmt.Sprintf("package %s\n\nimport (\n\t\"testing\"\n\t\"time\"\n)\n\nfunc TestAdd(t *testing.T) {\n"+
			"\tfor begun := time.Now(); time.Since(begun) < %d*time.Second; {\n\t}\n\tif Add(1, 2) != 3 {\n\t\tt.Error(Word)\n\t}\n}\n", name, verifySeconds)
		if changed && i < verifyChanged {
			src += "\nfunc Sub(a, b int) int {\n\treturn a - b\n}\n"
			test += "\nfunc TestSub(t *testing.T) {\n\tif Sub(3, 2) != 1 {\n\t\tt.Error(Word)\n\t}\n}\n"
		}
		files[name+"/"+name+".go"], files[name+"/"+name+"_test.go"] = src, test
	}
	for name, text := range files {
		p := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o755), os.WriteFile(p, []byte(text), 0o644)); err != nil {
			return err
		}
	}
	return nil
}

// verifying is a rig whose claims are verified.
type verifying struct {
	*rig
	verifier *verify.Verifier
	checker  *check.Checker
	commands check.Commands
	n        int
}

func newVerifying(ctx context.Context, r *rig) (*verifying, error) {
	found, err := detect.Toolchain(ctx, detect.Input{Repo: os.DirFS(r.repo), Env: os.LookupEnv})
	if err != nil {
		return nil, err
	}
	v := &verifying{rig: r, checker: check.New(check.Options{
		Runner: r.runner, DB: r.db, Environment: ecosystem.Environment{Tools: found.Tools, Version: found.Version}, LayerDir: filepath.Join(r.state, "cache"),
	})}
	v.commands, _ = detect.Commands(os.DirFS(r.repo))
	v.verifier = verify.New(verify.Options{
		DB: r.db, Workspaces: r.spaces, Syntax: code.New(code.Options{}),
		Checker: func(context.Context, agency.RunID) (*check.Checker, error) { return v.checker, nil },
	})
	return v, nil
}

// trees are a base and a claim on it that nobody has seen before.
func (v *verifying) trees(ctx context.Context) (base, claim agency.OID, err error) {
	v.n++
	for _, side := range []struct {
		to      *agency.OID
		changed bool
	}{{&base, false}, {&claim, true}} {
		if err := fillSuite(v.repo, fmt.Sprint("round ", v.n), side.changed); err != nil {
			return "", "", err
		}
		if _, err := userGit(ctx, v.repo, "add", "-A"); err != nil {
			return "", "", err
		}
		tree, err := userGit(ctx, v.repo, "write-tree")
		if err != nil {
			return "", "", err
		}
		*side.to = agency.OID(tree)
	}
	return base, claim, nil
}

func (v *verifying) ours(ctx context.Context) (float64, error) {
	base, claim, err := v.trees(ctx)
	if err != nil {
		return 0, err
	}
	ctx = flow.WithScope(ctx, flow.Scope{Run: benchRun, Fence: v.fence})
	begun := time.Now()
	got, err := v.verifier.Verify(ctx, agency.StepKey(fmt.Sprint("verify", v.n)), verify.Spec{
		Run: benchRun, Contract: "main", Attempt: v.n, Type: agency.TypeFeature, Base: base, Claim: claim,
		Criteria: []agency.Criterion{{ID: "goal", Text: "Sub subtracts"}}, Commands: v.commands,
	})
	took := time.Since(begun)
	switch {
	case err != nil:
		return 0, err
	case !got.Pass || len(got.Proofs) != 1 || got.Unproved == nil || got.Unproved.Changed != verifyChanged || got.Unproved.Lines != 0:
		return 0, fmt.Errorf("the verdict is not the one to be measured: %+v", got)
	}
	return float64(took), nil
}

// plain runs the tests of the base and all commands of the claim, each side on a
// clean checkout, and judges nothing.
func (v *verifying) plain(ctx context.Context) (float64, error) {
	base, claim, err := v.trees(ctx)
	if err != nil {
		return 0, err
	}
	begun := time.Now()
	err = errors.Join(
		v.suite(ctx, check.StageClaim, claim, agency.CheckBuild, agency.CheckLint, agency.CheckTest),
		v.suite(ctx, check.StageBase, base, agency.CheckTest),
	)
	return float64(time.Since(begun)), err
}

func (v *verifying) suite(ctx context.Context, stage check.Stage, tree agency.OID, kinds ...agency.CheckKind) (err error) {
	name := fmt.Sprintf("plain-%s-%d", stage, v.n)
	w, err := v.work.Clean(ctx, name, tree)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.work.Remove(ctx, name, workspace.Verify), v.checker.Drop(name)) }()
	place, err := w.Place()
	if err != nil {
		return err
	}
	s := check.Subject{Place: place, Tree: tree, Run: benchRun, Contract: "main", Stage: stage, Layer: check.LayerVerify, Fence: v.fence, Fresh: true}
	if s.Place.At = v.repo; stage != check.StageBase {
		s.Scratch = name
	}
	for _, kind := range kinds {
		cmd := v.commands.Command(kind)
		if cmd.Line == "" {
			continue
		}
		r, err := v.checker.Run(ctx, s, cmd)
		if err != nil {
			return err
		}
		if !r.OK() {
			return fmt.Errorf("%s: %s", cmd.Line, strings.TrimSpace(r.Output))
		}
	}
	return nil
}
