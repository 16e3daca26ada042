package resources

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"agency/internal/agency"
	"agency/internal/bounded"
	"agency/internal/workspace"
)

// Bounds of the user's skills.
const (
	maxSkillFiles = 1000
	maxSkillBytes = 16 << 20
)

// skills copies the user's skills into the run's folder, once: the run keeps what it was
// started with, and no command sees the folder of the user's own configuration. It is empty
// where there are none.
func (r *Runs) skills(run *workspace.Run) (string, error) {
	if r.o.Agents == "" {
		return "", nil
	}
	kept := filepath.Join(run.Folder(), "skills")
	if _, err := os.Stat(kept); !errors.Is(err, fs.ErrNotExist) {
		return kept, err
	}
	root, err := os.OpenRoot(filepath.Join(filepath.Dir(r.o.Agents), "skills"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", agency.Errorf(agency.KindInvalid, "skills: %w", agency.Cause(err))
	}
	defer func() { _ = root.Close() }() // it was only read
	half := kept + ".half"
	if err := errors.Join(os.RemoveAll(half), os.MkdirAll(half, 0o700)); err != nil {
		return "", err
	}
	if err := copySkills(root, half); err != nil {
		return "", errors.Join(err, os.RemoveAll(half))
	}
	return kept, os.Rename(half, kept)
}

// copySkills copies plain files and folders; links and what is no file are left out.
func copySkills(from *os.Root, to string) error {
	files, bytes := 0, 0
	return fs.WalkDir(bounded.FS(from), ".", func(p string, d fs.DirEntry, err error) error {
		at := filepath.Join(to, filepath.FromSlash(p))
		switch {
		case err != nil:
			return agency.Errorf(agency.KindInvalid, "skills: %s: %w", p, agency.Cause(err))
		case p != "." && path.Base(p) == ".git":
			return skip(d)
		case d.IsDir():
			return os.MkdirAll(at, 0o700)
		case !d.Type().IsRegular():
			return nil
		}
		raw, err := bounded.Read(from, p, maxSkillBytes)
		if err == nil {
			files, bytes = files+1, bytes+len(raw)
		}
		if err != nil || files > maxSkillFiles || bytes > maxSkillBytes {
			return agency.Errorf(agency.KindInvalid, "skills: more than %d files or %d MiB, or one that cannot be read, at %s", maxSkillFiles, maxSkillBytes>>20, p).
				WithMend("take out of the folder skills/ of your configuration what is no skill")
		}
		mode := fs.FileMode(0o600)
		if info, err := d.Info(); err == nil && info.Mode()&0o100 != 0 {
			mode = 0o700
		}
		if err := os.WriteFile(at, raw, mode); err != nil {
			return fmt.Errorf("skills: %w", err)
		}
		return nil
	})
}

// firstOf are the first of many lines, and how many there are beside them.
func firstOf(all []string) []string {
	const most = 8
	if len(all) <= most {
		return all
	}
	return append(all[:most:most], fmt.Sprintf("and %d more like these", len(all)-most))
}

// skip leaves out a file, or a folder with all below it.
func skip(d fs.DirEntry) error {
	if d.IsDir() {
		return fs.SkipDir
	}
	return nil
}
