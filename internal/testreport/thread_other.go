//go:build !linux

package testreport

import "time"

// ThreadTime stands in for the processor's time, which is not asked for here.
func ThreadTime() time.Duration { return wallTime() }
