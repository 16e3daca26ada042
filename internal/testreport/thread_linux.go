package testreport

import (
	"time"

	"golang.org/x/sys/unix"
)

// ThreadTime is how long the processor has worked for this thread.
func ThreadTime() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return wallTime()
	}
	return time.Duration(t.Nano())
}
