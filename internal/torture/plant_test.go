//go:build linux

package torture

import (
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"agency/internal/sandbox"
)

// plant is a bug that the suite must catch: the edit that plants it and the
// test that turns red.
type plant struct {
	name    string
	edits   []edit
	pkg     string
	catches string
}

func plants() []plant {
	return []plant{
		{
			"ack before commit",
			[]edit{
				{"internal/store/batch.go", "if w.seams.ackEarly {", "if true {"},
				{"internal/store/batch.go", "if !w.seams.ackEarly {", "if false {"},
			},
			"./internal/store", "TestKill9LosesNothing",
		},
		{
			"no intent row",
			[]edit{{"internal/land/intent.go", "func putIntent(tx *store.Tx, in intent) error {\n", "func putIntent(tx *store.Tx, in intent) error {\n\tif true {\n\t\treturn nil\n\t}\n"}},
			"./internal/land", "TestMergeSurvivesAKillAtEachPoint",
		},
		{
			"no fencing",
			[]edit{{"internal/store/batch.go", "if r.fence == nil || b.w.seams.noFence {", "if true {"}},
			"./internal/flow/local", "TestSupersededHostCannotWrite",
		},
		{
			"lease that two hold",
			[]edit{{"internal/lease/lease.go", "if held[0].Holder != r.Holder {", "if false {"}},
			"./internal/lease", "TestOneHolder",
		},
		{
			"wall-clock lease",
			[]edit{{"internal/lease/clock.go", "mono = v.Mono\n", "mono = time.Duration(v.Now.UnixNano())\n"}},
			"./internal/lease", "TestAwakeGoesOn",
		},
		{
			"merge without compare-and-swap",
			[]edit{{"internal/git/refs.go", `"--end-of-options", ref, string(new), string(old)},`, `"--end-of-options", ref, string(new)},`}},
			"./internal/land", "TestTargetMovedUnderneath",
		},
		{
			"merge that does not look again under the lock",
			[]edit{{"internal/land/checkout.go", "	err := m.unchanged(ctx, in)\n", "	err := error(nil)\n"}},
			"./internal/land", "TestBusyBeforeTheLock",
		},
		{
			"merge that leaves a checkout behind",
			[]edit{{"internal/land/locks.go", "	return m.follow(ctx, in)\n", "	return nil\n"}},
			"./internal/land", "TestPersonInTheMomentOfTheMove",
		},
		{
			"merge that forgets what it began",
			[]edit{{"internal/land/target.go", "errors.As(err, &half) {", "errors.As(err, &half) && half == nil {"}},
			"./internal/land", "TestFullDiskAtTheRef",
		},
		{
			"merge of another head than was shown",
			[]edit{{"internal/land/target.go", "	if m.spec.Head != head {\n", "	if false {\n"}},
			"./internal/land", "TestMergeOfWhatWasNotShown",
		},
		{
			"branch that moves under a checkout",
			[]edit{{"internal/land/line.go", "	at, err := checkoutsOf(ctx, b.run, b.name)\n", "	at, err := []string(nil), error(nil)\n"}, {"internal/land/held.go", "		if from == was {\n", "		if from == was && false {\n"}},
			"./internal/land", "TestLandingWhileTheBranchIsLookedAt",
		},
		{
			"queue that lands untested",
			[]edit{{"internal/land/landing.go", "	if len(reasons) > 0 {\n", "	if len(reasons) > 99 {\n"}},
			"./internal/land", "TestRedMergedTreeDoesNotLand",
		},
		{
			"batch that lands untested",
			[]edit{{"internal/land/batch.go", "		if len(reasons) > 0 {\n", "		if len(reasons) > 99 {\n"}},
			"./internal/land", "TestRedBatchIsBisected",
		},
		{
			"bisection that blames another",
			[]edit{{"internal/land/batch.go", "		if tip.Tree == red {\n", "		if red != \"\" {\n			in[0].end(Outcome{Red: &Red{Tree: red, Reasons: []string{\"red\"}}})\n			return nil\n		}\n		if tip.Tree == red {\n"}},
			"./internal/land", "TestRedBatchIsBisected",
		},
		{
			"structural merge that loses a side",
			[]edit{{"internal/textmerge/list.go", "out := slices.Concat(ours, theirs)", "out := slices.Clone(ours)"}, {"internal/textmerge/merge.go", "return merged, m.keeps(base, ours, theirs, merged)", "return merged, nil"}},
			"./internal/textmerge", "TestRandomEdits",
		},
		{
			"critic that always approves",
			[]edit{{"internal/agency/review.go", "if why := against(r, u, f); why != \"\" {", "if why := against(r, u, f); false {"}},
			"./internal/agency", "TestJudgeReview",
		},
		{
			"executor that forgets a dependant",
			[]edit{{"internal/schedule/queue.go", "if d.missing--; d.missing == 0 && d.place == waiting {", "if d.missing--; d.missing == 0 && d.place == waiting && d == n.dependants[0] {"}},
			"./internal/schedule", "TestQueueIsThePolicy",
		},
		{
			"executor that forgets a late dependant",
			[]edit{{"internal/schedule/queue.go", "		on.dependants = append(on.dependants, n)\n", "		if on.place != working {\n			on.dependants = append(on.dependants, n)\n		}\n"}},
			"./internal/schedule", "TestOpenExecutorKeepsItsPromises",
		},
		{
			"executor that does not look at what comes late",
			[]edit{{"internal/schedule/open.go", "return poke(c, key, e.x.o.Run, notes(e.x.o.Of), note{Look: true})", "return nil"}},
			"./internal/schedule", "TestOpenExecutorKeepsItsPromises",
		},
		{
			"executor that lets a fix at the files of others",
			[]edit{{"internal/schedule/widen.go", "		return overlap\n", "		return false && overlap\n"}},
			"./internal/schedule", "TestOpenExecutorKeepsItsPromises",
		},
		{
			"run that forgets a signal",
			[]edit{{"internal/flow/local/execution.go", "ev, ok, woken = x.inbox.take()", "ev, ok, _ = x.inbox.take()"}},
			"./internal/flow/local", "TestSignalAfterTheLook",
		},
		{
			"forgotten clean-up",
			[]edit{{"internal/workspace/run.go", "if slices.Contains(keep, ref) {", "if true {"}},
			"./internal/workspace", "TestSweepRemovesOrphans",
		},
	}
}

