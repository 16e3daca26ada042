package land

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"agency/internal/git"
)

// sameMoment is how far apart the two locks of one command of git may be.
const sameMoment = 2 * time.Second

// freeRef removes the locks that a git which was killed while it moved the ref
// of an intent left behind. The ref's own lock holds what the ref was to become:
// a commit that only this intent has made, so that nobody else can have written
// it. The lock of HEAD that goes with it is empty; it is ours where HEAD names
// the ref and the lock is of the same moment. Any other lock is left alone and
// named by whoever meets it. No git of ours may be alive.
func freeRef(commonDir string, in intent) error {
	ref := filepath.Join(commonDir, filepath.FromSlash(in.Ref))
	at, ours := time.Time{}, false
	if b, info := small(ref + ".lock"); info != nil && strings.TrimSpace(b) == string(in.New) {
		at, ours = info.ModTime(), true
	} else if b, info := small(ref); info != nil && strings.TrimSpace(b) == string(in.New) {
		at = info.ModTime() // moved, and its lock with it
	}
	if at.IsZero() {
		return nil
	}
	if in.Checkout != nil {
		head := filepath.Join(in.Checkout.Repo.GitDir, "HEAD")
		name, _ := small(head)
		b, info := small(head + ".lock")
		if info != nil && b == "" && strings.TrimSpace(name) == "ref: "+in.Ref && info.ModTime().Sub(at).Abs() <= sameMoment {
			if err := remove(head + ".lock"); err != nil {
				return err
			}
		}
	}
	if !ours {
		return nil
	}
	return remove(ref + ".lock")
}

// small is what a short plain file holds; info is nil where there is none.
func small(path string) (text string, info fs.FileInfo) {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > 4096 {
		return "", nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", nil
	}
	return string(b), info
}

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return git.Disk(err)
	}
	return nil
}
