// Package doctor looks whether everything is as it should be: the machine and
// the configuration before a run, and the record, tree and leftovers of a run
// after it. Every integration test ends with the second.
//
// It only looks; what mends a finding is named, never done.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/check/detect"
	"agency/internal/git"
	"agency/internal/sandbox"
	"agency/internal/slots"
	"agency/internal/store"
)

// Level says how bad a finding is.
type Level string

// The levels.
const (
	OK   Level = "ok"
	Warn Level = "warning"
	Bad  Level = "bad"
)

// Finding is the outcome of one look.
type Finding struct {
	Name   string `json:"name"`
	Level  Level  `json:"level"`
	Detail string `json:"detail,omitempty"`
	Mend   string `json:"mend,omitempty"`
}

// Worst is the worst level of a list.
func Worst(fs []Finding) Level {
	worst := OK
	for _, f := range fs {
		if f.Level == Bad || f.Level == Warn && worst == OK {
			worst = f.Level
		}
	}
	return worst
}

func ok(name, format string, args ...any) Finding {
	return Finding{Name: name, Level: OK, Detail: fmt.Sprintf(format, args...)}
}

func warn(name, mend, format string, args ...any) Finding {
	return Finding{Name: name, Level: Warn, Detail: fmt.Sprintf(format, args...), Mend: mend}
}

func bad(name, mend, format string, args ...any) Finding {
	return Finding{Name: name, Level: Bad, Detail: fmt.Sprintf(format, args...), Mend: mend}
}

func ofError(name string, err error) Finding {
	return bad(name, agency.MendOf(err), "%v", err)
}

// Machine says what to look at before a run.
type Machine struct {
	StateDir string
	// Commands are the repository's own. Untested tells that somebody said that
	// there are no tests.
	Commands check.Commands
	Untested bool
	// Lacks are the programs that Commands start and the sandbox does not have; Absent
	// is why they find packages or modules of theirs missing, or were not looked at.
	Lacks  []detect.Lack
	Absent error
	// Refused are what the repository's tools name and commands do not see, and why
	// (detect.Found.Refused).
	Refused []string
	// Servers are the language servers of what the repository is written in.
	Servers []Server
	// Toolchain is why what builds need was not found; nil where it was.
	Toolchain error
	// Loopback is sandbox.loopback: allow.
	Loopback bool
	// Keys names the provider of each model and whether its key is there.
	Keys []Key
	// Resources are what is scarce, with its slots; Slots holds those.
	Resources map[string]int
	Slots     *slots.Pool
	// DB is the store's file; empty where there is none yet.
	DB   string
	Sets []store.Set
}

// Server is the language server of a language, and where it lies; At is empty where none
// can be started, and Why then tells of one that is there.
type Server struct{ Language, Program, At, Why string }

// Key is whether a provider can be asked.
type Key struct {
	Provider, Model string
	Err             error
	// Placeholder says that the key is no secret: nothing hides it.
	Placeholder bool
}

// Check looks at git, sandbox, keys, commands, disk and store.
func (m Machine) Check(ctx context.Context) []Finding {
	fs := []Finding{checkGit(ctx)}
	fs = append(fs, checkSandbox(sandbox.Probe(ctx, sandbox.Options{Loopback: m.Loopback}))...)
	fs = append(append(fs, checkLeft(sandbox.LeftBehind())), m.checkSight()...)
	fs = append(fs, m.checkServers()...)
	fs = append(fs, m.checkKeys()...)
	fs = append(append(fs, m.checkCommands()...), m.checkResources()...)
	return append(fs, checkDisk(m.StateDir), m.checkStore(ctx))
}

func checkGit(ctx context.Context) Finding {
	h, err := git.NewProgram(ctx, git.Options{})
	if err != nil {
		return ofError("git", err)
	}
	return ok("git", "%s", h.Version())
}

