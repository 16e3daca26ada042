// Package socket has sockets that the runtime waits for, that open files are sent
// through, and that are carried from one network namespace into another. Package net
// has better ones, but it and all that it needs would prepare themselves in every
// sandbox that starts, and there is no other use for them in one.
package socket

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Socket is a socket that the runtime waits for.
type Socket struct{ *os.File }

func New(fd int) (*Socket, error) {
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return nil, os.NewSyscallError("nonblock", err)
	}
	return &Socket{os.NewFile(uintptr(fd), "sandbox")}, nil
}

// Pair makes two ends; theirs blocks, for another process.
func Pair() (ours *Socket, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	if ours, err = New(fds[0]); err != nil {
		_ = unix.Close(fds[1])
		return nil, nil, err
	}
	return ours, os.NewFile(uintptr(fds[1]), "sandbox"), nil
}

// Listen is a listening socket in the network namespace of the calling thread.
func Listen(ip [4]byte, port int) (*Socket, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	// A port that an earlier command's connections still hold is free.
	err = errors.Join(
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1),
		unix.Bind(fd, &unix.SockaddrInet4{Addr: ip, Port: port}),
		unix.Listen(fd, unix.SOMAXCONN),
	)
	if err != nil {
		_ = unix.Close(fd)
		return nil, os.NewSyscallError("listen", err)
	}
	return New(fd)
}

// Port is the one that it listens on, also while it is waited for a connection.
func (s *Socket) Port() (int, error) {
	raw, err := s.SyscallConn()
	if err != nil {
		return 0, err
	}
	var own unix.Sockaddr
	if c := raw.Control(func(fd uintptr) { own, err = unix.Getsockname(int(fd)) }); c != nil || err != nil {
		return 0, errors.Join(c, err)
	}
	in, ok := own.(*unix.SockaddrInet4)
	if !ok {
		return 0, errors.New("no socket of the internet")
	}
	return in.Port, nil
}

// wait does one system call, which reads or sends, when it does not block.
func (s *Socket) wait(sends bool, once func(fd int) error) error {
	raw, err := s.SyscallConn()
	if err != nil {
		return err
	}
	how := raw.Read
	if sends {
		how = raw.Write
	}
	waited := how(func(fd uintptr) bool {
		for {
			if err = once(int(fd)); !errors.Is(err, unix.EINTR) {
				return !errors.Is(err, unix.EAGAIN)
			}
		}
	})
	if waited != nil {
		return waited
	}
	return err
}

// Accept waits for the next connection.
func (s *Socket) Accept() (*Socket, error) {
	var got int
	if err := s.wait(false, func(fd int) (err error) {
		got, _, err = unix.Accept4(fd, unix.SOCK_CLOEXEC)
		return err
	}); err != nil {
		return nil, os.NewSyscallError("accept", err)
	}
	return New(got)
}

// SendFiles sends bytes that open files come with.
func (s *Socket) SendFiles(p []byte, files ...int) error {
	sent := 0
	err := s.wait(true, func(fd int) (err error) {
		sent, err = unix.SendmsgN(fd, p, unix.UnixRights(files...), nil, unix.MSG_NOSIGNAL)
		return err
	})
	if err != nil || sent == len(p) {
		return os.NewSyscallError("sendmsg", err)
	}
	_, err = s.Write(p[sent:])
	return err
}

// ReceiveFile waits for one open file, which comes with a byte.
func (s *Socket) ReceiveFile() (*os.File, error) {
	b, oob := make([]byte, 1), make([]byte, unix.CmsgSpace(4*MaxFiles))
	var n, oobn int
	if err := s.wait(false, func(fd int) (err error) {
		n, oobn, _, _, err = unix.Recvmsg(fd, b, oob, unix.MSG_CMSG_CLOEXEC)
		return err
	}); err != nil {
		return nil, os.NewSyscallError("recvmsg", err)
	}
	if n == 0 {
		return nil, io.EOF
	}
	files, err := Files(oob[:oobn])
	if err != nil || len(files) != 1 {
		for _, fd := range files {
			_ = unix.Close(fd)
		}
		return nil, errors.Join(err, errors.New("no connection came"))
	}
	return os.NewFile(uintptr(files[0]), "proxied"), nil
}

// CloseWrite tells the other end that nothing more comes.
func (s *Socket) CloseWrite() error {
	raw, err := s.SyscallConn()
	if err != nil {
		return err
	}
	var shut error
	if err := raw.Control(func(fd uintptr) { shut = unix.Shutdown(int(fd), unix.SHUT_WR) }); err != nil {
		return err
	}
	return shut
}

// MaxFiles are more than come with any frame.
const MaxFiles = 8

func Files(oob []byte) (files []int, err error) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, err
	}
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		files = append(files, fds...)
		if err != nil {
			return files, err
		}
	}
	return files, nil
}
