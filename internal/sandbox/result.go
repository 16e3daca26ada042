package sandbox

import "time"

// Cause names why a command ended.
type Cause string

// The closed set of causes.
const (
	CauseExited     Cause = "exited"      // by itself, with ExitCode
	CauseSignalled  Cause = "signalled"   // by a signal; ExitCode is 128 + its number
	CauseNotStarted Cause = "not_started" // no such program, or not executable: ExitCode 127 or 126, the reason is in Output
	CauseTimeout    Cause = "timeout"     // Limits.Wall
	CauseCPU        Cause = "cpu"         // Limits.CPU
	CauseMemory     Cause = "memory"      // Limits.MemoryMB
	CauseProcesses  Cause = "processes"   // Limits.Processes
	CauseFileSize   Cause = "file_size"   // Limits.FileSizeMB
	// CauseDisk: it would have filled a disk of the host. A command leaves free
	// what is larger of 1 GiB and a twentieth of the disk, but where less than
	// twice that is free when it starts, half of it; of files 10 000 likewise. In the landlock tier also
	// when its temporary files take more than those of the full tier may.
	CauseDisk      Cause = "disk"
	CauseCancelled Cause = "cancelled" // the caller's context ended
)

// Result is what one command did.
type Result struct {
	// ExitCode is the command's own; 137 when the sandbox killed it.
	ExitCode int
	Cause    Cause
	// Output is head and tail of standard output and standard error in the order
	// of arrival, with text.LeftOut on a line between them where there was more.
	// Dropped counts the bytes left out.
	Output  []byte
	Dropped int64
	// StdoutErr is why Spec.Stdout did not get all; nil where it did.
	StdoutErr error
	Duration  time.Duration
	CPU       time.Duration
	// MaxRSSKB is the largest resident size seen, of one process or of all
	// together at one look, whichever is larger.
	MaxRSSKB int64
	// OwnCaches are the At of overlays that the kernel refused, or whose lower
	// folder does not exist: they began empty, in the landlock tier with a part
	// of the lower folder.
	OwnCaches []string
	// Bound are the folders inside over which the kernel refused a read-only
	// overlay: the host's sockets in them would answer, and so the command got none
	// that has a path.
	Bound []string
}
