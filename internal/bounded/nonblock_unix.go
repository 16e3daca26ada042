//go:build unix

package bounded

import (
	"os"
	"syscall"
)

// readNow opens without waiting for somebody at the other end.
const readNow = os.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOCTTY
