package workspace

import (
	"context"
	"errors"
	"io"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// look counts what a checkout holds, by open folders and a batch of names at a
// time, until it has seen room names or more that is too much than is told.
func (g *staging) look(ctx context.Context, room int) []excess {
	t := &tally{tracked: g.tracked, ignored: g.ignored, room: room, counts: map[string]int{}}
	root, err := openFolder(g.root)
	if err != nil {
		return nil // git tells
	}
	defer func() { _ = root.Close() }() // only looked through
	todo := []string{"."}
	for len(todo) > 0 && ctx.Err() == nil {
		dir := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		below, err := lookInto(root, dir, t)
		if errors.Is(err, errEnough) {
			break
		}
		todo = append(todo, below...)
	}
	g.broken = g.broken || t.broken
	return t.end()
}

// lookInto counts the names of one folder and gives the folders among them.
// One that is gone or closed is passed over: git tells.
func lookInto(root *os.File, dir string, t *tally) (below []string, err error) {
	f, err := openBeneath(root, dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only looked through
	fd := int(f.Fd())
	for {
		entries, rerr := f.ReadDir(1024)
		for _, e := range entries {
			size := int64(0)
			if e.Type().IsRegular() {
				var st unix.Stat_t
				if unix.Fstatat(fd, e.Name(), &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
					size = st.Size
				}
			}
			if dir == "." && e.Name() == ".git" {
				continue // ours, and looked at first
			}
			if err := t.file(dir, e.Name(), size, e.IsDir()); err != nil {
				return nil, err
			}
			if p := path.Join(dir, e.Name()); e.IsDir() && t.enters(p) {
				below = append(below, p)
			}
		}
		if errors.Is(rerr, io.EOF) {
			return below, nil
		}
		if rerr != nil {
			return below, rerr
		}
	}
}

// openBeneath opens a folder below another one, through no link.
func openBeneath(root *os.File, dir string) (*os.File, error) {
	how := unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	}
	fd, err := unix.Openat2(int(root.Fd()), dir, &how)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) { // a kernel, or a container, that does not know the call
		return openFolder(joinRoot(root.Name(), dir))
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), dir), nil
}