// checkSandbox reports the tier, its gaps, and each attempt to break out of it
// that was not stopped.
func checkSandbox(r sandbox.Report) []Finding {
	if r.Err != nil {
		return []Finding{bad("sandbox", agency.MendOf(r.Err), "%v", r.Err)}
	}
	parts := fmt.Sprintf("tier %s, Landlock ABI %d, seccomp %v, limits by %s", r.Tier, r.Landlock, r.Seccomp, orCount(r.Cgroup))
	fs := []Finding{ok("sandbox", "%s", parts)}
	if r.Refused != nil {
		fs = []Finding{warn("sandbox", agency.MendOf(r.Refused), "%s; no full tier: %v", parts, r.Refused)}
	}
	for _, gap := range r.Gaps {
		fs = append(fs, warn("sandbox gap", "", "%s", gap))
	}
	stopped, gaps := 0, 0
	for _, a := range r.Attempts {
		switch {
		case a.Stopped:
			stopped++
		case a.Gap:
			gaps++
			fs = append(fs, warn("sandbox gap", "", "%s: %s", a.Name, a.Detail))
		default:
			fs = append(fs, bad("sandbox: "+a.Name, mendSandbox, "was not stopped: %s", a.Detail))
		}
	}
	return append(fs, sumUp(len(r.Attempts), stopped, gaps))
}

// mendSandbox is what there is to do about a sandbox that does not hold.
const mendSandbox = "report this, and do not run agents here"

// sumUp says what all attempts come to. A sandbox that nobody tried is not one
// that holds.
func sumUp(all, stopped, gaps int) Finding {
	const name = "sandbox escapes"
	switch {
	case all == 0:
		return bad(name, mendSandbox, "no attempt was made")
	case stopped == all:
		return ok(name, "%d attempts, all stopped", all)
	case stopped+gaps < all:
		return bad(name, mendSandbox, "%d attempts, %d stopped", all, stopped)
	case gaps == 1:
		return ok(name, "%d attempts, %d stopped, 1 known gap", all, stopped)
	}
	return ok(name, "%d attempts, %d stopped, %d known gaps", all, stopped, gaps)
}

// checkLeft names the processes of commands that nobody is left to end.
func checkLeft(left []sandbox.Left) Finding {
	const name = "left processes"
	if len(left) == 0 {
		return ok(name, "none")
	}
	var who, pids []string
	for _, p := range left {
		who = append(who, fmt.Sprintf("process %d, %s old: %s", p.PID, p.Age, p.Command))
		pids = append(pids, fmt.Sprint(p.PID))
	}
	return warn(name, "kill -KILL "+strings.Join(pids, " ")+"; the next run does so, too",
		"commands whose host was killed have left them: %s", strings.Join(who, "; "))
}

// checkSight names what commands would see but for its being hidden.
func (m Machine) checkSight() []Finding {
	if m.Toolchain != nil {
		return []Finding{warn("toolchain", agency.MendOf(m.Toolchain), "%v", m.Toolchain)}
	}
	if len(m.Refused) == 0 {
		return []Finding{ok("not shown", "nothing that the repository's tools name")}
	}
	var fs []Finding
	for _, r := range m.Refused {
		fs = append(fs, warn("not shown", "", "%s", r))
	}
	return fs
}

// checkServers says what tells agents what names mean.
func (m Machine) checkServers() (fs []Finding) {
	for _, s := range m.Servers {
		const name, without = "language server", "names of %s are told by syntax alone, and what it cannot tell is not renamed"
		switch {
		case s.At == s.Program:
			fs = append(fs, ok(name, "%s, for %s", s.Program, s.Language))
		case s.At != "":
			fs = append(fs, ok(name, "%s, for %s: %s", s.Program, s.Language, s.At))
		case s.Why != "":
			fs = append(fs, warn(name, "", "%s; "+without, s.Why, s.Language))
		default:
			fs = append(fs, ok(name, "no %s is installed: "+without, s.Program, s.Language))
		}
	}
	return fs
}

func orCount(cgroup string) string {
	if cgroup == "" {
		return "counting"
	}
	return "cgroup " + cgroup
}

func (m Machine) checkKeys() []Finding {
	var fs []Finding
	for _, k := range m.Keys {
		if k.Err != nil {
			fs = append(fs, warn("key of "+k.Provider, agency.MendOf(k.Err), "%v", k.Err))
			continue
		}
		detail := "for " + k.Model
		if k.Placeholder {
			detail += "; it looks like a placeholder, and is not kept out of what runs write"
		}
		fs = append(fs, ok("key of "+k.Provider, "%s", detail))
	}
	return fs
}

