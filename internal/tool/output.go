package tool

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"agency/internal/agency"
)

const (
	// OutputDir is where a checkout keeps what commands wrote that is too long to be
	// shown. Snapshots leave it out (package workspace).
	OutputDir = ".agency/output"
	// StagedDir is where it has the context that was staged for its contract.
	StagedDir = ".agency/task-context"
	// MaxShown is the most bytes of a command's output that are shown whole.
	MaxShown = 16 << 10
	// keptOutputs is how many of them a checkout keeps: each may have MaxFile.
	keptOutputs = 6
	// outputTail is how much of the end is kept of an output that is longer than MaxFile.
	outputTail = 256 << 10
)

// LongOutput tells of an output that is too long to be shown.
type LongOutput struct {
	File  string // that holds it; empty: none could be made
	Bytes int64
	Lines int64
	// Cut says that the file holds no more than the beginning and the end of it.
	Cut bool
	// Errors are lines that look like errors, the first ones and the last ones, and
	// ErrorLines how many there are in all.
	Errors     []OutputLine
	ErrorLines int64
}

// OutputLine is one line of an output by its number, from 1.
type OutputLine struct {
	N    int64
	Text string
}

// Spill takes the output of a command as it comes. What is short it forgets; of what is
// long it makes a file of the checkout, and looks for the lines that tell of errors.
type Spill struct {
	files  *Files
	begun  []byte // of what is short so far
	file   *os.File
	failed bool // no file could be made, or it could not be written
	kept   int64
	long   LongOutput
	line   []byte // the one that has not ended, as far as it is looked at
	open   bool   // there is one
	last   []OutputLine
}

// NewSpill makes one for a command in a checkout.
func NewSpill(f *Files) *Spill { return &Spill{files: f} }

// Write is for io.Writer; it never fails.
func (s *Spill) Write(p []byte) (int, error) {
	s.long.Bytes += int64(len(p))
	s.look(p)
	if s.file == nil && !s.failed {
		s.begun = append(s.begun, p...)
		if len(s.begun) > MaxShown {
			s.begin()
		}
		return len(p), nil
	}
	s.keep(p)
	return len(p), nil
}

// begin makes the file of an output that has become long.
func (s *Spill) begin() {
	file, name, err := newOutput(s.files)
	if err != nil { // what the agent or the disk made impossible; the ends are shown all the same
		s.failed = true
		s.begun = nil
		return
	}
	s.file, s.long.File = file, name
	s.keep(s.begun)
	s.begun = nil
}

// keep writes on as far as there is room.
func (s *Spill) keep(p []byte) {
	room := MaxFile - 2*outputTail - s.kept
	if int64(len(p)) > room {
		s.long.Cut = true
		p = p[:max(0, room)]
	}
	if s.failed || len(p) == 0 {
		return
	}
	n, err := s.file.Write(p)
	s.kept += int64(n)
	s.failed = err != nil
}

// End ends the output, of which end is the end as far as it is known, and tells of it;
// nil where it is short.
func (s *Spill) End(end []byte) *LongOutput {
	if s.open {
		s.ended(s.line)
		s.open = false
	}
	if s.long.Bytes <= MaxShown {
		return nil
	}
	if s.file != nil {
		if s.long.Cut && !s.failed {
			tail := end[max(0, len(end)-outputTail):]
			_, err := fmt.Fprintf(s.file, "\n[%s left out of the middle]\n%s", Size(s.long.Bytes-s.kept-int64(len(tail))), tail)
			s.failed = err != nil
		}
		if err := s.file.Close(); err != nil || s.failed {
			_ = s.files.root.Remove(s.long.File) // half of it would be taken for all
			s.long.File = ""
		}
	}
	s.long.Errors = append(s.long.Errors, s.last...)
	return &s.long
}

const (
	// firstErrors and lastErrors are how many lines are told that look like errors: the
	// first ones are mostly the cause, the last ones the sum.
	firstErrors = 10
	lastErrors  = 4
	// maxErrorLine is how much of a line is looked at. Less of it is shown: what is cut
	// here may be half of a secret.
	maxErrorLine = 1000
)

// look goes through the lines of what comes.
func (s *Spill) look(p []byte) {
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		part := p
		if i >= 0 {
			part = p[:i]
		}
		if room := maxErrorLine - len(s.line); room > 0 {
			s.line = append(s.line, part[:min(room, len(part))]...)
		}
		if s.open = i < 0; s.open {
			return
		}
		s.ended(s.line)
		s.line, p = s.line[:0], p[i+1:]
	}
}

func (s *Spill) ended(line []byte) {
	s.long.Lines++
	if !looksLikeError(line) {
		return
	}
	s.long.ErrorLines++
	l := OutputLine{s.long.Lines, strings.TrimRight(strings.ToValidUTF8(string(line), "�"), "\r")}
	switch {
	case len(s.long.Errors) < firstErrors:
		s.long.Errors = append(s.long.Errors, l)
	case len(s.last) < lastErrors:
		s.last = append(s.last, l)
	default:
		s.last = append(s.last[1:], l)
	}
}

// looksLikeError tells whether a line says that something went wrong, as compilers, test
// runners and programs say it.
func looksLikeError(line []byte) bool {
	low := bytes.ToLower(line)
	for _, none := range [...]string{"0 error", "no error", "0 fail", "without error", "errors: 0", "failures: 0", "failed: 0"} {
		if bytes.Contains(low, []byte(none)) {
			return false
		}
	}
	for _, word := range [...]string{
		"error", "fail", "panic", "fatal", "exception", "traceback", "undefined", "not found", "no such file", "cannot ", "segmentation",
		"killed", "assert", "denied", "unresolved", "timed out", "✗", "✘", "✖",
	} {
		if bytes.Contains(low, []byte(word)) {
			return true
		}
	}
	return false
}

// newOutput makes the next file for an output, and lets the oldest go.
func newOutput(f *Files) (*os.File, string, error) {
	if rel, err := f.Resolve(OutputDir); err != nil || rel != OutputDir { // a link would lead elsewhere
		return nil, "", agency.Errorf(agency.KindDenied, "%s is not a folder of its own", OutputDir)
	}
	if err := f.root.MkdirAll(OutputDir, 0o755); err != nil {
		return nil, "", err
	}
	entries, err := fs.ReadDir(f.FS(), OutputDir)
	if err != nil {
		return nil, "", err
	}
	var there []int
	for _, e := range entries {
		if n, err := strconv.Atoi(strings.TrimSuffix(e.Name(), ".txt")); err == nil && n > 0 {
			there = append(there, n)
		}
	}
	slices.Sort(there)
	next := 1
	if len(there) > 0 {
		next = there[len(there)-1] + 1
	}
	for len(there) >= keptOutputs {
		_ = f.root.Remove(path.Join(OutputDir, strconv.Itoa(there[0])+".txt")) // what cannot be removed takes room, no more
		there = there[1:]
	}
	// For tools that look at a repository from within: it is none of its files.
	if mark, err := f.root.OpenFile(OutputDir+"/.gitignore", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644); err == nil {
		_, err := mark.WriteString("*\n")
		if err = errors.Join(err, mark.Close()); err != nil {
			return nil, "", err
		}
	}
	name := path.Join(OutputDir, strconv.Itoa(next)+".txt")
	file, err := f.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	return file, name, err
}
