package session

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"agency/internal/budget"
	"agency/internal/tool"
)

// peak runs fn and gives how much more memory the process held at a time than
// before.
func peak(fn func()) int64 {
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	var most atomic.Int64
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most.Store(max(most.Load(), int64(m.HeapAlloc)-int64(before.HeapAlloc)))
			select {
			case <-stop:
				return
			case <-tick.C:
			}
		}
	}()
	fn()
	close(stop)
	<-done
	return most.Load()
}

// What an agent makes may have any size; what the host holds of it has not: one
// log of 500 MB, and many files whose sum is as large.
func TestHugeFilesCostLittleMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("writes a gigabyte")
	}
	k := newKit(t, budget.Limits{})
	w, err := k.workspace(t.Context(), spec())
	must(t, err)
	line := []byte(strings.Repeat("a line of a log that goes on and on\n", 1<<15))
	write := func(name string, size int) {
		f, err := os.Create(filepath.Join(w.Path(), name))
		must(t, err)
		for n := 0; n < size; n += len(line) {
			_, err := f.Write(line)
			must(t, err)
		}
		must(t, f.Close())
	}
	const all = 500 << 20
	write("build.log", all)
	for i := range 20 {
		write("part-"+string(rune('a'+i))+".log", all/20)
	}
	desk, err := k.Desk(t.Context(), spec())
	must(t, err)
	defer func() { _ = desk.Files.Close() }() // only a folder's handle
	_, err = desk.Tree.Snapshot(t.Context())
	must(t, err)
	env := &tool.Env{Files: desk.Files, Commands: desk.Commands, History: desk.History, Redact: func(b []byte) []byte { return bytes.Clone(b) }}
	for _, tc := range []struct{ name, args, want string }{
		{"get_git_diff", `{}`, "[cut: the diff has more than 1024 KB; narrow it by path"},
		{"get_git_diff", `{"path":"part-c.log"}`, "[cut: the diff has more"},
		{"get_git_diff", `{"path":"build.log"}`, "Binary files /dev/null and b/build.log differ"},
		{"check_file_sizes", `{}`, "build.log"},
		{"read_file", `{"path":"build.log"}`, "is huge"},
		{"search_files", `{"pattern":"nowhere"}`, "21 files were not searched"},
		{"run_command", `{"command":"cat build.log"}`, "left out"},
		{"list_directory", `{"path":"."}`, "build.log"},
	} {
		var res tool.Result
		grew := peak(func() {
			res, err = tool.Named([]string{tc.name})[0].Run(t.Context(), env, []byte(tc.args))
		})
		must(t, err)
		if !strings.Contains(res.Text, tc.want) {
			t.Errorf("%s %s: %.300s ... %.100s", tc.name, tc.args, res.Text, res.Text[max(0, len(res.Text)-100):])
		}
		if grew > 20<<20 {
			t.Errorf("%s %s costs %d MB", tc.name, tc.args, grew>>20)
		}
	}
}
