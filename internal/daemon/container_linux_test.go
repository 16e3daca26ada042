package daemon

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/api"
)

// A host in another container holds the lock of a state folder that both see:
// whoever comes is told who it is and what to do, and starts nothing.
func TestLockOfAnotherContainerIsNamed(t *testing.T) {
	if file := os.Getenv("DAEMON_HOLD_LOCK"); file != "" {
		l, err := takeLock(file, self(api.Build{Version: "other"}, time.Now()))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = os.Stdout.WriteString("held\n")
		_, _ = io.Copy(io.Discard, os.Stdin) // until the other end is closed
		if err := l.release(); err != nil {
			t.Fatal(err)
		}
		return
	}
	p := claim(t)
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "-test.run=^TestLockOfAnotherContainerIsNamed$")
	cmd.Env = append(os.Environ(), "DAEMON_HOLD_LOCK="+p.LockFile())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skipf("no process namespace here: %v", err)
	}
	defer func() {
		_ = in.Close()
		_ = cmd.Wait()
	}()
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatal(line, err)
	}
	_, err = Connect(t.Context(), options(p), Want{})
	if agency.KindOf(err) != agency.KindTransient || !strings.Contains(err.Error(), "in another container") || !strings.Contains(err.Error(), p.State) ||
		!strings.Contains(agency.MendOf(err), "XDG_STATE_HOME") {
		t.Errorf("got %v; %s", err, agency.MendOf(err))
	}
	if _, err := Await(t.Context(), p); !api.Unreachable(err) {
		t.Errorf("one who looks waits for it: %v", err)
	}
}
