// Package peer is what the contenders of a comparison have in common: the job
// that they are given, the measure that they report, and the one call of the
// model through the vendor's SDK, so that all of them pay the same for it.
//
// A contender is a process of its own. The model's server runs in the process
// that started it, so that its work is not counted.
package peer

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/pprof"
	"time"
)

// Job is what a contender shall do.
type Job struct {
	// URL is the server's address with /v1.
	URL string
	// Dir is an empty folder for the contender's store and files.
	Dir string
	// Sessions is how many conversations are held one after the other; the
	// first of them warms up and is not counted. Crowd: how many at one time.
	Sessions int
	// Turns is how many calls of read_file each of them makes.
	Turns int
	// Agents is how many agents a composition has, each of which answers at once; Beside:
	// beside each other, and the last one reads what they said. 0: no composition.
	Agents int
	Beside bool
	// Opening is the first request's body as the product sends it, so that the
	// peers ask with the same prompt and the same tools.
	Opening json.RawMessage
	// Scene is what a contender plays that plays several.
	Scene string
	// Terminal is the terminal that a contender draws on; empty: none.
	Terminal string
	// Profile is the file that a CPU profile of the counted part goes to; empty:
	// none.
	Profile string
}

// Report is what a contender measured.
type Report struct {
	Turns int           // that were counted
	CPU   time.Duration // of the process and its children, for them
	Wall  time.Duration
	// Resident is the growth of the resident set over the idle process, in
	// bytes; Settled the same after a collection.
	Resident, Settled int64
	Memory            string // what it is used for
	// Checks is how much of CPU the run's checks took; Claim how long it was from a claim
	// to the merge gate; Suite what the suite takes once, Affected how long a part of it.
	Checks, Claim, Affected time.Duration
	Suite                   Cost
	Failures                int
	Note                    string
}

// Cost is what a command takes.
type Cost struct{ Wall, CPU time.Duration }

// Done is what an agent of a composition answers.
const Done = "done"

// File is the name of the file that the n-th turn reads.
func File(turn int) string { return fmt.Sprintf("notes/n%d.txt", turn) }

// WriteFiles writes the files that a conversation reads below dir: n of them,
// of about the given number of bytes each.
func WriteFiles(dir string, n, size int) error {
	if err := os.MkdirAll(filepath.Join(dir, "notes"), 0o755); err != nil {
		return err
	}
	for i := range n {
		var text []byte
		for line := 0; len(text) < size; line++ {
			text = fmt.Appendf(text, "file %d line %d: the quick brown fox jumps over the lazy dog\n", i+1, line)
		}
		if err := os.WriteFile(filepath.Join(dir, File(i+1)), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Main runs a contender: the job comes on standard input, the report goes to
// standard output. It returns the process's exit code.
func Main(run func(context.Context, Job) (Report, error)) int {
	var job Job
	data, err := io.ReadAll(os.Stdin)
	if err == nil {
		err = json.Unmarshal(data, &job)
	}
	var report Report
	if err == nil {
		report, err = run(context.Background(), job)
	}
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(report)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "contender:", err)
		return 1
	}
	return 0
}

// Meter adds up what the counted parts of a job cost.
type Meter struct {
	total   Report
	cpu     time.Duration
	begun   time.Time
	profile string
	file    *os.File
}

// NewMeter makes a meter that writes a CPU profile from its first start on,
// where the job asks for one.
func NewMeter(job Job) *Meter { return &Meter{profile: job.Profile} }

// Start begins a counted part.
func (m *Meter) Start() {
	if m.profile != "" && m.file == nil {
		if f, err := os.Create(m.profile); err == nil && pprof.StartCPUProfile(f) == nil {
			m.file = f
		}
	}
	m.begun, m.cpu = time.Now(), CPU()
}

// Stop ends a counted part of so many turns.
func (m *Meter) Stop(turns int) {
	m.total.CPU += CPU() - m.cpu
	m.total.Wall += time.Since(m.begun)
	m.total.Turns += turns
}

// Report is the sum of the counted parts.
func (m *Meter) Report() Report {
	if m.file != nil {
		pprof.StopCPUProfile()
		_ = m.file.Close() // a profile that is cut short is seen by its reader
	}
	return m.total
}
