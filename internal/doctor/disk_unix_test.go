//go:build unix

package doctor

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestDiskOfAnotherUser: a state folder that cannot be made is no ok. Root may
// write anywhere, so the test runs itself as another user where it is root.
func TestDiskOfAnotherUser(t *testing.T) {
	const where = "DOCTOR_TEST_DISK"
	if dir := os.Getenv(where); dir != "" || os.Geteuid() != 0 {
		if dir == "" {
			dir = t.TempDir()
			if err := os.Chmod(dir, 0o500); err != nil {
				t.Fatal(err)
			}
		}
		f := checkDisk(filepath.Join(dir, "state", "agency"))
		if f.Level != Bad || !strings.Contains(f.Detail, dir) || f.Mend == "" {
			t.Fatalf("%+v", f)
		}
		return
	}
	dir, err := os.MkdirTemp("", "d")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Skip("needs /proc: ", err)
	}
	program := filepath.Join(dir, "doctor.test")
	if err := os.WriteFile(program, self, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{program, dir} {
		if err := os.Chmod(p, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(program, "-test.run=^TestDiskOfAnotherUser$")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), where+"="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
