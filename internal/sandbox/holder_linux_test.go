package sandbox

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// holders hold what is small and of which there may be much, in one process: many
// would have enough memory of their own.
func holders() map[string]func() error {
	return map[string]func() error{
		"empty sockets": func() error { return untilRefused(emptySocket) },
		"watches":       holdWatches,
		"locks":         holdLocks,
		"removed files": func() error { return untilRefused(removedFile) },
		"semaphores":    func() error { return untilRefused(semaphoreSet) },
		"netlink":       func() error { return untilRefused(unreadAnswers) },
		"empty pipes": func() error {
			for range 1000 {
				var p [2]int
				if err := unix.Pipe2(p[:], 0); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// hold holds it and stays.
func hold(a []string) error {
	if err := holders()[a[0]](); err != nil {
		fmt.Println(a[0], err)
	}
	stay()
	return nil
}

func emptySocket(n int) error {
	if n == 9000 {
		stay() // the runtime needs some files
	}
	_, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	return err
}

func untilRefused(take func(n int) error) error {
	for n := 0; ; n++ {
		if err := take(n); err != nil {
			return fmt.Errorf("%d: %w", n, err)
		}
	}
}

func holdWatches() error {
	var watched [1500]int
	for i := range watched {
		var err error
		if watched[i], err = unix.Eventfd(0, 0); err != nil {
			return err
		}
	}
	return untilRefused(func(int) error {
		e, err := unix.EpollCreate1(0)
		if err != nil {
			return err
		}
		for _, fd := range watched {
			if err := unix.EpollCtl(e, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN}); err != nil {
				return err
			}
		}
		return nil
	})
}

// ownFile opens a file of its own.
func ownFile() (*os.File, error) { return os.CreateTemp(".", ".held-") }

// lockedFile has a file with many locks; more in one take the kernel long.
func lockedFile(int) (*os.File, error) {
	f, err := ownFile()
	for n := 0; n < 1000 && err == nil; n++ {
		err = unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK, Start: int64(2 * n), Len: 1})
	}
	return f, err
}

func holdLocks() error {
	var held []*os.File
	return untilRefused(func(n int) error {
		f, err := lockedFile(n)
		if held = append(held, f); len(held) == 1000 {
			stay()
		}
		return err
	})
}

func removedFile(int) error {
	f, err := ownFile()
	if err != nil {
		return err
	}
	_, err = unix.Dup(int(f.Fd()))
	return errors.Join(err, os.Remove(f.Name()), f.Close())
}

func semaphoreSet(int) error {
	_, _, e := unix.Syscall(unix.SYS_SEMGET, unix.IPC_PRIVATE, 32000, unix.IPC_CREAT|0o600)
	if e != 0 {
		return e
	}
	return nil
}

// unreadAnswers asks the kernel until there is no room for answers.
func unreadAnswers(int) error {
	s, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_NONBLOCK, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	ask := make([]byte, unix.SizeofNlMsghdr)
	ask[0], ask[4], ask[6] = unix.SizeofNlMsghdr, unix.NLMSG_MIN_TYPE-1, unix.NLM_F_REQUEST|unix.NLM_F_ACK
	for range 1000 {
		if err := unix.Sendto(s, ask, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
			return nil
		}
	}
	return nil
}
