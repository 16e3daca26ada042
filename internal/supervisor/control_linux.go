package supervisor

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"

	"golang.org/x/sys/unix"

	"agency/internal/linux/socket"
)

// control is PID 1's end of the socket to the host.
type control struct{ fd int }

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
	var head [4]byte
	oob := make([]byte, unix.CmsgSpace(4*socket.MaxFiles))
	n, oobn, err := c.message(head[:], oob)
	if err != nil {
		return nil, err
	}
	if files, err = socket.Files(oob[:oobn]); err != nil {
		return files, err
	}
	if _, err := io.ReadFull(c, head[n:]); err != nil {
		return files, err
	}
	size := binary.LittleEndian.Uint32(head[:])
	if size > maxFrame {
		return files, fmt.Errorf("frame of %d bytes", size)
	}
	b := make([]byte, size)
	if _, err := io.ReadFull(c, b); err != nil {
		return files, err
	}
	return files, json.Unmarshal(b, v)
}

func (c *control) message(p, oob []byte) (n, oobn int, err error) {
	for {
		n, oobn, _, _, err = unix.Recvmsg(c.fd, p, oob, unix.MSG_CMSG_CLOEXEC)
		switch {
		case err == unix.EINTR:
		case err == nil && n == 0:
			return 0, 0, io.EOF
		default:
			return n, oobn, err
		}
	}
}

func (c *control) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	n, _, err := c.message(p, nil)
	return n, err
}

func (c *control) Write(p []byte) (int, error) {
	for done := 0; done < len(p); {
		n, err := unix.Write(c.fd, p[done:])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return done, err
		}
		done += n
	}
	return len(p), nil
}
