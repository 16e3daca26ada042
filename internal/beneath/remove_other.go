//go:build !linux

package beneath

import (
	"io/fs"
	"os"
)

// removeAt goes through os.Root: no command of an agent is alive here that
// could swap names, for there is no sandbox that it could have left.
func removeAt(dir *os.File, name, at string) error {
	if err := os.RemoveAll(at); err == nil {
		return nil
	}
	root, err := os.OpenRoot(at)
	if err != nil {
		return err
	}
	_ = fs.WalkDir(root.FS(), ".", func(p string, d fs.DirEntry, err error) error { // the removal below is what counts
		if d != nil && d.IsDir() {
			_ = root.Chmod(p, 0o700)
		}
		return nil
	})
	_ = root.Close() // nothing was written
	return os.RemoveAll(at)
}
