package daemon

import (
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// An answer that was true a moment ago does not stop the clock of a host that
// has nothing to do any more.
func TestIdleHostLeavesAfterALateAnswer(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		var i *idle
		var end sync.WaitGroup
		asked := false
		i = newIdle(time.Minute, func() int {
			if asked {
				return 0
			}
			asked = true
			end.Go(i.update) // the work ends while the answer is on its way
			for range 1000 {
				runtime.Gosched()
			}
			return 1
		})
		i.update()
		end.Wait()
		<-i.over
	})
}
