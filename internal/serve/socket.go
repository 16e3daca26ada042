package serve

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"

	"agency/internal/agency"
)

// Listen makes the unix socket of a host, mode 0600, in a folder that nobody
// else can enter. A socket that is left there is replaced: the caller holds
// the host's lock, so nobody listens on it.
func Listen(path string) (net.Listener, error) {
	if err := CheckFolder(filepath.Dir(path)); err != nil {
		return nil, err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, agency.Errorf(agency.KindTransient, "socket %s: %w", path, err)
	}
	l, err := listenPrivate(path)
	if err != nil {
		return nil, agency.Errorf(agency.KindTransient, "socket %s: %w", path, err)
	}
	return l, nil
}

func listenPrivate(path string) (net.Listener, error) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// CheckFolder refuses a folder for sockets that is a link, that somebody else
// owns, or that somebody else can enter.
func CheckFolder(dir string) error {
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return agency.Errorf(agency.KindTransient, "folder for sockets: %w", err)
	case !info.IsDir():
		return refuse(dir, "is not a folder")
	}
	return ownFolder(dir, info)
}

func refuse(dir, why string) error {
	return agency.Errorf(agency.KindDenied, "folder for sockets %s: %s", dir, why).
		WithMend("remove it, or set XDG_RUNTIME_DIR to a folder of your own")
}

// OwnPeers accepts only connections of processes of this user; the socket's
// folder keeps others out already, this holds where it does not.
func OwnPeers(l net.Listener, log *slog.Logger) net.Listener {
	return peers{l, log, os.Getuid()}
}

type peers struct {
	net.Listener
	log *slog.Logger
	uid int
}

func (p peers) Accept() (net.Conn, error) {
	for {
		c, err := p.Listener.Accept()
		if err != nil {
			return nil, err
		}
		uid, err := peerUID(c)
		if err == nil && uid == p.uid {
			return c, nil
		}
		p.log.Warn("connection refused", "reason", fmt.Sprintf("peer uid %d: %v", uid, err))
		_ = c.Close() // it was never ours
	}
}
