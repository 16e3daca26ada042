package native

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agency/internal/bounded/boundedtest"
	"agency/internal/budget"
	"agency/internal/tool"
)

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
	tools, err := k.Toolset(t.Context(), spec())
	must(t, err)
	defer func() { _ = tools.Files.Close() }() // only a folder's handle
	_, err = tools.Tree.Snapshot(t.Context())
	must(t, err)
	env := k.toolEnv(tools)
	env.Redact = func(b []byte) []byte { return bytes.Clone(b) }
	for _, tc := range []struct{ name, args, want string }{
		{"get_git_diff", `{}`, "[cut: the diff has more than 1024 KB; narrow it by path"},
		{"get_git_diff", `{"path":"part-c.log"}`, "[cut: the diff has more"},
		{"get_git_diff", `{"path":"build.log"}`, "Binary files /dev/null and b/build.log differ"},
		{"check_file_sizes", `{}`, "build.log"},
		{"read_file", `{"path":"build.log"}`, "is huge"},
		{"search_files", `{"pattern":"nowhere"}`, "21 files were not searched"},
		{"run_command", `{"command":"cat build.log"}`, "are too long to show"},
		{"list_directory", `{"path":"."}`, "build.log"},
	} {
		var res tool.Result
		grew, _ := boundedtest.Cost(100*time.Millisecond, func() {
			res, err = toolNamed(tc.name).Run(t.Context(), env, []byte(tc.args))
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
