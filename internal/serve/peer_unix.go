//go:build linux || darwin

package serve

import (
	"fmt"
	"net"
)

// peerUID asks the system who is at the other end.
func peerUID(c net.Conn) (uid int, err error) {
	uc, ok := c.(*net.UnixConn)
	if !ok {
		return -1, fmt.Errorf("%T is no unix connection", c)
	}
	raw, err := uc.SyscallConn()
	if err != nil {
		return -1, err
	}
	var cerr error
	if err := raw.Control(func(fd uintptr) { uid, cerr = credentials(int(fd)) }); err != nil {
		return -1, err
	}
	return uid, cerr
}
