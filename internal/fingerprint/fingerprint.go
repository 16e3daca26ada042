// Package fingerprint tells one state of files and folders that commands load from
// another, by what the kernel says of each: a change of a file changes the time of
// its last change, which no program can set. Where that cannot be relied on, what is
// in the files counts, up to a bound; beyond the bounds a state is not known.
package fingerprint

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"agency/internal/bounded"
)

// File tells one state of a file from another by what the kernel says of it; "" where that
// cannot be told: it changed a moment ago, and may again without another sign, or the kernel
// does not say. Whether its file system can be relied on is the caller's to know (Steady).
func File(info fs.FileInfo, now time.Time) string {
	changed, node := changedAt(info), Inode(info)
	if node == "" || changed.IsZero() || now.Sub(changed) <= tick(changed) {
		return ""
	}
	return fmt.Sprintf("%s %d %d %d", node, changed.UnixNano(), info.ModTime().UnixNano(), info.Size())
}

// Steady tells whether what a folder's file system says of its files can be relied on.
func Steady(dir string) bool { return !unsteady(dir) }

// Load is a file or folder outside of git's trees that commands load: installed
// packages, a toolchain's programs, a folder that the user lets them read.
type Load struct {
	Path string // on the host; one that is not there is a state as any other
	// Depth is how many levels of folders are read; 0: all. Of what lies deeper
	// counts only whether it is there and since when: enough where the names say
	// what is in it, as in a cache that a lockfile's hashes guard.
	Depth int
	// Packages are folders in which tools keep what they derive from what lies
	// beside it: compiled files, caches of bundlers. That does not count.
	Packages bool
}

// Bounds of what is read for a signature. Beyond, the world is not known.
const (
	maxFiles = 250_000
	maxTime  = 5 * time.Second
	maxBytes = 64 << 20 // of content, where what the file system says cannot be relied on
)

// The signature of many files counts for a moment, in which several commands are
// looked up: ten times what it took to make, so that they cost a tenth of the
// time at most. That of few is made each time.
const (
	manyFiles   = 5000
	momentTimes = 10
	maxMoment   = time.Second
)

// Signer remembers for a moment what folders were like. The zero value is ready, and
// safe for concurrent use.
type Signer struct {
	mu    sync.Mutex
	known map[Load]signed
}

// signed is what a folder was like.
type signed struct {
	sum  string
	ok   bool // it is known
	at   time.Time
	took time.Duration
	many bool
}

// errUnknown is the end of a walk over what cannot be known cheaply.
var errUnknown = errors.New("cannot be known cheaply")

// Sign tells one state of loads from another. False where it cannot be told; now
// asks for what they are like at this moment.
func (w *Signer) Sign(ctx context.Context, loads []Load, now bool) (sum string, ok bool) {
	all := sha256.New()
	ok = true
	for _, l := range loads {
		s := w.of(ctx, l, now)
		_, _ = fmt.Fprintf(all, "%q %d %s %v\n", l.Path, l.Depth, s.sum, s.ok) // a hash never fails
		ok = ok && s.ok
	}
	return hex.EncodeToString(all.Sum(nil)), ok
}

// of is what one folder is like. Who asks meanwhile waits for the answer.
func (w *Signer) of(ctx context.Context, l Load, now bool) signed {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s, have := w.known[l]; have && s.many && !now && time.Since(s.at) < min(s.took*momentTimes, maxMoment) {
		return s
	}
	s := signLoad(ctx, l)
	s.took = time.Since(s.at)
	if w.known == nil {
		w.known = map[Load]signed{}
	}
	w.known[l] = s
	return s
}

// settles is how often a folder is looked at that was changed within the last
// tick of the file system's clock, in which a second change leaves no trace.
const settles = 3

// signLoad signs a folder as it was at a time.
func signLoad(ctx context.Context, l Load) (s signed) {
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	for range settles {
		s = signed{at: time.Now()}
		real, err := filepath.EvalSymlinks(l.Path)
		if errors.Is(err, fs.ErrNotExist) {
			return signed{sum: "absent", ok: true, at: s.at}
		}
		if err != nil {
			return s
		}
		w := walk{ctx: ctx, load: l, content: unsteady(real), busy: make(chan struct{}, runtime.GOMAXPROCS(0))}
		sum, err := w.sign(real)
		if s.many = w.files > manyFiles; err != nil {
			return s
		}
		wait := w.newest.Add(tick(w.newest)).Sub(s.at)
		if wait <= 0 {
			s.sum, s.ok = sum, true
			return s
		}
		if wait > maxMoment || !pause(ctx, wait) {
			return s
		}
	}
	return s // somebody is writing there
}

