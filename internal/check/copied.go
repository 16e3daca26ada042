package check

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"agency/internal/bounded"
	"agency/internal/ecosystem"
	"agency/internal/fingerprint"
	"agency/internal/sandbox"
)

// copyInto copies a folder of the user's below a root: folders, files with
// their modes and times, and links as links. It never follows a link. What in the
// copy names the checkout at place.At names it at place.Root, for there is nothing
// else that commands could find there.
func copyInto(from string, root *os.Root, to string, place sandbox.Place) error {
	return filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		at := filepath.Join(filepath.FromSlash(to), rel)
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			return root.MkdirAll(at, info.Mode().Perm()|0o700)
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(name)
			if err != nil {
				return err
			}
			return root.Symlink(place.Relocate(target), at)
		case d.Type().IsRegular():
			return copyFile(name, root, at, info, place)
		}
		return nil
	})
}

func copyFile(from string, root *os.Root, at string, info fs.FileInfo, place sandbox.Place) error {
	in, err := bounded.OpenAt(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // only read
	text, changed, err := relocated(in, info, place)
	if err != nil {
		return err
	}
	out, err := root.OpenFile(at, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm()|0o200)
	if err != nil {
		return err
	}
	if changed {
		_, err = out.Write(text)
	} else {
		_, err = io.Copy(out, in)
	}
	if err != nil {
		_ = out.Close()
		return err
	}
	if err := out.Close(); err != nil || changed { // with the old time, what was compiled of it would stand for it
		return err
	}
	return root.Chtimes(at, info.ModTime(), info.ModTime())
}

// maxTelling bounds the files in which paths are looked for: what is larger is a
// program, or was not written by an installer.
const maxTelling = 256 << 10

// tellsPlace tells whether a file of a dependency folder may say where the checkout
// lies: a script by its interpreter, or what Python reads of where packages are.
func tellsPlace(name string, info fs.FileInfo) bool {
	base := filepath.Base(name)
	switch {
	case info.Size() > maxTelling:
		return false
	case info.Mode()&0o111 != 0, filepath.Base(filepath.Dir(name)) == "bin": // activate is read, not executed
		return true
	}
	return strings.HasPrefix(base, "__editable__") || path.Ext(base) == ".pth" || path.Ext(base) == ".egg-link"
}

// relocated is the text of a file that names the checkout, for another place; it
// leaves every other file at its beginning.
func relocated(in *os.File, info fs.FileInfo, place sandbox.Place) (text []byte, changed bool, err error) {
	if place.At == place.Root || !tellsPlace(in.Name(), info) {
		return nil, false, nil
	}
	was, err := io.ReadAll(io.LimitReader(in, maxTelling+1))
	if err != nil {
		return nil, false, err
	}
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return nil, false, err
	}
	if len(was) > maxTelling || bytes.IndexByte(was, 0) >= 0 || !bytes.Contains(was, []byte(place.At)) {
		return nil, false, nil
	}
	now := []byte(moveScript(string(was), place))
	return now, !bytes.Equal(was, now), nil
}

// maxInterpreter is how long the first line of a script may be for every kernel.
const maxInterpreter = 127

// moveScript relocates a text. Where the interpreter of a script of Python is then
// one that no first line can name, being too long or with a space in it, a shell
// starts it, as package managers write such scripts.
func moveScript(text string, place sandbox.Place) string {
	line, rest, _ := strings.Cut(text, "\n")
	command, is := strings.CutPrefix(line, "#!")
	was, args, _ := strings.Cut(strings.TrimSpace(command), " ")
	now := place.Relocate(was)
	if !is || now == was || len("#!"+now+" "+args) <= maxInterpreter && !strings.Contains(now, " ") || !strings.HasPrefix(filepath.Base(now), "python") {
		return place.Relocate(text)
	}
	return fmt.Sprintf("#!/bin/sh\n'''exec' %s %s \"$0\" \"$@\"\n' '''\n%s", ecosystem.Quote(now), args, place.Relocate(rest))
}

// copies are the dependency folders that were copied into checkouts, where the
// sandbox mounts nothing.
type copies struct {
	tier  func() sandbox.Tier
	notes string   // folder of the notes of them; empty: none are kept
	known sync.Map // inodes by their paths
}

// rehome has what a setup installed name the user's checkout, as it would had it
// been mounted there: checkouts that get a copy lie elsewhere.
func (c *copies) rehome(made string, parts []part, place sandbox.Place) error {
	if c.tier() == sandbox.TierFull {
		return nil
	}
	root, err := os.OpenRoot(made)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // each file is closed
	place.Root, place.At = place.At, place.Root
	for _, p := range parts {
		if p.Folder == "" {
			continue
		}
		if err := fs.WalkDir(root.FS(), p.Data, func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return rehomeFile(root, name, d, place)
		}); err != nil {
			return err
		}
	}
	return nil
}

func rehomeFile(root *os.Root, name string, d fs.DirEntry, place sandbox.Place) error {
	if d.Type()&fs.ModeSymlink != 0 {
		target, err := root.Readlink(name)
		if to := place.Relocate(target); err == nil && to != target {
			err = errors.Join(root.Remove(name), root.Symlink(to, name))
		}
		return err
	}
	if !d.Type().IsRegular() {
		return nil
	}
	info, err := d.Info()
	if err != nil || !tellsPlace(name, info) {
		return err
	}
	in, err := bounded.Open(root, name)
	if err != nil {
		return err
	}
	text, changed, err := relocated(in, info, place)
	if _ = in.Close(); err != nil || !changed {
		return err
	}
	return errors.Join(root.Remove(name), root.WriteFile(name, text, info.Mode().Perm()|0o200)) // it may be linked with others
}

// copied makes sure that a checkout has a copy of a folder of packages that suits
// its lockfiles, and tells whether what is there was copied by this checker: a
// folder of that name may also be a claim's.
func (c *copies) copied(root *os.Root, place sandbox.Place, folder, host string, suits bool) (bool, error) {
	if !suits {
		return false, nil
	}
	at, name := filepath.Join(place.Root, filepath.FromSlash(folder)), filepath.FromSlash(folder)
	if !vacant(root, folder) {
		info, err := root.Lstat(name)
		return err == nil && c.wasCopied(at, info), nil
	}
	if err := copyInto(host, root, folder, place); err != nil {
		return false, err
	}
	info, err := root.Lstat(name)
	if err != nil {
		return false, err
	}
	return true, c.noteCopied(at, info)
}

// noteCopied remembers a copy by its path and inode, beyond the end of this host.
func (c *copies) noteCopied(at string, info os.FileInfo) error {
	c.known.Store(at, fingerprint.Inode(info))
	if c.notes == "" {
		return nil
	}
	note := c.copyNote(at)
	if err := os.MkdirAll(filepath.Dir(note), 0o700); err != nil {
		return err
	}
	return os.WriteFile(note, []byte(fingerprint.Inode(info)), 0o600)
}

func (c *copies) wasCopied(at string, info os.FileInfo) bool {
	if was, ok := c.known.Load(at); ok || c.notes == "" {
		return ok && was == fingerprint.Inode(info)
	}
	was, err := os.ReadFile(c.copyNote(at))
	return err == nil && string(was) == fingerprint.Inode(info)
}

// copyNote is where a copy is noted, beside what was installed: both go with the run.
func (c *copies) copyNote(at string) string {
	sum := sha256.Sum256([]byte(at))
	return filepath.Join(c.notes, hex.EncodeToString(sum[:16]))
}
