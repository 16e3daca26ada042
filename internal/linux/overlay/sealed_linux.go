package overlay

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"agency/internal/beneath"
)

// What commands that may be trusted have built is kept in a store: a folder for each
// state, by number, of which the highest counts. A state is made under another name and
// never written again, so that commands which nobody trusts may begin from it. Two states
// share the files that both have.

const (
	// keepSealed is how long a state is kept that no trusted command has added to.
	keepSealed = 14 * 24 * time.Hour
	// maxSealed and maxSealedFiles bound a state, the newest files count.
	maxSealed      = 4 << 30
	maxSealedFiles = 200_000
	unfinished     = "unfinished" // a state
	taken          = "taken"      // out of a layer
)

// Share gives the newest state of a store, the first being empty, which stays until the
// set is released.
func (s *Set) Share(store string) (string, error) {
	if len(states(store)) == 0 {
		if err := os.MkdirAll(filepath.Join(store, "0"), 0o700); err != nil {
			return "", err
		}
	}
	for { // a newer one may take its place meanwhile
		all := states(store)
		if len(all) == 0 {
			return "", errors.New("no state of " + store)
		}
		dir := filepath.Join(store, strconv.Itoa(all[len(all)-1]))
		lock, err := lockAt(dir+".lock", unix.LOCK_SH)
		if err != nil {
			return "", err
		}
		if _, err := os.Stat(dir); err == nil {
			s.locks = append(s.locks, lock)
			return dir, nil
		}
		_ = lock.Close()
	}
}

// Sealed tells whether a store has a state in which something is.
func Sealed(store string) bool {
	all := states(store)
	return len(all) > 0 && all[len(all)-1] > 0
}

// Seal takes what was written in a layer of the set, whose command has ended, out of it
// into the next state of a store.
func (s *Set) Seal(at, store string) error {
	l := s.Layers[at]
	lock, err := lockAt(filepath.Join(store, "lock"), unix.LOCK_EX)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	all, made, taken := states(store), filepath.Join(store, unfinished), filepath.Join(store, taken)
	if len(all) == 0 {
		return errors.New("no state of " + store)
	}
	if err := errors.Join(beneath.Remove(made), beneath.Remove(taken)); err != nil { // of who died in the middle
		return err
	}
	// The next command of the layer must not find the files that the state names, too.
	if err := os.Rename(Upper(l.base, l.Name), taken); err != nil {
		return err
	}
	newest := all[len(all)-1]
	files, fresh := layered(filepath.Join(store, strconv.Itoa(newest)), taken)
	if fresh {
		err = link(made, files)
		if err == nil {
			err = os.Rename(made, filepath.Join(store, strconv.Itoa(newest+1)))
		}
	}
	return errors.Join(err, beneath.Remove(taken), clear(store))
}

// SweepSealed removes of a store what nobody needs: what was left unfinished, states that
// are not the newest, and the newest where it is old.
func SweepSealed(store string, now time.Time) error {
	lock, err := lockAt(filepath.Join(store, "lock"), unix.LOCK_EX)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	err = errors.Join(beneath.Remove(filepath.Join(store, unfinished)), beneath.Remove(filepath.Join(store, taken)), clear(store))
	if all := states(store); len(all) > 0 {
		newest := filepath.Join(store, strconv.Itoa(all[len(all)-1]))
		if info, serr := os.Stat(newest); serr == nil && now.Sub(info.ModTime()) > keepSealed {
			err = errors.Join(err, drop(newest))
		}
	}
	return err
}

// clear removes the states but the newest.
func clear(store string) (err error) {
	all := states(store)
	for _, n := range all[:max(len(all)-1, 0)] {
		err = errors.Join(err, drop(filepath.Join(store, strconv.Itoa(n))))
	}
	return err
}

// drop removes a state that no command begins from.
func drop(dir string) error {
	lock, err := lockAt(dir+".lock", unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	return errors.Join(beneath.Remove(dir), os.Remove(dir+".lock"))
}

// states are the numbers of a store's states, sorted.
func states(store string) (out []int) {
	entries, _ := os.ReadDir(store) // none: it has none
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil && e.IsDir() {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}

func lockAt(name string, how int) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		if err = unix.Flock(int(f.Fd()), how); err == nil {
			return f, nil
		}
		if !errors.Is(err, unix.EINTR) {
			_ = f.Close()
			return nil, err
		}
	}
}

// sealedFile is a file of a state.
type sealedFile struct {
	rel, from string
	info      fs.FileInfo
}

// layered are the files of a folder and of one over it, the newest, as many as are kept;
// fresh tells whether one is of the latter. What is no file of data, such as the mark of
// one that was deleted, hides what lies under it.
func layered(below, over string) (out []sealedFile, fresh bool) {
	files := map[string]sealedFile{}
	for _, dir := range []string{below, over} {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return nil // what cannot be seen is left out
			}
			rel, err := filepath.Rel(dir, path)
			if err != nil {
				return nil
			}
			delete(files, rel)
			info, err := d.Info()
			if err == nil && (info.Mode().IsRegular() || info.Mode()&fs.ModeSymlink != 0) {
				files[rel] = sealedFile{rel, path, info}
			}
			return nil
		})
	}
	for _, f := range files {
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b sealedFile) int {
		return cmp.Or(b.info.ModTime().Compare(a.info.ModTime()), strings.Compare(a.rel, b.rel))
	})
	left := int64(maxSealed)
	for i, f := range out {
		if left -= f.info.Size(); left < 0 || i == maxSealedFiles {
			return out[:i], fresh
		}
		fresh = fresh || strings.HasPrefix(f.from, over+string(filepath.Separator))
	}
	return out, fresh
}

// link makes a folder with these files.
func link(dir string, files []sealedFile) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, f := range files {
		at := filepath.Join(dir, f.rel)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			return err
		}
		if err := os.Link(f.from, at); err != nil {
			return err
		}
	}
	return nil
}