// tick is how coarse the clock may be that dated a change.
func tick(t time.Time) time.Duration {
	if t.Nanosecond() == 0 {
		return 2 * time.Second
	}
	return 20 * time.Millisecond
}

// pause waits, or tells that the context has ended.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// walk is one walk over a folder, by as many as the machine has processors.
type walk struct {
	ctx     context.Context
	load    Load
	content bool // what is in the files counts, not what is said of them
	busy    chan struct{}
	wait    sync.WaitGroup

	mu     sync.Mutex
	dirs   []string // a line a folder
	files  int
	bytes  int64
	newest time.Time // change
	err    error
}

// sign walks from a file or folder.
func (w *walk) sign(at string) (string, error) {
	info, err := os.Lstat(at)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		var s signing
		w.note(&s, at, at, info)
		w.done(".", s)
	} else {
		w.dir(at, ".", 1)
	}
	w.wait.Wait()
	slices.Sort(w.dirs)
	sum := sha256.Sum256([]byte(strings.Join(w.dirs, "\n")))
	return hex.EncodeToString(sum[:]), cmp.Or(w.err, w.ctx.Err())
}

// dir notes one folder. Its own times do not count: they change with what does
// not count in it.
func (w *walk) dir(at, rel string, depth int) {
	entries, err := os.ReadDir(at)
	if err == nil {
		err = w.took(len(entries))
	}
	if err != nil {
		w.fail(err)
		return
	}
	var s signing
	for _, e := range entries {
		if w.load.Packages && e.Name() == derived {
			continue
		}
		here := filepath.Join(at, e.Name())
		if e.IsDir() && (w.load.Depth == 0 || depth < w.load.Depth) {
			s.text = append(append(s.text, e.Name()...), "/\n"...)
			w.below(here, rel+"/"+e.Name(), depth+1)
			continue
		}
		info, err := e.Info()
		if err != nil {
			w.fail(err)
			return
		}
		w.note(&s, here, e.Name(), info)
	}
	w.done(rel, s)
}

// signing is what is noted of one folder.
type signing struct {
	text   []byte
	newest time.Time
}

func (w *walk) done(rel string, s signing) {
	sum := sha256.Sum256(s.text)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dirs = append(w.dirs, rel+" "+hex.EncodeToString(sum[:]))
	if s.newest.After(w.newest) {
		w.newest = s.newest
	}
}

// below walks a folder beside this one where a processor is free.
func (w *walk) below(at, rel string, depth int) {
	select {
	case w.busy <- struct{}{}:
		w.wait.Go(func() {
			w.dir(at, rel, depth)
			<-w.busy
		})
	default:
		w.dir(at, rel, depth)
	}
}

// derived is the folder of what Python makes of packages, which it holds against
// their sources whenever it reads it. What bundlers keep beside packages is read
// as it stands, and counts.
const derived = "__pycache__"

// note writes down what a file is, without reading it where it need not be: a
// change of its content changes the time of its last change, which no program
// can set.
func (w *walk) note(s *signing, at, name string, info fs.FileInfo) {
	target := ""
	if info.Mode()&fs.ModeSymlink != 0 {
		var err error
		if target, err = os.Readlink(at); err != nil {
			w.fail(err)
			return
		}
	}
	changed := changedAt(info)
	if info.Mode().IsRegular() && (w.content || changed.IsZero() || time.Until(changed) > tick(changed)) {
		s.text = append(s.text, w.read(at, info.Size())...)
	}
	s.text = append(append(s.text, name...), 0)
	for _, n := range []int64{int64(info.Mode()), info.Size(), info.ModTime().UnixNano(), changed.UnixNano()} {
		s.text = append(strconv.AppendInt(s.text, n, 10), ' ')
	}
	s.text = append(append(append(append(s.text, Inode(info)...), ' '), target...), '\n')
	if changed.After(s.newest) && !changed.After(time.Now()) {
		s.newest = changed
	}
}

// read gives the hash of what is in a file.
func (w *walk) read(at string, size int64) []byte {
	w.mu.Lock()
	w.bytes += size
	tooMuch := w.bytes > maxBytes
	w.mu.Unlock()
	if tooMuch {
		w.fail(errUnknown)
		return nil
	}
	sum := sha256.New()
	f, err := bounded.OpenAt(at)
	if err == nil {
		var n int64
		if n, err = io.Copy(sum, io.LimitReader(f, size+1)); n > size {
			err = errors.Join(err, errUnknown) // it grows
		}
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		w.fail(err)
	}
	return sum.Sum(nil)
}

// took counts entries; an error where the walk must end.
func (w *walk) took(n int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.files += n; w.files > maxFiles {
		return errUnknown
	}
	return cmp.Or(w.err, w.ctx.Err())
}

func (w *walk) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = cmp.Or(w.err, err)
}
