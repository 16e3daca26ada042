package rootfs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	"golang.org/x/sys/unix"

	"agency/internal/linux"
	"agency/internal/linux/mount"
)

// nothing is an empty file that covers what nobody may open.
const nothing = Hidden + "/nothing"

// mostPipes bounds how many are covered: each takes a mount.
const mostPipes = 1000

// cover hides what is mounted below a folder that is shown as it is: only what is
// named is shown.
func (t tree) cover(at string, inner []string) error {
	for _, rel := range inner {
		fd, err := linux.OpenBeneath(t.root, path.Join(at[1:], rel), how(true))
		if errors.Is(err, unix.ENOENT) {
			continue // covered by what is mounted over it
		}
		if err != nil {
			return err
		}
		dir, err := mount.IsFolder(fd)
		switch {
		case err != nil:
		case dir:
			err = mount.Memory(fd, 0, "555", unix.MS_RDONLY)
		default:
			err = unix.Mount(os.DevNull, mount.FdPath(fd), "", unix.MS_BIND, "")
		}
		_ = unix.Close(fd)
		if err != nil {
			return fmt.Errorf("what is mounted at %s: %w", rel, err)
		}
	}
	return nil
}

// coverPipes puts an empty file over each pipe in a folder that is shown as it is:
// in a mount that cannot be written a pipe still can, and what its writers meant
// for others could be read. A folder that this user cannot enter no command of
// his can either.
func (t tree) coverPipes(it Item) error {
	if err := t.makePath(nothing[1:], how(false), false); err != nil && !errors.Is(err, unix.EEXIST) {
		return err
	}
	empty, err := linux.OpenBeneath(t.root, nothing[1:], how(false))
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(empty) }()
	todo := []string{it.At[1:]}
	for covered := 0; len(todo) > 0; {
		dir := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		below, pipes, err := t.listPipes(dir)
		if err != nil {
			return err
		}
		todo = append(todo, below...)
		if covered += len(pipes); covered > mostPipes {
			return fmt.Errorf("%s holds more than %d pipes", it.At, mostPipes)
		}
		for _, p := range pipes {
			if err := t.coverFile(empty, p); err != nil {
				return fmt.Errorf("the pipe /%s: %w", p, err)
			}
		}
	}
	return nil
}

// listPipes gives the folders and the pipes in a folder of the new root.
func (t tree) listPipes(dir string) (below, pipes []string, err error) {
	how := how(true)
	how.Flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC
	fd, err := linux.OpenBeneath(t.root, dir, how)
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOENT) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, &os.PathError{Op: "open", Path: "/" + dir, Err: err}
	}
	f := os.NewFile(uintptr(fd), mount.FdPath(fd)) // a name that leads there, should the file system not tell kinds
	defer func() { _ = f.Close() }()               // only read
	for {
		entries, err := f.ReadDir(1024)
		for _, e := range entries {
			switch {
			case e.IsDir():
				below = append(below, path.Join(dir, e.Name()))
			case e.Type()&os.ModeNamedPipe != 0:
				pipes = append(pipes, path.Join(dir, e.Name()))
			}
		}
		if errors.Is(err, io.EOF) {
			return below, pipes, nil
		}
		if err != nil {
			return nil, nil, err
		}
	}
}

// coverFile mounts a file over another one.
func (t tree) coverFile(file int, over string) error {
	at, err := linux.OpenBeneath(t.root, over, how(true))
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(at) }()
	fd, err := mount.Clone(file)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	if err := mount.ReadOnly(fd); err != nil {
		return err
	}
	return move(fd, at)
}
