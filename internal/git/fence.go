package git

import (
	"context"
	"path/filepath"
	"strings"

	"agency/internal/beneath"
)

// Foreign is the directory for a work tree that commands of an agent have
// written, and that one of their processes might still change: git then reads
// and writes nothing but the work tree and its own folders, whatever a folder
// is swapped for while it works. What it may write is the index, in a folder of
// its own, objects where it makes some, and the work tree only where a checkout
// is the command.
//
// Before each command alone makes sure that no such process is left; its error is
// the command's. Nil: there can be none.
func (d Dir) Foreign(alone func(context.Context) error) Dir {
	d.foreign, d.alone = true, alone
	return d
}

// fence is what a command on a foreign work tree may touch.
func (g *Program) fence(c command) (beneath.Fence, error) {
	programs, err := g.programs()
	if err != nil {
		return beneath.Fence{}, err
	}
	d := c.dir
	f := beneath.Fence{
		Programs: programs,
		Read:     []string{d.GitDir, "/sys/devices/system/cpu", "/dev/urandom"},
		Write:    []string{"/dev/null"},
	}
	if d.IndexFile != "" {
		f.Write = append(f.Write, filepath.Dir(d.IndexFile))
	}
	own := d.objects
	if own == "" {
		own = filepath.Join(d.GitDir, "objects")
	}
	dirs, err := ObjectDirs(own)
	if err != nil {
		return f, err
	}
	for _, dir := range dirs {
		f.Read = append(f.Read, dir, filepath.Join(dir, "pack")) // which may be a link
	}
	if c.toTree {
		f.Write = append(f.Write, d.WorkTree)
	} else {
		f.Read = append(f.Read, d.WorkTree)
		f.Write = append(f.Write, own)
	}
	return f, nil
}

// findPrograms are the folders of git's own programs and of what these load.
// Nothing of them is secret; a git below a home shows no more than itself.
func (g *Program) findPrograms() ([]string, error) {
	out, err := g.run(context.Background(), command{args: []string{"--exec-path"}})
	if err != nil {
		return nil, err
	}
	binary, err := filepath.EvalSymlinks(g.binary)
	if err != nil {
		return nil, err
	}
	programs := []string{
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc/ld.so.cache", "/etc/ld.so.preload", "/nix/store",
		strings.TrimSpace(string(out)), binary,
	}
	above := filepath.Dir(filepath.Dir(binary))
	for _, dir := range []string{"bin", "lib", "lib64", "libexec", "share/git-core"} {
		programs = append(programs, filepath.Join(above, dir))
	}
	return programs, nil
}
