package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"agency/bench/peer"
	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/config"
	"agency/internal/daemon"
	"agency/internal/demo"
)

// The scenes that a contender plays, each a whole run from its beginning to its merge.
const (
	sceneSingle = "single" // one agent on a suite of several seconds
	sceneTeam   = "team"   // three contracts on the same
	sceneDemo   = "demo"   // one agent on the demo's repository
)

const (
	doneWallAim   = 2.2 // suites
	doneCPUAim    = 3
	teamCPUAim    = 5
	claimAim      = 1.15
	demoCPUAim    = time.Second
	demoMemoryAim = 120 << 20
)

// doneRow is what a run takes until it is merged, against the suite, run once on a clean
// copy with the same cache of builds: its wall and CPU, and from a claim to the merge gate
// against the tests that it affects and the suite.
func doneRow() row {
	return row{figures: []string{"done/single-wall", "done/single-cpu", "done/claim", "done/team"}, long: true, measure: measureDone}
}

func measureDone(ctx context.Context, b *bench) ([]figure, error) {
	wall, cpu, s := samples{}, samples{}, samples{}
	scene := func(name string) contender {
		return contender{name, func(ctx context.Context) (float64, error) {
			r, err := b.again(ctx, "done", peer.Job{Scene: name})
			if err != nil {
				return 0, err
			}
			s[name+" cpu"] = append(s[name+" cpu"], float64(r.CPU)/float64(r.Suite.CPU))
			s[name+" wall"] = append(s[name+" wall"], float64(r.Wall)/float64(r.Suite.Wall))
			s[name+" claim"] = append(s[name+" claim"], float64(r.Claim)/float64(r.Suite.Wall+r.Affected))
			wall[name], wall["suite"] = append(wall[name], float64(r.Wall)), append(wall["suite"], float64(r.Suite.Wall))
			cpu[name], cpu["suite"] = append(cpu[name], float64(r.CPU)), append(cpu["suite"], float64(r.Suite.CPU))
			return float64(r.CPU), nil
		}}
	}
	if _, err := b.rounds(ctx, scene(sceneSingle), scene(sceneTeam)); err != nil {
		return nil, err
	}
	walls := []string{wall.raw(sceneSingle, 1e9, "s"), wall.raw("suite", 1e9, "s")}
	cpus := []string{cpu.raw(sceneSingle, 1e9, "s of CPU"), cpu.raw("suite", 1e9, "s of CPU")}
	return []figure{
		{"done/single-wall", median(s["single wall"]), atMost(doneWallAim), walls},
		{"done/single-cpu", median(s["single cpu"]), atMost(doneCPUAim), cpus},
		{"done/claim", median(s["single claim"]), atMost(claimAim), nil},
		{"done/team", median(s["team cpu"]), atMost(teamCPUAim), []string{cpu.raw(sceneTeam, 1e9, "s of CPU")}},
	}, nil
}

// demoAloneRow is the demo of one agent, without what its checks take.
func demoAloneRow() row {
	return row{figures: []string{"demo/cpu", "demo/memory"}, measure: measureDemoAlone}
}

// measureDemoAlone is what the demo's run of one agent takes besides its checks, and what
// lies in memory of it.
func measureDemoAlone(ctx context.Context, b *bench) ([]figure, error) {
	var most float64
	s, err := b.rounds(ctx, contender{"beside", func(ctx context.Context) (float64, error) {
		stop := watchMemory() // not by the contender: that counts what it takes itself
		r, err := b.again(ctx, "done", peer.Job{Scene: sceneDemo})
		most = max(most, float64(stop()))
		return float64(r.CPU - r.Checks), err
	}})
	if err != nil {
		return nil, err
	}
	return []figure{
		{"demo/cpu", median(s["beside"]) / float64(demoCPUAim), atMost(1), []string{s.raw("beside", 1e9, "s of CPU beside the checks")}},
		{"demo/memory", most / demoMemoryAim, atMost(1), []string{fmt.Sprintf("%.0f MB", most/(1<<20))}},
	}, nil
}

// scene is a repository with a run to be made on it.
type scene struct {
	dir, repo, goal string
	cfg             config.Config
	suite, affected []string // commands; none: not asked for
}

// doneContender makes a scene, plays it, and measures the suite beside it.
func doneContender(ctx context.Context, job peer.Job) (report peer.Report, err error) {
	daemon.TuneMemory() // as the host does
	sc, err := newScene(ctx, job)
	if err != nil {
		return report, err
	}
	if len(sc.suite) > 0 {
		if report.Suite, report.Affected, err = sc.plain(ctx); err != nil {
			return report, err
		}
	}
	m := peer.NewMeter(job)
	m.Start()
	claim, checks, err := sc.play(ctx)
	m.Stop(1)
	suite, affected := report.Suite, report.Affected
	report = m.Report()
	report.Suite, report.Affected, report.Claim, report.Checks = suite, affected, claim, checks
	return report, err
}

