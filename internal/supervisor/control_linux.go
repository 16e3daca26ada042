package supervisor

import (
	"io"
	"os"

	"golang.org/x/sys/unix"

	"agency/internal/linux/socket"
)

// control is PID 1's end of the socket to the host.
type control struct {
	*os.File
	files []int // that came with what was read
}

// incoming is a request with its streams.
type incoming struct {
	request Request
	files   []int
}

// close closes what is still open of the streams.
func (in *incoming) close() {
	for _, fd := range in.files {
		_ = unix.Close(fd)
	}
	in.files = nil
}

// receive reads one frame and the files that come with it.
func (c *control) receive(v any) (files []int, err error) {
	err = ReadFrame(c, v)
	files, c.files = c.files, nil
	return files, err
}

func (c *control) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	oob := make([]byte, unix.CmsgSpace(4*socket.MaxFiles))
	for {
		n, oobn, _, _, err := unix.Recvmsg(fdControl, p, oob, unix.MSG_CMSG_CLOEXEC)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		}
		files, err := socket.Files(oob[:oobn])
		c.files = append(c.files, files...)
		if err != nil {
			return 0, err
		}
		return n, nil
	}
}
