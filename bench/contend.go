package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"agency/bench/peer"
)

// contendVerb begins the arguments of a contender's process.
const contendVerb = "contend"

// contend is the process of a contender.
func contend(name string) int {
	run := contenders()[name]
	if run == nil {
		fmt.Fprintf(os.Stderr, "contender %q is not known\n", name)
		return 1
	}
	return peer.Main(run)
}

// again runs this binary as a contender.
func (b *bench) again(ctx context.Context, name string, job peer.Job) (peer.Report, error) {
	self, err := os.Executable()
	if err != nil {
		return peer.Report{}, err
	}
	return b.process(ctx, name, job, self, contendVerb, name)
}

// process runs a contender on a job, in a folder of its own.
func (b *bench) process(ctx context.Context, name string, job peer.Job, argv ...string) (report peer.Report, err error) {
	if job.Dir, err = b.folder(); err != nil {
		return report, err
	}
	defer func() { _ = os.RemoveAll(job.Dir) }() // the whole scratch folder goes at the end
	if b.profiles != "" {
		job.Profile = filepath.Join(b.profiles, name+".pprof")
		if err := os.MkdirAll(b.profiles, 0o755); err != nil {
			return report, err
		}
	}
	in, err := json.Marshal(job)
	if err != nil {
		return report, err
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &out, &errs
	if err := cmd.Run(); err != nil {
		return report, fmt.Errorf("%s: %w: %s", name, err, bytes.TrimSpace(errs.Bytes()))
	}
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		return report, fmt.Errorf("%s: report: %w", name, err)
	}
	return report, nil
}

// build builds a package of a module folder and gives the binary's path.
func (b *bench) build(ctx context.Context, module, pkg, name string) (string, error) {
	bin := filepath.Join(b.dir, name)
	cmd := exec.CommandContext(ctx, "go", "build", "-o", bin, pkg)
	cmd.Dir = module
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build %s: %w: %s", pkg, err, bytes.TrimSpace(out))
	}
	return bin, nil
}

// modules are the folders of the bench's own module and of the product's.
func modules(ctx context.Context) (own, product string, err error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "agency/bench", "agency").Output()
	if err != nil {
		return "", "", fmt.Errorf("go list (run the bench inside its folder): %w", err)
	}
	dirs := bytes.Fields(out)
	if len(dirs) != 2 {
		return "", "", fmt.Errorf("go list gave %q", out)
	}
	return string(dirs[0]), string(dirs[1]), nil
}