func newScene(ctx context.Context, job peer.Job) (*scene, error) {
	sc := &scene{dir: job.Dir, repo: filepath.Join(job.Dir, "repo"), goal: "Give p0 a subtraction"}
	if job.Scene == sceneDemo {
		s, err := demo.Make(ctx, filepath.Join(job.Dir, "demo"), "", agency.ModeSingle)
		if err != nil {
			return nil, err
		}
		sc.repo, sc.goal, sc.cfg = s.Repo, s.Goal, s.Config(config.Defaults())
		return sc, nil
	}
	sc.suite, sc.affected = []string{"go", "test", "-count=1", "./..."}, []string{"go", "test", "-count=1", "./p0"}
	script := filepath.Join(job.Dir, "script.yaml")
	text := doneScript()
	own := os.Getenv("AGENCY_DONE_REPO")
	switch {
	case own != "" && job.Scene == sceneSingle:
		b, err := os.ReadFile(os.Getenv("AGENCY_DONE_SCRIPT"))
		if err != nil {
			return nil, fmt.Errorf("AGENCY_DONE_SCRIPT: %w", err)
		}
		if text = string(b); exec.CommandContext(ctx, "git", "clone", "-q", own, sc.repo).Run() != nil {
			return nil, fmt.Errorf("no clone of %s", own)
		}
		sc.affected = sc.suite // of the package that all others use, say
	default:
		if err := errors.Join(os.Mkdir(sc.repo, 0o755), fillSuite(sc.repo, "base", false), commitAll(ctx, sc.repo)); err != nil {
			return nil, err
		}
	}
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		return nil, err
	}
	sc.cfg = (&demo.Sample{Script: script}).Config(config.Defaults())
	if job.Scene == sceneTeam {
		sc.cfg.Mode = agency.ModeMultiAgent
	}
	return sc, nil
}

// cache gives commands an empty cache of builds where the repository is a clone.
func (sc *scene) cache(name string) error {
	if os.Getenv("AGENCY_DONE_REPO") == "" {
		return nil
	}
	return os.Setenv("GOCACHE", filepath.Join(sc.dir, name))
}

// plain runs the suite, and what the change affects of it, once each on a copy.
func (sc *scene) plain(ctx context.Context) (suite peer.Cost, affected time.Duration, err error) {
	if err := sc.cache("plain"); err != nil {
		return suite, 0, err
	}
	at := filepath.Join(sc.dir, "plain-copy")
	if out, err := exec.CommandContext(ctx, "git", "clone", "-q", sc.repo, at).CombinedOutput(); err != nil {
		return suite, 0, fmt.Errorf("git clone: %w: %s", err, out)
	}
	run := func(argv []string) (peer.Cost, error) {
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Dir = at
		begun, used := time.Now(), peer.CPU()
		out, err := cmd.CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, bytes.TrimSpace(out))
		}
		return peer.Cost{Wall: time.Since(begun), CPU: peer.CPU() - used}, err
	}
	if suite, err = run(sc.suite); err != nil {
		return suite, 0, err
	}
	part, err := run(sc.affected)
	return suite, part.Wall, err
}

// play makes the run and follows it to its end: how long it took from its last claim to
// its merge gate, and what its checks took of the processors.
func (sc *scene) play(ctx context.Context) (claim, checks time.Duration, err error) {
	if err := sc.cache("run"); err != nil {
		return 0, 0, err
	}
	socket, err := os.MkdirTemp("", "agency-s-") // a socket's path must be short
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = os.RemoveAll(socket) }() // an empty folder
	f := config.Folders{Config: filepath.Join(sc.dir, "config"), State: filepath.Join(sc.dir, "state", "agency"), Cache: filepath.Join(sc.dir, "cache"), Socket: socket}
	d, err := daemon.StartFor(ctx, sc.repo, f, sc.cfg, daemon.Options{})
	if err != nil {
		return 0, 0, err
	}
	defer d.Close()
	c := d.Dial()
	defer c.Close()
	raw, err := json.Marshal(sc.cfg)
	if err != nil {
		return 0, 0, err
	}
	id, err := agency.NewRunID("done", rand.Reader)
	if err != nil {
		return 0, 0, err
	}
	if _, err := c.Start(ctx, api.RunRequest{
		ID: id, Goal: sc.goal, Repo: sc.repo, Mode: sc.cfg.Mode, Land: agency.LandMerge, Yes: true, Config: raw,
		Env: config.ToolEnv(os.LookupEnv), By: "bench",
	}); err != nil {
		return 0, 0, err
	}
	if claim, err = followed(ctx, c, id); err != nil {
		return 0, 0, err
	}
	doc, err := c.Inspect(ctx, id)
	for _, r := range doc.Receipts {
		checks += time.Duration(r.CPU * float64(time.Second))
	}
	return claim, checks, err
}

// followed follows a run until it has succeeded.
func followed(ctx context.Context, c *api.Client, id agency.RunID) (claim time.Duration, err error) {
	var claimed time.Time
	for ev, err := range c.Events(ctx, api.EventQuery{Run: id, Follow: true}) {
		switch {
		case err != nil:
			return 0, err
		case ev.Type == "claimed":
			claimed = ev.Time
		case ev.Type == "gate_pending":
			claim = ev.Time.Sub(claimed)
		case ev.Type == "run_succeeded":
			return claim, nil
		case ev.Type == "run_failed" || ev.Type == "state_changed" && bytes.Contains(ev.Details, []byte(`"to":"interrupted"`)):
			return 0, fmt.Errorf("the run ended otherwise: %s", ev.Summary)
		}
	}
	return 0, errors.New("the run's events ended")
}
