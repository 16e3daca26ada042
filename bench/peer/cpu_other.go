//go:build !unix

package peer

import "time"

// CPU is not known here.
func CPU() time.Duration { return 0 }
