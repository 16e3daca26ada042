package testreport

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"agency/internal/bounded"
)

// Bounds in time of what is read of a command. It is the processor's, so that a
// machine with much else to do reads as far as another; but a processor that others
// share counts more of it for the same work, several times as much. So each bound
// leaves room: honest reports of the most bytes take a quarter of it at rest.
const (
	MaxFileTime   = 20 * time.Second // of one report
	ReportTimes   = 2                // of all reports of a command, so often
	MaxOutputTime = 20 * time.Second // of standard output, which may be half a gigabyte
)

// Allowance bounds what is read of files that a command wrote: their bytes in
// sum, and the time, one by one and in sum. Where it ends, a file ends, and the
// first reason is kept.
type Allowance struct {
	left      int64         // bytes
	Each, All time.Duration // of the processor
	Why       string        // what was not read, and why; empty: nothing is missing

	Clock   func() time.Duration // what this thread has used
	used    time.Duration        // up to the last stop
	from    time.Duration        // the clock less used
	file    string
	since   time.Duration // used when it began
	toCheck int64         // bytes and steps until the clock is looked at
}

// wallTime stands in for the processor's time where nobody tells that.
func wallTime() time.Duration { return time.Duration(time.Now().UnixNano()) }

// ClockEvery is how many bytes or steps go by between two looks at the clock.
const ClockEvery = 1 << 18

// ScanSteps is what a byte costs that an expression is looked for in.
const ScanSteps = 16

// NewAllowance gives so many bytes, and so much time for one file and for all.
func NewAllowance(bytes int64, each, all time.Duration) *Allowance {
	return &Allowance{left: bytes, Each: each, All: all, Clock: ThreadTime}
}

// Start counts the time of what this goroutine does until stop.
func (a *Allowance) Start() (stop func()) {
	runtime.LockOSThread()
	a.from = a.Clock() - a.used
	return func() {
		a.used = a.Clock() - a.from
		runtime.UnlockOSThread()
	}
}

// Of gives a file as far as it may be read.
func (a *Allowance) Of(name string, r io.Reader) io.Reader {
	a.file, a.since, a.toCheck = name, a.Clock()-a.from, 0
	return allowed{r, a}
}

// Spend takes so many steps of work on the file that is open; false where there
// are none left.
func (a *Allowance) Spend(steps int64) bool {
	if a.toCheck -= steps; a.toCheck > 0 {
		return true
	}
	a.toCheck = ClockEvery
	switch now := a.Clock() - a.from; {
	case now-a.since > a.Each:
		a.Refuse("takes longer than %s to read", a.Each)
	case now > a.All:
		a.Refuse("takes longer than %s to read, with what was read before", a.All)
	default:
		return true
	}
	a.toCheck = 0 // and so it stays for this file
	return false
}

// Refuse notes why something is not read.
func (a *Allowance) Refuse(format string, args ...any) {
	if a.Why == "" {
		a.Why = fmt.Sprintf("%q ", a.file) + fmt.Sprintf(format, args...)
	}
}

type allowed struct {
	io.Reader
	a *Allowance
}

func (r allowed) Read(p []byte) (int, error) {
	if r.a.left <= 0 {
		var one [1]byte
		if n, _ := io.ReadFull(r.Reader, one[:]); n > 0 { // an error is the end, too
			r.a.Refuse("has more bytes than are read of one command")
		}
		return 0, io.EOF
	}
	n, err := r.Reader.Read(p[:min(int64(len(p)), r.a.left)])
	r.a.left -= int64(n)
	if n > 0 && !r.a.Spend(int64(n)) {
		return 0, io.EOF
	}
	return n, err
}

// EachOf opens the files that are there.
func (a *Allowance) EachOf(root *os.Root, read func(io.Reader), names ...string) {
	for _, name := range names {
		if f, err := bounded.Open(root, name); err == nil {
			read(a.Of(name, f))
			_ = f.Close() // only read
		}
	}
}
