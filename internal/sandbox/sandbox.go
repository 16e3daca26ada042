// Package sandbox runs one command of a repository so that it can read only
// what is listed, write only its checkout, its caches and /tmp, reach no
// network, and leave nothing running behind (docs/security.md).
//
// The sandbox is this program itself, started again in new user, mount, pid,
// network, ipc and uts namespaces: as PID 1 it builds the file system that
// commands see and waits for them. A command is forked from it into pid, mount,
// network and ipc namespaces of its own, gives up every capability, locks itself
// with Landlock and seccomp, and takes its whole tree with it when it ends; PID
// 1 counts what its processes use. PID 1 stays for the next command that is to
// see the same, ends after one that was killed, and ends with its host. No
// external tool is needed.
//
// The package is the policy: what is shown, refused, bounded and ended, for whom and
// in which order. The kernel's technologies that do it are packages below
// internal/linux, which know nothing of it. Files named _linux stand beside other.go,
// for machines that have no sandbox.
//
// The package does not know what a toolchain is, which caches a language has
// or what a command means: check/detect says that in a Toolchain. It keeps no
// state between commands but the overlay layers below Spec.LayerDir and, for a
// time, the sandboxes themselves.
package sandbox

import (
	"context"
	"io"
	"os"
	"time"

	"agency/internal/agency"
)

// Mount shows the host's file or folder Host at the path At inside, read-only,
// and of what lies in a folder no socket, pipe or device, nor what else is mounted
// there. What may not be seen (agency.Sight) is refused.
type Mount struct {
	Host, At string
	// Own is a folder that the host has made in its own state folder.
	Own bool `json:",omitempty"`
	// Apart says that the command only looks on, while the host and others work there:
	// Census.Still, which ends what could change a folder, lets it be.
	Apart bool `json:",omitempty"`
}

// Overlay shows the host's folder Lower at At, writable, with every change
// kept in a layer below Spec.LayerDir/Name and never in Lower. Commands that
// run at the same time get a layer each, because two overlays over one upper
// folder are undefined; a later command takes the first layer that is free.
// Where the kernel refuses the overlay, or Lower does not exist, the folder at
// At is a cache of its own below the same LayerDir/Name, shared by all
// commands (Result.OwnCaches names it).
type Overlay struct {
	Lower, At string
	Name      string
	Own       bool `json:",omitempty"` // Lower is as Mount's
	// ByContent says that programs name what they keep there by all that it is made of, so
	// that it fits any checkout: times and paths decide nothing.
	ByContent bool `json:",omitempty"`
	// Warm, where set, is a host folder that keeps what commands with Spec.Seals have
	// written in the overlay: in the full tier it lies over Lower, read-only.
	Warm string `json:",omitempty"`
}

// Toolchain is what a command needs besides the system: environment, trees to
// read and caches to change. Their paths on the host are those that were judged
// when the toolchain was found, with no link left in them.
type Toolchain struct {
	Env      []string
	ReadOnly []Mount
	Overlays []Overlay
}

// Place is the checkout that a command works in.
type Place struct {
	// Root is the checkout on the host; At is the path at which it appears
	// inside: the user's own repository path.
	Root, At string
	ReadOnly bool
	// GitDir is a throw-away git dir on the host, mounted writable at At/.git.
	// Empty: an empty read-only folder is mounted there.
	GitDir string
	// Objects are object folders on the host, mounted read-only at the paths
	// that Runner.ObjectsAt tells.
	Objects []string
}

// Limits bound one command. A zero field takes the value of DefaultLimits.
type Limits struct {
	Wall time.Duration // from start to end by the monotonic clock; time asleep does not count
	CPU  time.Duration // of all processes together; zero: no limit but the wall's
	// MemoryMB bounds the memory of all processes together; files in /tmp may
	// take half of it again, and those in /dev/shm too.
	MemoryMB   int
	Processes  int // processes alive at one time; threads: eight times that
	OpenFiles  int // a process
	FileSizeMB int // a file
	OutputKB   int // kept of the output, half from its head and half from its tail
	Nice       int `json:",omitempty"` // how far it stands back where others want a processor, as nice(1)
}

