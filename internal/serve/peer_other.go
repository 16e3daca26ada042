//go:build !linux && !darwin

package serve

import (
	"net"
	"os"
)

// peerUID trusts the folder of the socket where the system tells no peer.
func peerUID(net.Conn) (int, error) { return os.Getuid(), nil }
