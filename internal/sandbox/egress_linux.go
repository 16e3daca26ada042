package sandbox

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"agency/internal/linux/socket"
	"agency/internal/supervisor"
)

// The sandbox has no network; what its commands say to the loopback address
// below is carried to the host's proxy connection by connection: PID 1 makes a
// pair of sockets for each, and hands one over through the channel that came
// with the request.

// proxyEnv tells programs of it in the spellings that they read.
func proxyEnv(port int) []string {
	var env []string
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"} {
		env = append(env, name+"=http://"+proxyHost+":"+strconv.Itoa(port))
	}
	return append(env, "NO_PROXY=localhost,127.0.0.1,::1", "no_proxy=localhost,127.0.0.1,::1")
}

// openChannel starts the way out of one command; the file goes with the request.
// end closes all of it.
func openChannel(egress Outlet) (theirs *os.File, end func(), err error) {
	ours, theirs, err := socket.Pair()
	if err != nil {
		return nil, nil, err
	}
	served := egress.Serve(ours.ReceiveFile)
	return theirs, func() {
		_ = ours.Close()
		served()
	}, nil
}

// openListener is openChannel in the landlock tier, where the command's loopback
// address is the host's.
func openListener(egress Outlet, listener *socket.Socket) (end func()) {
	served := egress.Serve(func() (*os.File, error) {
		for {
			c, err := listener.Accept()
			if err == nil {
				return c.File, nil
			}
			if !errors.Is(err, unix.ECONNABORTED) {
				return nil, err
			}
		}
	})
	return func() {
		_ = listener.Close()
		served()
	}
}

func proxyOf(s Spec) []string {
	if len(s.Hosts) == 0 {
		return nil
	}
	return proxyEnv(supervisor.ProxyPort)
}