// DefaultLimits are those of a command that an agent runs (docs/design.md, Modes).
func DefaultLimits() Limits {
	return Limits{
		Wall: 120 * time.Second, MemoryMB: 2048, Processes: 256,
		OpenFiles: 4096, FileSizeMB: 2048, OutputKB: 256,
	}
}

// Spec is one command.
type Spec struct {
	Place    Place
	Tools    Toolchain
	LayerDir string // host folder for overlay layers; needed when Tools has overlays
	// Seals has what the command wrote in overlays with Warm lie in those of all later
	// commands, once it has ended by itself: it, and all that wrote in LayerDir before, must
	// be trusted by whoever they decide for.
	Seals  bool
	Dir    string // working folder, relative to Place.At
	Argv   []string
	Env    []string // added to the built environment, wins over Tools.Env
	Limits Limits
	Stdin  []byte
	// Input, where set, is the command's standard input itself, such as the end of a pipe
	// that the caller writes into. Run closes it.
	Input *os.File
	Reads []Mount // siblings that the user granted (sandbox.read); always read-only
	// Hosts are the names of those that the command may reach, on port 443,
	// through a proxy of the host, where Runner.ReachesHosts says so.
	Hosts []string
	// Out, where set, is a host folder that appears at its own path, writable in
	// every tier: what a command hands back beside its output.
	Out string
	// Stdout gets standard output alone, as it comes, from one goroutine; nil: it
	// stands in Output only. The command waits for it as for any reader. One that
	// fails, or takes longer than half a minute for one write, gets no more
	// (Result.StdoutErr); only such a slow one may still be at work after Run.
	Stdout io.Writer
	// Both gets both streams as they come, one write at a time. Who is slow holds the
	// command up, and an error of it is nobody's; nil: nobody.
	Both io.Writer
	// Beside, where set, are the commands that it runs beside: it shares the network of those
	// that go on.
	Beside *Company
	// Begun, of a command with Beside, has it go on while later ones run, until it ends or ctx
	// does. It is called once the next of them would find it, and Run returns at the end as
	// ever. The command cannot write the checkout; .git, caches and /tmp it can.
	Begun func()
}

// Mode is what the user configured (sandbox.mode).
type Mode string

// The modes of this version.
const (
	ModeAuto Mode = "auto" // the strongest tier that the machine allows
	ModeFull Mode = "full" // the full tier or nothing
	ModeOff  Mode = "off"  // no sandbox; every report shows it
	// ModeLandlock is the landlock tier or nothing. No configuration names it:
	// doctor and tests do.
	ModeLandlock Mode = "landlock"
)

// Tier is what is in force.
type Tier string

// The tiers, weakest last.
const (
	TierFull Tier = "full"
	// TierLandlock needs no user namespaces: Landlock, seccomp and limits, with
	// the gaps that Runner.Gaps names. Commands work at Place.Root.
	TierLandlock Tier = "landlock"
	TierNone     Tier = "none"
)

// Outlets make the ways out; package sandbox/proxy has the real ones.
type Outlets interface {
	// Open makes the way out of one command, which may reach these hosts.
	Open(hosts []string) Outlet
}

// Outlet is the way out of one command to the hosts that it may reach.
type Outlet interface {
	// Serve answers the connections that next gives, each an open socket, until it
	// fails. end, called after that, closes those that are open and waits for them.
	Serve(next func() (*os.File, error)) (end func())
	// Refused is the first reason of a refusal that the command itself could not be
	// told; nil for none.
	Refused() error
}

// Options make a Runner.
type Options struct {
	Mode Mode // default ModeAuto
	// StateDir is the host's state folder: a repository that contains it is
	// refused.
	StateDir string
	// Hidden are more folders of the program's own that no command may see: that
	// of its sockets, its configuration.
	Hidden []string
	// Idle is how long a sandbox waits for the next command that is to see the
	// same checkout, caches and tools; zero: a minute. Negative: each command
	// gets a sandbox of its own, which costs more time and keeps no process.
	Idle time.Duration
	// Loopback opens internet sockets in the landlock tier, which cannot tell
	// loopback from the world. Sockets that have a path stay refused there: one of
	// the command's own is like one of a daemon.
	Loopback bool
	// Outlets are needed by commands that have Hosts.
	Outlets Outlets
	// Census counts the sandboxes of this Runner with those of others; nil: nobody
	// asks who lives.
	Census *Census
	// Tried is another Runner of this machine, which stands for a try of its tier; nil: it
	// is tried.
	Tried *Runner
}

