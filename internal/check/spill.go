package check

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// maxRead bounds in bytes what is read of a command: of its standard output, and
// of its reports together.
const maxRead = 512 << 20

// errFull says that a command printed more than is read.
var errFull = errors.New("more than is read of an output")

// spill holds standard output for the parsers: in a file, for it may be large,
// that has no name, for nobody else may read or write it.
type spill struct {
	f    *os.File
	left int64
}

// newSpill makes one in the host's own folder of layers, that takes so many bytes.
func newSpill(layers string, limit int64) (*spill, error) {
	base, err := reportsIn(layers)
	if err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(base, "o-")
	if err != nil {
		return nil, err
	}
	return &spill{f, limit}, os.Remove(f.Name())
}

// Write fails where there is too much: the sandbox then tells that a part is
// missing.
func (s *spill) Write(p []byte) (int, error) {
	if s.left -= int64(len(p)); s.left < 0 {
		return 0, errFull
	}
	return s.f.Write(p)
}

// read gives what was written, from its beginning.
func (s *spill) read() io.Reader {
	if s == nil {
		return eof{}
	}
	return io.NewSectionReader(s.f, 0, 1<<62)
}

func (s *spill) close() {
	if s != nil {
		_ = s.f.Close() // nobody reads it any more
	}
}

type eof struct{}

func (eof) Read([]byte) (int, error) { return 0, io.EOF }

// answer holds what a command says that only asks.
type answer struct{ text []byte }

// maxAnswer bounds it, in bytes.
const maxAnswer = 4 << 20

func (a *answer) Write(p []byte) (int, error) {
	if len(a.text)+len(p) > maxAnswer {
		return 0, errFull
	}
	a.text = append(a.text, p...)
	return len(p), nil
}

// allowance bounds in sum what is read of many files.
type allowance struct {
	left int64
	cut  bool // there was more
}

func (a *allowance) of(r io.Reader) io.Reader { return allowed{r, a} }

type allowed struct {
	io.Reader
	a *allowance
}

func (r allowed) Read(p []byte) (int, error) {
	if r.a.left <= 0 {
		var one [1]byte
		if n, _ := io.ReadFull(r.Reader, one[:]); n > 0 { // an error is the end, too
			r.a.cut = true
		}
		return 0, io.EOF
	}
	n, err := r.Reader.Read(p[:min(int64(len(p)), r.a.left)])
	r.a.left -= int64(n)
	return n, err
}

// openSome opens a regular file; false where there is none, or where its path
// leaves the root.
func openSome(root *os.Root, name string) (*os.File, bool) {
	info, err := root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return nil, false
	}
	f, err := root.Open(name)
	return f, err == nil
}

// each opens the files that are there.
func (a *allowance) each(root *os.Root, read func(io.Reader), names ...string) {
	for _, name := range names {
		if f, ok := openSome(root, name); ok {
			read(a.of(f))
			_ = f.Close() // only read
		}
	}
}

// reportsDir holds the folders for reports, and outputs while they have a name.
const reportsDir = "reports"

// reportsIn makes it.
func reportsIn(layers string) (string, error) {
	if layers == "" {
		layers = os.TempDir()
	}
	base := filepath.Join(layers, reportsDir)
	return base, os.MkdirAll(base, 0o700)
}

// outPrefix is what the names of those folders begin with, before chance.
const outPrefix = "r-"

// outDir makes a folder for reports.
func outDir(layers string) (string, error) {
	base, err := reportsIn(layers)
	if err != nil {
		return "", err
	}
	return os.MkdirTemp(base, outPrefix)
}
