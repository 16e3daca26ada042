package cgroup

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"agency/internal/linux"
)

// TestCgroupFolders reads what three kinds of machine say.
func TestCgroupFolders(t *testing.T) {
	const v1 = `36 25 0:31 / /sys/fs/cgroup/memory rw shared:1 - cgroup cgroup rw,memory
37 25 0:32 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids
38 25 0:33 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
`
	const v2 = "30 25 0:27 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
	for _, c := range []struct{ name, mounts, own, memory string }{
		{"v1", v1, "4:memory:/a/b\n8:pids:/\n0::/\n", "/sys/fs/cgroup/memory/a/b"},
		{"v2", v2, "0::/user.slice/app.scope\n", "/sys/fs/cgroup/user.slice /sys/fs/cgroup"},
		{
			"v2 of a user's manager", v2, "0::/user.slice/user@1.service/app.slice/x.scope\n",
			"/sys/fs/cgroup/user.slice/user@1.service/app.slice /sys/fs/cgroup/user.slice/user@1.service /sys/fs/cgroup/user.slice /sys/fs/cgroup",
		},
		{"v2 at its root", v2, "0::/\n", "/sys/fs/cgroup"},
		{"none", "", "", ""},
	} {
		var got []string
		for _, h := range cgroupFolders(c.mounts, c.own) {
			got = append(got, h.roots["memory"])
		}
		if strings.Join(got, " ") != c.memory {
			t.Errorf("%s: %v, want %s", c.name, got, c.memory)
		}
	}
}

// TestGroupOfDeadHost ends what is in a group that nobody holds any more, and
// touches none that is held.
func TestGroupOfDeadHost(t *testing.T) {
	h := Find()
	if h == nil {
		t.Skip("needs a writable control group")
	}
	defer h.Close()
	g := h.Open(Walls{MemoryMB: 2048, Tasks: 512})
	sleeper := exec.Command("sleep", "1000")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	for _, dir := range g.Dirs {
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(sleeper.Process.Pid)), 0); err != nil {
			t.Fatal(err)
		}
	}
	if other := Find(); other == nil || sleeper.Process.Signal(syscall.Signal(0)) != nil || !linux.Runs(linux.StatFields(statOf(t, sleeper.Process.Pid))) {
		t.Fatal("a process of a host that lives was ended")
	}
	for _, f := range g.held { // as the end of a process would
		_ = f.Close()
	}
	ended := make(chan error)
	go func() { ended <- sleeper.Wait() }()
	Find()
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "killed") {
		t.Error(err)
	}
	for _, dir := range g.Dirs {
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", dir, err)
		}
	}
}

func statOf(t *testing.T, pid int) []byte {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Two runners of one process have groups of their own: what one gives back the
// other still holds, with its limits.
func TestRunnersShareNoGroup(t *testing.T) {
	one, two := Find(), Find()
	if one == nil || two == nil {
		t.Skip("needs a writable control group")
	}
	g, other := one.Open(Walls{MemoryMB: 2048, Tasks: 512}), two.Open(Walls{MemoryMB: 2048, Tasks: 512})
	if g == nil || other == nil || g.Dirs["memory"] == other.Dirs["memory"] {
		t.Fatalf("groups %+v %+v", g, other)
	}
	other.Close()
	two.Close()
	if _, err := os.Stat(g.Dirs["memory"]); err != nil {
		t.Error(err)
	}
	g.Close()
	one.Close()
}
