package serve

import "golang.org/x/sys/unix"

// credentials gives the user at the other end of a unix socket.
func credentials(fd int) (int, error) {
	cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return -1, err
	}
	return int(cred.Uid), nil
}
