package git

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"agency/internal/agency"
	"agency/internal/regexp"
)

// Transfer brings objects from one repository to another.
type Transfer struct{ dir Dir }

// Unsound are objects that git takes over from no other repository (fsck): a
// .gitmodules that is a folder, a line of .gitattributes that no git reads.
type Unsound struct{ Objects []UnsoundObject }

// UnsoundObject is one of them.
type UnsoundObject struct {
	ID  agency.OID
	Why string // what git says
}

func (u *Unsound) Error() string {
	var b strings.Builder
	for _, o := range u.Objects {
		fmt.Fprintf(&b, "; %s: %s", o.ID, o.Why)
	}
	return "git takes no such objects over from another repository" + b.String()
}

// Unwrap classes it as a matter of what is sent.
func (u *Unsound) Unwrap() error {
	return agency.Errorf(agency.KindInvalid, "%d objects are unsound", len(u.Objects))
}

var unsoundForm = regexp.MustCompile(`(?m)^error: object ([0-9a-f]{40}|[0-9a-f]{64}): (.+)$`)

// unsound reads the objects out of a failed check, and leaves other errors.
func unsound(err error) error {
	f := (*Failure)(nil)
	if !errors.As(err, &f) || !strings.Contains(f.Stderr, "fsck error") {
		return err
	}
	u := &Unsound{}
	for _, m := range unsoundForm.FindAllStringSubmatch(f.Stderr, -1) {
		if o := (UnsoundObject{ID: agency.OID(m[1]), Why: m[2]}); !slices.Contains(u.Objects, o) {
			u.Objects = append(u.Objects, o)
		}
	}
	if len(u.Objects) == 0 {
		return err
	}
	return u
}

// Sending is what is sent from one repository to another.
type Sending struct {
	Tips []agency.OID // commits or trees
	Not  []agency.OID // what these reach is there already
	Pass []agency.OID // objects that are not checked
}

// Send copies the objects that tips reach and not does not into the folder of
// objects of another repository, checked (fsck) and synced to disk before it
// returns. Sending twice is harmless. *Unsound names what the check refuses.
func (t Transfer) Send(ctx context.Context, objects string, s Sending) error {
	into := t.dir.WithObjects(objects).WithConfig("core.fsync=committed,loose-object", "core.fsyncMethod=batch")
	return t.send(ctx, into, s)
}

// Try checks what Send would check, and keeps nothing: of files only those that
// git itself reads are looked at.
func (t Transfer) Try(ctx context.Context, s Sending) error {
	at, err := os.MkdirTemp(t.dir.GitDir, "try-")
	if err != nil {
		return Disk(err)
	}
	defer func() { _ = os.RemoveAll(at) }() // nobody else writes there; it goes with the run
	dirs, err := ObjectDirs(filepath.Join(t.dir.GitDir, "objects"))
	if err != nil {
		return err
	}
	if err := WriteFile(filepath.Join(at, "info", "alternates"), []byte(alternates(dirs))); err != nil {
		return err
	}
	return t.send(ctx, t.dir.WithObjects(at).WithConfig("core.fsync=none"), s, "--filter=blob:none")
}

