package beneath

import (
	"os"
	"path/filepath"

	"agency/internal/text"
)

// Remove deletes what lies at a path, whatever it holds: folders deeper than a
// path can name, or that nobody may enter, and any number of files. No link in
// it is followed, not even one that appears meanwhile, so only the folder above
// must be out of reach of others. That nothing is there is no error. What cannot
// be deleted is named, and the rest is gone.
func Remove(at string) error {
	at = filepath.Clean(at)
	dir, err := os.Open(filepath.Dir(at))
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }() // only read
	return removeAt(dir, filepath.Base(at), at)
}

// RemoveIn is Remove for a name in an open folder.
func RemoveIn(dir *os.File, name string) error {
	return removeAt(dir, name, filepath.Join(dir.Name(), name))
}

// brief shortens a path for an error: an agent's may have any length.
func brief(p string) string { return text.Ends(p, 240) }