// Runner runs commands. It is safe for concurrent use.
type Runner struct {
	tier     Tier
	loopback bool
	refused  error // why there is no full tier
	stateDir string
	outlets  Outlets
	sight    agency.Sight
	bound    bool // full tier: the kernel refuses overlays of what commands read
	noSeal   bool // tests: as if it did
	machine  machine
}

// Mode is the configured mode, "auto" resolved to what it became.
func (r *Runner) Mode() Mode {
	switch r.tier {
	case TierNone:
		return ModeOff
	case TierLandlock:
		if r.loopback {
			return ModeLandlock + ", loopback" // a receipt of one is none of the other
		}
		return ModeLandlock
	}
	return ModeFull
}

// Close gives back what the machine keeps for later commands: sandboxes that
// wait, and empty control groups, which the next New would otherwise remove.
// Commands still run after it. Close is idempotent.
func (r *Runner) Close() error {
	r.machine.close()
	return nil
}

// Release ends the sandboxes that wait for another command and show anything of
// a folder of the host: the folder is about to be removed. A command that runs
// goes on.
func (r *Runner) Release(dir string) { r.machine.release(dir) }

// Tier is the tier in force.
func (r *Runner) Tier() Tier { return r.tier }

// Run runs one command to its end and returns what it did. The error tells
// only that the sandbox itself could not run: KindInvalid for a Spec that
// cannot be, KindDenied for root in another user's checkout, KindTransient for
// a machine that refuses. A command that fails, or is killed by a limit or by
// the end of ctx, is a Result. When Run returns, no process of the command is
// left.
func (r *Runner) Run(ctx context.Context, spec Spec) (Result, error) {
	if spec.Input != nil {
		defer func() { _ = spec.Input.Close() }() // it was only read
	}
	spec.Limits = spec.Limits.orDefault()
	if err := checkSpec(spec, r.stateDir); err != nil {
		return Result{}, err
	}
	if r.tier == TierNone {
		if spec.Begun != nil {
			spec.Begun()
		}
		return runPlain(ctx, spec)
	}
	return r.runSandboxed(ctx, spec)
}

// ObjectsAt tells the path inside of each of p.Objects, in order: what the
// file objects/info/alternates of the synthetic git dir must name. An object
// folder keeps its own path, except one below p.At, which the checkout covers.
func (r *Runner) ObjectsAt(p Place) []string {
	if r.tier != TierFull {
		return append([]string(nil), p.Objects...)
	}
	return objectsAt(p)
}

// Refused tells why the machine has no full tier; nil where it has.
func (r *Runner) Refused() error { return r.refused }

// Sight decides what commands on a checkout may be shown.
func (r *Runner) Sight(repo string) agency.Sight {
	s := r.sight
	if repo != "" {
		s.Repo = resolved(repo)
	}
	return s
}

// MayShow refuses a path of sandbox.read that commands may not see, by where it
// leads to (KindDenied). One that is not there is no fault.
func (r *Runner) MayShow(path string) error {
	return refusal(path, resolved(path), r.sight.Refuses(resolved(path), agency.NamedByUser))
}

// Attempt is one try to break out, made from inside.
type Attempt struct {
	Name    string
	Stopped bool
	Gap     bool   // the tier is known not to stop it
	Detail  string // what the kernel answered, or what was reached
}

// Report tells doctor which tier is in force and what stood the test.
type Report struct {
	Mode     Mode
	Tier     Tier
	Err      error // why the tier that was asked for is not to be had; nil when it is
	Refused  error // why there is no full tier, where a weaker one is in force
	Gaps     []string
	Landlock int // ABI in force, 0 for none
	Seccomp  bool
	Cgroup   string // "v1", "v2" or "" where processes are counted instead
	Overlay  bool
	Attempts []Attempt
}

// Probe runs a command in the tier that a mode gets on this machine, ModeAuto
// the strongest, that tries to break out, and reports each attempt. Of the options
// Mode and Loopback count.
func Probe(ctx context.Context, o Options) Report {
	return probe(ctx, Options{Mode: o.Mode, Loopback: o.Loopback})
}
