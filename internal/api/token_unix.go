//go:build unix

package api

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// openOwn opens a plain file that this user owns and nobody else can read or
// write. What it looks at is what it opened: nothing can be exchanged between.
func openOwn(path string, how int) (*os.File, error) {
	f, err := os.OpenFile(path, how|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0) // a pipe would wait for its other end
	if errors.Is(err, syscall.ELOOP) {
		return nil, errors.New("it is a link")
	}
	if err != nil {
		return nil, err
	}
	if err := own(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func own(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular() || !ok:
		return errors.New("it is no plain file")
	case int(st.Uid) != os.Getuid():
		return fmt.Errorf("it belongs to user %d, not to you", st.Uid)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("others can reach it (mode %04o, want 0600)", info.Mode().Perm())
	}
	return nil
}
