package check

import (
	"io/fs"
	"path"
	"strings"
)

// Named tells whether the tests that a line runs will be known by name: each
// statement of it calls a runner that can be asked. files are the repository's.
func Named(line string, files fs.FS) bool {
	if strings.TrimSpace(line) == "" {
		return false
	}
	p := makePlan(line, fsFiles{files}, "/out", false)
	return p.asked()
}

// fsFiles are a repository's files for the finder of calls.
type fsFiles struct{ fs.FS }

func (f fsFiles) readFile(name string) []byte {
	info, err := fs.Stat(f.FS, path.Clean(name))
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxGoMod {
		return nil
	}
	b, err := fs.ReadFile(f.FS, path.Clean(name))
	if err != nil {
		return nil
	}
	return b
}