// brokenWalls are bugs of the sandbox that doctor's own attempts must find, where
// the machine has the full tier.
func brokenWalls() []plant {
	const pkg, catches, walls = "./internal/doctor", "TestSandboxHolds", "./internal/sandbox"
	return []plant{
		{"sandbox without its filter", []edit{{"internal/supervisor/script_linux.go", "\ts.Add(fork.Shared, what, 0, unix.SYS_SECCOMP, args...)\n", "\t_, _ = what, args\n"}}, pkg, catches},
		{"sandbox with the host's sockets in what it shows", []edit{
			{"internal/rootfs/sealed_linux.go", "if dir && !s.parts {", "if dir && s.parts {"},
			{"internal/rootfs/sealed_linux.go", "if dir && !s.system {", "if dir && s.system {"},
		}, pkg, catches},
		{"sandbox with capabilities to get back", []edit{{"internal/supervisor/privs_linux.go", "unix.PR_CAPBSET_DROP", "unix.PR_CAPBSET_READ"}}, pkg, catches},
		{"sandbox with the host's files open", []edit{
			{"internal/supervisor/serve_linux.go", "unix.CloseRange(fdControl, ", "unix.CloseRange(^uint(0)>>1, "},
			{"internal/supervisor/script_linux.go", "\ts.Add(fork.Shared, \"open files\", 0, unix.SYS_CLOSE_RANGE, s.next, uintptr(^uint32(0)), 0)\n", ""},
			{"internal/supervisor/command_linux.go", "unix.Pipe2(pipe[:], unix.O_CLOEXEC)", "unix.Pipe2(pipe[:], 0)"},
		}, pkg, catches},
		{
			"sandbox whose commands set limits and places of others",
			[]edit{{"internal/linux/seccomp/seccomp_linux.go", "\t\tp = append(p, c.rule(shared)...)\n", "\t\t_ = c\n"}},
			pkg, catches,
		},
		{
			"sandbox in which a process can hide",
			[]edit{{"internal/linux/seccomp/seccomp_linux.go", "optionRule(), shownRule())", "optionRule())"}},
			pkg, catches,
		},
		{
			"landlock tier with what is the machine's",
			[]edit{{"internal/linux/seccomp/seccomp_linux.go", "\tif shared {\n\t\tp = append(p, onCalls(retNoSys", "\tif !shared && shared {\n\t\tp = append(p, onCalls(retNoSys"}},
			walls, "TestLandlockAttempts",
		},
		{
			"landlock tier that takes a lost first thread for an end",
			[]edit{
				{"internal/linux/process_linux.go", "return f != nil && (!Headless(f) || Number(f[statThreads]) > 1)", "return f != nil && !Headless(f)"},
				{"internal/supervisor/subreaper_linux.go", "locks{rules, k.scope}", "locks{rules, -1}"},
			},
			walls, "TestFirstKilled",
		},
		{
			"landlock tier whose commands outlive their subreaper",
			[]edit{{"internal/linux/fork/fork_linux.go", "\t\tif e == 0 && sig == uintptr(EndScope) {\n\t\t\tclearScope(s)\n", "\t\tif e == 0 && sig == uintptr(EndScope) {\n"}},
			walls, "TestSubreaperKilled",
		},
		{
			"host that does not look for what others left",
			[]edit{{"internal/sandbox/census_linux.go", "\t\tleft, sure := supervisor.Left()\n", "\t\tleft, sure := []string(nil), true\n"}},
			walls, "TestSweep",
		},
		{
			"landlock tier with pairs of datagrams",
			[]edit{{"internal/linux/seccomp/seccomp_linux.go", "[]uint32{unix.SOCK_STREAM, unix.SOCK_SEQPACKET}", "[]uint32{unix.SOCK_STREAM, unix.SOCK_SEQPACKET, unix.SOCK_DGRAM}"}},
			walls, "TestLandlockAttempts",
		},
		{
			"sandbox that shows pipes where overlays are refused",
			[]edit{{"internal/rootfs/show_linux.go", "if slices.Contains(v.bound, it.At) {", "if slices.Contains(v.bound, it.Host+it.At) {"}},
			walls, "TestNothingOfTheHostAnswers",
		},
		{
			"host that does not ask who lives",
			[]edit{{"internal/git/exec.go", "if c.dir != nil && c.dir.alone != nil {", "if c.dir != nil && c.dir.alone != nil && c.dir == nil {"}},
			"./internal/workspace", "TestNobodyIsAtWork",
		},
		{
			"host that takes a subreaper's death for its command's",
			[]edit{{"internal/sandbox/box_linux.go", "b.cmd.ProcessState.ExitCode() != supervisor.HostGone", "b.cmd.ProcessState.ExitCode() > supervisor.HostGone"}},
			walls, "TestStillFindsWhatASubreaperLost",
		},
		{
			"sandbox that counts resident memory alone",
			[]edit{{"internal/linux/meter/watch_linux.go", "w.systemV() + w.hidden.bytes\n\tw.peakKB", "w.systemV()\n\tw.peakKB"}},
			walls, "TestLimits",
		},
	}
}