func (t Transfer) send(ctx context.Context, into Dir, s Sending, options ...string) error {
	if err := checkOID(slices.Concat(s.Tips, s.Not, s.Pass)...); err != nil {
		return err
	}
	strict := "--strict"
	if len(s.Pass) > 0 {
		name, done, err := t.passes(s.Pass)
		if err != nil {
			return err
		}
		defer done()
		strict += "=skiplist=" + name
	}
	var revs bytes.Buffer
	for _, id := range s.Tips {
		fmt.Fprintln(&revs, id)
	}
	for _, id := range s.Not {
		fmt.Fprintln(&revs, "^"+string(id))
	}
	r, w, err := os.Pipe()
	if err != nil {
		return agency.Errorf(agency.KindTransient, "sending objects: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	packed := make(chan error, 1)
	go func() {
		_, err := t.dir.program.run(ctx, command{
			dir: &t.dir, stdin: &revs, stdout: w,
			args: append([]string{"pack-objects", "--revs", "--stdout", "--thin", "--delta-base-offset", "-q"}, options...),
		})
		packed <- err
		_ = w.Close() // only now does the other side see an end
	}()
	into = into.WithConfig("transfer.fsckObjects=true", "receive.fsckObjects=true")
	_, err = t.dir.program.run(ctx, command{dir: &into, stdin: r, args: []string{"unpack-objects", "-q", strict}})
	err = unsound(err)
	select {
	case packErr := <-packed: // ended while the pipe was open: by itself
		_ = r.Close()
		return cmp.Or(packErr, err)
	default:
	}
	_ = r.Close()
	if err != nil {
		cancel()
		return cmp.Or(err, <-packed) // which this ends
	}
	return <-packed
}

// passes writes a list of objects that are not checked. Its name is one in the
// folder in which git runs: git takes a path apart at blanks and commas.
func (t Transfer) passes(ids []agency.OID) (name string, done func(), err error) {
	f, err := os.CreateTemp(t.dir.GitDir, "pass-*")
	if err != nil {
		return "", nil, Disk(err)
	}
	done = func() { _ = os.Remove(f.Name()) } // as with Try
	for _, id := range ids {
		_, werr := fmt.Fprintln(f, id)
		err = errors.Join(err, werr)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		done()
		return "", nil, Disk(err)
	}
	return filepath.Base(f.Name()), done, nil
}

// Pack writes what tip, a commit or a tree, reaches and not does not, into a
// pack in the folder: a history that can be shown without all else that the
// repository holds. Deltas are taken over as they are, so it costs about what
// copying does. An empty not leaves nothing out.
func (t Transfer) Pack(ctx context.Context, folder string, tip, not agency.OID) error {
	if err := checkOID(tip); err != nil {
		return err
	}
	revs := string(tip) + "\n"
	if not != "" {
		if err := checkOID(not); err != nil {
			return err
		}
		revs += "^" + string(not) + "\n"
	}
	_, err := t.dir.feed(ctx, strings.NewReader(revs), packInto(folder, "--revs")...)
	return err
}

// PackRecent is Pack for the last commits of a history that is too large for
// it, each with all its files. Edge are those whose parents are left out: what
// the file shallow of a git directory names.
func (t Transfer) PackRecent(ctx context.Context, folder string, tip agency.OID, commits int) (edge []agency.OID, err error) {
	if err := checkOID(tip); err != nil {
		return nil, err
	}
	count := "--max-count=" + strconv.Itoa(commits)
	out, err := t.dir.run(ctx, "rev-list", "--parents", count, string(tip))
	if err != nil {
		return nil, err
	}
	in := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		in[strings.Fields(line)[0]] = true
	}
	for line := range strings.Lines(string(out)) {
		ids := strings.Fields(line)
		for _, parent := range ids[1:] {
			if !in[parent] {
				edge = append(edge, agency.OID(ids[0]))
				break
			}
		}
	}
	out, err = t.dir.run(ctx, "rev-list", "--objects", "--no-object-names", count, string(tip))
	if err != nil {
		return nil, err
	}
	_, err = t.dir.feed(ctx, bytes.NewReader(out), packInto(folder)...)
	return edge, err
}

func packInto(folder string, how ...string) []string {
	args := append([]string{"pack-objects", "-q", "--delta-base-offset", "--window=0"}, how...)
	return append(args, filepath.Join(folder, "pack"))
}

// Weight is how many bytes the packs of a folder of objects take, and those of
// all that it borrows from. What is not packed yet is little.
func Weight(objects string) (int64, error) {
	dirs, err := ObjectDirs(objects)
	if err != nil {
		return 0, err
	}
	var sum int64
	for _, dir := range dirs {
		entries, err := os.ReadDir(filepath.Join(dir, "pack"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return 0, err
		}
		for _, e := range entries {
			if info, err := e.Info(); err == nil && strings.HasSuffix(e.Name(), ".pack") {
				sum += info.Size()
			}
		}
	}
	return sum, nil
}