// checkCommands says what checks a change, and which of them cannot start: without
// the tests no run begins, without the others they are red before and after.
func (m Machine) checkCommands() []Finding {
	var fs []Finding
	switch by := agency.CheckedBy(m.Commands.Kinds()...); {
	case m.Commands.Test == "" && m.Untested:
		fs = append(fs, ok("commands", "there are no tests, as commands.test says: %s", by))
	case m.Commands.Test == "":
		fs = append(fs, warn("commands", "set commands.test in agency.yaml, to \"\" where there are no tests", "no test command is known: %s", by))
	default:
		fs = append(fs, ok("commands", "%s", m.lines()))
	}
	for _, l := range m.Lacks {
		level, says := warn, "cannot start"
		switch {
		case l.Refused(), l.Own && !l.Perhaps && (l.Command == agency.CheckTest || l.Command == agency.CheckSetup):
			level = bad
		case l.Perhaps:
			says = "may be unable to start, unless the build brings what is missing"
		}
		fs = append(fs, level("commands."+string(l.Command), l.Mend, "`%s` %s: %s", l.Line, says, l.What))
	}
	if m.Absent != nil {
		fs = append(fs, ofError("commands", m.Absent))
	}
	return fs
}

// lines are the commands, the tests first.
func (m Machine) lines() string {
	kinds := m.Commands.Kinds()
	slices.Reverse(kinds)
	said := make([]string, len(kinds))
	for i, k := range kinds {
		said[i] = fmt.Sprintf("%s %q", k, m.Commands.Command(k).Line)
	}
	return strings.Join(said, ", ")
}

// checkResources says how many commands could have each now.
func (m Machine) checkResources() []Finding {
	var free []string
	for _, name := range slices.Sorted(maps.Keys(m.Resources)) {
		n, err := m.Slots.InUse(name)
		if err != nil {
			return []Finding{ofError("resources", err)}
		}
		free = append(free, fmt.Sprintf("%s: %d of %d free", name, m.Resources[name]-n, m.Resources[name]))
	}
	if len(free) == 0 {
		return nil
	}
	return []Finding{ok("resources", "%s", strings.Join(free, ", "))}
}

// wantFree is the room that a run may need for checkouts and caches, in MiB.
const wantFree = 1024

func checkDisk(dir string) Finding {
	there := existing(dir)
	free, err := freeMB(there)
	switch {
	case !writable(there):
		return bad("disk", "make it writable for this user, or export XDG_STATE_HOME=a folder of your own", "%s cannot be made or written: no right to write in %s", dir, there)
	case err != nil:
		return warn("disk", "", "the free room cannot be told: %v", err)
	case free < wantFree:
		return warn("disk", "make room, or export XDG_STATE_HOME=a folder with more", "%d MiB free at %s", free, dir)
	}
	return ok("disk", "%d MiB free at %s", free, dir)
}

func (m Machine) checkStore(ctx context.Context) Finding {
	if m.DB == "" {
		return ok("store", "none yet")
	}
	db, err := store.Open(ctx, store.Options{Path: m.DB, Sets: m.Sets, ReadOnly: true})
	if err != nil {
		return ofError("store", err)
	}
	err = errors.Join(db.Check(ctx), db.Close())
	if err != nil {
		return ofError("store", err)
	}
	return ok("store", "%s is whole", m.DB)
}

// fsck checks a git directory. Git runs as for a stranger's repository: no
// configuration but its own, no hooks, no prompt.
func fsck(ctx context.Context, gitDir string) error {
	cmd := exec.CommandContext(ctx, "git", "-c", "core.hooksPath="+os.DevNull, "-c", "core.fsmonitor=false", "fsck",
		"--no-dangling", "--no-progress", "--connectivity-only")
	cmd.Dir = "/"
	cmd.Env = []string{
		"GIT_DIR=" + gitDir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_TERMINAL_PROMPT=0",
		"PATH=" + os.Getenv("PATH"), "LC_ALL=C",
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("git fsck of %s: %w: %s", gitDir, err, out)
	}
	return nil
}