// TestPlantsFit holds that the code which each bug changes is there: those that
// are planted differ from run to run.
func TestPlantsFit(t *testing.T) {
	for _, p := range append(plants(), brokenWalls()...) {
		t.Run(strings.ReplaceAll(p.name, " ", "-"), func(t *testing.T) { overlay(t, p.edits, nil) })
	}
	t.Run("failpoints", func(t *testing.T) { overlay(t, failpointEdits(), nil) })
}

// TestPlantedBugsAreCaught plants each bug of the programme into a build of its
// own and holds that the suite turns red; without -long two of them, by the
// seed.
func TestPlantedBugsAreCaught(t *testing.T) {
	all := plants()
	if r, err := sandbox.New(sandbox.Options{Mode: sandbox.ModeFull, Idle: -1}); err == nil {
		_ = r.Close() // never fails
		all = append(all, brokenWalls()...)
	}
	if !*long {
		// Any host of this user that starts meanwhile ends what these two leave.
		all = slices.DeleteFunc(all, func(p plant) bool { return p.catches == "TestFirstKilled" || p.catches == "TestSubreaperKilled" })
		if testing.Short() {
			t.Skip("builds packages anew")
		}
		s := freshSeed(t)
		rand.New(rand.NewPCG(s, s)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		all = all[:2]
	}
	for _, p := range all {
		t.Run(strings.ReplaceAll(p.name, " ", "-"), func(t *testing.T) {
			test := func(flags ...string) (string, error) {
				args := append([]string{"test", "-count=1", "-run", "^" + p.catches + "$"}, flags...)
				cmd := exec.CommandContext(t.Context(), "go", append(args, p.pkg)...)
				cmd.Dir = moduleRoot(t)
				cmd.Env = append(cmd.Environ(), "RAPID_NOFAILFILE=true") // nothing is left among the sources
				out, err := cmd.CombinedOutput()
				return string(out), err
			}
			out, err := test(overlay(t, p.edits, nil))
			if err == nil {
				t.Errorf("%s stays green in %s", p.catches, p.pkg)
			} else if !strings.Contains(out, "--- FAIL: "+p.catches) {
				t.Errorf("not the test, but something else has failed:\n%s", out)
			}
			if *long { // red because of the bug, and of nothing else
				if out, err := test(); err != nil {
					t.Errorf("red without the bug, too:\n%s", out)
				}
			}
		})
	}
}
