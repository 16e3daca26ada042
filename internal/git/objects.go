package git

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"

	"agency/internal/agency"
)

// Objects reads and writes blobs and trees.
type Objects struct{ dir Dir }

// Blob is the content of a file of a tree or commit, at most most bytes of it:
// an agent's file may have any size. KindNotFound where the tree has no such
// file; IsTooLong, beside what was read, where it has more.
func (o Objects) Blob(ctx context.Context, tree agency.OID, path string, most int64) ([]byte, error) {
	if err := checkOID(tree); err != nil {
		return nil, err
	}
	if path == "" || strings.ContainsRune(path, 0) {
		return nil, agency.Errorf(agency.KindInvalid, "%q is no path", path)
	}
	return o.blob(ctx, string(tree)+":"+path, most)
}

// Content is the content of a blob, as Blob gives a file's.
func (o Objects) Content(ctx context.Context, id agency.OID, most int64) ([]byte, error) {
	if err := checkOID(id); err != nil {
		return nil, err
	}
	return o.blob(ctx, string(id), most)
}

// SmudgedTo writes the content of a blob as a checkout would write it at path.
func (o Objects) SmudgedTo(ctx context.Context, id agency.OID, path string, w io.Writer) error {
	if err := checkOID(id); err != nil {
		return err
	}
	return o.dir.stream(ctx, w, "cat-file", "--filters", "--path="+path, string(id))
}

func (o Objects) blob(ctx context.Context, name string, most int64) ([]byte, error) {
	out, err := o.dir.program.run(ctx, command{dir: &o.dir, args: []string{"cat-file", "blob", name}, most: most})
	if f := (*Failure)(nil); errors.As(err, &f) {
		return nil, agency.Errorf(agency.KindNotFound, "%s: %w", name, err)
	}
	return out, err
}

// Size is how many bytes a file of a tree or commit has.
func (o Objects) Size(ctx context.Context, tree agency.OID, path string) (int64, error) {
	if err := checkOID(tree); err != nil {
		return 0, err
	}
	out, err := o.dir.run(ctx, "cat-file", "-s", string(tree)+":"+path)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
}

// Tree lists the files of a tree or commit, recursively.
func (o Objects) Tree(ctx context.Context, tree agency.OID) ([]Entry, error) {
	return o.lsTree(ctx, tree, "-r")
}

// Folders lists the folders of a tree or commit, recursively, without the root.
func (o Objects) Folders(ctx context.Context, tree agency.OID) ([]Entry, error) {
	return o.lsTree(ctx, tree, "-r", "-d")
}

func (o Objects) lsTree(ctx context.Context, tree agency.OID, flags ...string) ([]Entry, error) {
	if err := checkOID(tree); err != nil {
		return nil, err
	}
	args := append([]string{"ls-tree", "-z", "--full-tree"}, flags...)
	out, err := o.dir.program.run(ctx, command{dir: &o.dir, args: append(args, string(tree)), settled: true})
	if err != nil {
		return nil, err
	}
	var entries []Entry
	for _, rec := range fields(out) {
		meta, path, ok := strings.Cut(rec, "\t")
		parts := strings.Fields(meta)
		if !ok || len(parts) != 3 {
			return nil, agency.Errorf(agency.KindInternal, "ls-tree wrote %q", rec)
		}
		mode, err := strconv.ParseUint(parts[0], 8, 32)
		if err != nil {
			return nil, err
		}
		entries = append(entries, Entry{Mode: uint32(mode), ID: agency.OID(parts[2]), Path: path})
	}
	return entries, nil
}

// Entry is a file of an index or a tree.
type Entry struct {
	Mode  uint32 // as git writes it: 0o100644, 0o100755, 0o120000, 0o160000
	ID    agency.OID
	Stage int // other than 0: unmerged
	Path  string
}

// Modes of entries.
const (
	ModeFile    = 0o100644
	ModeExec    = 0o100755
	ModeSymlink = 0o120000
	ModeGitlink = 0o160000
)

// clear makes an absent side the zero Entry but for its path.
func (e *Entry) clear() {
	if e.Mode == 0 {
		e.ID = ""
	}
}

// WriteBlob stores a content as it is.
func (o Objects) WriteBlob(ctx context.Context, content []byte) (agency.OID, error) {
	out, err := o.dir.feed(ctx, bytes.NewReader(content), "hash-object", "-w", "--no-filters", "--stdin")
	if err != nil {
		return "", err
	}
	return parseOID(out)
}

