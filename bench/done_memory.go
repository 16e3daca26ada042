package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"
)

// watchMemory looks on at how much memory this program has in all of its other processes,
// what several of them share counted once. stop gives the most that was seen, in bytes.
func watchMemory() (stop func() int64) {
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return func() int64 { return 0 }
	}
	var most atomic.Int64
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for tick := time.NewTicker(200 * time.Millisecond); ; {
			select {
			case <-done:
				tick.Stop()
				return
			case <-tick.C:
				most.Store(max(most.Load(), shared(self)))
			}
		}
	}()
	return func() int64 {
		close(done)
		<-ended
		return most.Load()
	}
}

// shared is the memory of all processes of a program.
func shared(program string) (sum int64) {
	own := fmt.Sprintf("/proc/%d/exe", os.Getpid())
	all, _ := filepath.Glob("/proc/[0-9]*/exe") // a fixed pattern
	for _, at := range all {
		if exe, err := os.Readlink(at); err != nil || exe != program || at == own {
			continue
		}
		text, _ := os.ReadFile(filepath.Join(filepath.Dir(at), "smaps_rollup")) // it may be gone
		for line := range bytes.Lines(text) {
			var kb int64
			if _, err := fmt.Sscanf(string(line), "Pss: %d kB", &kb); err == nil {
				sum += kb << 10
			}
		}
	}
	return sum
}