// Reader reads any number of blobs through one process of git, which it starts
// when first asked. It may be used by several goroutines; what has the Reader
// closes it.
type Reader struct {
	dir Dir

	mu      sync.Mutex
	process *batch // nil: none runs
}

// Reader gives a reader of the repository's blobs.
func (o Objects) Reader() *Reader { return &Reader{dir: o.dir} }

// batch is a process that answers with the blobs it is asked for by name.
type batch struct {
	ask    *os.File
	answer *bufio.Reader
	output *os.File
	cancel context.CancelFunc
	ended  chan error
}

// Content reads a blob of at most most bytes: IsTooLong tells of a larger one.
func (r *Reader) Content(ctx context.Context, id agency.OID, most int64) ([]byte, error) {
	var out bytes.Buffer
	err := r.read(ctx, id, most, &out)
	if err != nil || out.Len() == 0 {
		return nil, err
	}
	return out.Bytes(), nil
}

// ContentTo writes the content of a blob of any size to w. An error of w ends
// it.
func (r *Reader) ContentTo(ctx context.Context, id agency.OID, w io.Writer) error {
	return r.read(ctx, id, math.MaxInt64, w)
}

func (r *Reader) read(ctx context.Context, id agency.OID, most int64, w io.Writer) error {
	if err := checkOID(id); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if ctx.Err() != nil { // else who has left may still get an answer, or not
		return context.Cause(ctx)
	}
	size, err := r.find(ctx, id)
	if err != nil {
		return err
	}
	if size > most {
		_ = r.stop() // its answer is on its way
		return agency.Errorf(agency.KindExhausted, "%s has %d bytes, over %d: %w", id, size, most, errOver)
	}
	defer context.AfterFunc(ctx, r.process.cancel)()
	to := &sink{w: w}
	_, err = io.CopyN(to, r.process.answer, size)
	if err == nil {
		_, err = r.process.answer.Discard(len("\n"))
	}
	if err != nil {
		return cmp.Or(to.err, errors.Join(r.stop(), err))
	}
	return nil
}

// find asks for a blob, and gives its size. A process that answers no more,
// because its time was up or somebody ended it, has another one follow it.
func (r *Reader) find(ctx context.Context, id agency.OID) (int64, error) {
	for {
		first := r.process == nil
		if first {
			p, err := r.dir.Objects().batch(ctx)
			if err != nil {
				return 0, err
			}
			r.process = p
		}
		line, err := r.process.askFor(ctx, id)
		if err != nil {
			if err = errors.Join(r.stop(), err); first {
				return 0, err
			}
			continue
		}
		var kind string
		var size int64
		if _, err := fmt.Sscanf(line, string(id)+" %s %d", &kind, &size); err != nil {
			return 0, agency.Errorf(agency.KindNotFound, "%s", strings.TrimSpace(line))
		}
		if kind != "blob" {
			_ = r.stop()
			return 0, agency.Errorf(agency.KindNotFound, "%s: a %s, not a file", id, kind)
		}
		return size, nil
	}
}

// Close ends the process.
func (r *Reader) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.stop()
}

// stop ends the process and tells why it had failed, if it had.
func (r *Reader) stop() error {
	if r.process == nil {
		return nil
	}
	p := r.process
	r.process = nil
	p.cancel()
	err := <-p.ended
	_, _ = p.ask.Close(), p.output.Close()
	return err
}

// batch starts a process, which lives as long as ctx at most.
func (o Objects) batch(ctx context.Context) (*batch, error) {
	in, ask, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	output, out, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, in.Close(), ask.Close())
	}
	ctx, cancel := context.WithCancel(ctx)
	p := &batch{ask: ask, answer: bufio.NewReaderSize(output, 64<<10), output: output, cancel: cancel, ended: make(chan error, 1)}
	go func() {
		_, err := o.dir.program.run(ctx, command{dir: &o.dir, args: []string{"cat-file", "--batch"}, stdin: in, stdout: out})
		_, _ = in.Close(), out.Close() // so that who reads hears of the end
		p.ended <- err
	}()
	return p, nil
}

// askFor asks for an object and gives the line before its content.
func (p *batch) askFor(ctx context.Context, id agency.OID) (string, error) {
	defer context.AfterFunc(ctx, p.cancel)()
	if _, err := p.ask.WriteString(string(id) + "\n"); err != nil {
		return "", err
	}
	return p.answer.ReadString('\n')
}
