package sandbox

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"agency/internal/agency"
	"agency/internal/linux/escape"
	"agency/internal/race"
	"agency/internal/supervisor"
)

// TestAttempts makes every attempt that doctor makes, all in one process of
// either form, and where overlays are refused.
func TestAttempts(t *testing.T) {
	each := func(t *testing.T, r *Runner) {
		w := newWorkspace(t).probing(TierFull)
		res := run(t, r, w.spec)
		if through := everyAttempt(t, r, res); len(through) > 0 {
			t.Errorf("got through: %q", through)
		}
	}
	eachForm(t, each)
	t.Run("without overlays", func(t *testing.T) { each(t, unsealed(t)) })
}

// TestProbe has doctor's own look at the machine.
func TestProbe(t *testing.T) {
	full(t, Options{})
	rep := Probe(testContext(), Options{Mode: ModeFull})
	if rep.Err != nil || rep.Tier != TierFull || !rep.Seccomp || len(rep.Attempts) != len(supervisor.Attempts()) {
		t.Fatalf("%+v", rep)
	}
}

// TestProbeOfADeepFolder probes where the names of sockets would be too long.
func TestProbeOfADeepFolder(t *testing.T) {
	full(t, Options{})
	deep := filepath.Join(t.TempDir(), strings.Repeat("d", escape.LongestSocket))
	if err := os.Mkdir(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", deep)
	if rep := Probe(testContext(), Options{Mode: ModeFull}); rep.Err != nil || len(rep.Attempts) != len(supervisor.Attempts()) {
		t.Fatalf("%+v", rep)
	}
}

// TestAttemptsGetThrough makes the same attempts without a sandbox: a test of
// the attackers, who must be able to tell an open door from a closed one.
func TestAttemptsGetThrough(t *testing.T) {
	if race.Enabled {
		t.Skip("processes without a runner")
	}
	for _, name := range []string{
		"trace a process", "keep a capability", "make a set-user-id file", "start userfaultfd",
		"limit the supervisor", "slow the supervisor down", "slow down all that is the user's", "share memory with the machine",
		"take the machine's semaphores", "hide from who counts", "take off the supervisor's mark", "hold the user's room in pipes", "keep huge pages",
		"open a socket whose memory no list tells", "give a socket a program",
	} {
		if name == "start userfaultfd" && os.Getuid() != 0 {
			continue
		}
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(self, attemptArg, name).CombinedOutput()
		if err != nil || string(out) != "through\n" {
			t.Errorf("%s: %s %v", name, out, err)
		}
	}
}

func TestStatusInside(t *testing.T) {
	res := shell(t, "cat /proc/self/status")
	for _, want := range []string{
		"CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "CapAmb:\t0000000000000000",
		"NoNewPrivs:\t1", "Seccomp:\t2",
	} {
		if !strings.Contains(string(res.Output), want+"\n") {
			t.Errorf("no %q in\n%s", want, res.Output)
		}
	}
}

func TestReadHome(t *testing.T) {
	w := newWorkspace(t)
	secret := w.write("home/.ssh/id_ed25519", "secret")
	attack(t, "read", secret)
	attack(t, "list", filepath.Dir(secret))
	if dir, err := os.UserHomeDir(); err == nil {
		attack(t, "list", dir)
		attack(t, "read", filepath.Join(dir, ".ssh", "id_rsa"))
	}
}

func TestReadShadow(t *testing.T) { attack(t, "read", "/etc/shadow") }

func TestWriteOutside(t *testing.T) {
	w := newWorkspace(t)
	victim := w.write("victim", "mine")
	attack(t, "write", victim)
	attack(t, "write", "/usr/bin/agency-escape")
	attack(t, "write", at+"/../agency-escape")
	attack(t, "write", "/agency-escape")
	attack(t, "write", "/etc/passwd")
	attack(t, "write", "/proc/sysrq-trigger")
	if b, err := os.ReadFile(victim); err != nil || string(b) != "mine" {
		t.Fatalf("%s %v", b, err)
	}
}

func TestWriteThroughLink(t *testing.T) {
	w := newWorkspace(t)
	victim := w.write("victim", "mine")
	w.spec.Argv = []string{attackerAt, attackerArg, "write", at + "/link"}
	if err := os.Symlink(victim, filepath.Join(w.spec.Place.Root, "link")); err != nil {
		t.Fatal(err)
	}
	eachForm(t, func(t *testing.T, r *Runner) { wantStopped(t, run(t, r, w.spec)) })
	w.spec.Argv = []string{attackerAt, attackerArg, "hard link", "/etc/services", at + "/linked"}
	eachForm(t, func(t *testing.T, r *Runner) { wantStopped(t, run(t, r, w.spec)) })
	if b, err := os.ReadFile(victim); err != nil || string(b) != "mine" {
		t.Fatalf("%s %v", b, err)
	}
}

// TestMountPointLink plants a link where the sandbox mounts inside the
// repository: it must not make the sandbox write, or mount, somewhere else.
func TestMountPointLink(t *testing.T) {
	w := newWorkspace(t, "/bin/true")
	victim := filepath.Join(w.dir, "elsewhere")
	if err := os.Mkdir(victim, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, filepath.Join(w.spec.Place.Root, ".git")); err != nil {
		t.Fatal(err)
	}
	if _, err := full(t, Options{}).Run(testContext(), w.spec); err == nil {
		t.Fatal("a link in place of .git was accepted")
	}
}

func TestHostGitDir(t *testing.T) {
	w := newWorkspace(t)
	r := full(t, Options{})
	gitDir, objects := filepath.Join(w.dir, "throw-away"), filepath.Join(w.dir, "objects")
	hook := w.write("host.git/hooks/pre-commit", "#!/bin/sh\n")
	w.write("throw-away/HEAD", "ref: refs/heads/x\n")
	w.write("objects/aa/bb", "object")
	w.spec.Place.GitDir, w.spec.Place.Objects = gitDir, []string{objects}
	for _, argv := range [][]string{
		{"write", hook},
		{"write", objects + "/aa/cc"},
		{"write", objects + "/aa/bb"},
		{"rename", at + "/.git", at + "/moved"},
		{"remove", at + "/.git"},
	} {
		w.spec.Argv = append([]string{attackerAt, attackerArg}, argv...)
		if res := run(t, r, w.spec); res.ExitCode != 0 {
			t.Errorf("%v: %s", argv, res.Output)
		}
	}
	w.spec.Argv = []string{"/bin/sh", "-c", "mkdir -p .git/hooks && echo evil > .git/hooks/pre-commit && cat " + objects + "/aa/bb"}
	if res := run(t, r, w.spec); res.ExitCode != 0 || printed(res) != "object" {
		t.Fatalf("%d %s", res.ExitCode, res.Output)
	}
	if b, err := os.ReadFile(hook); err != nil || string(b) != "#!/bin/sh\n" {
		t.Fatalf("hook: %s %v", b, err)
	}
	if left, err := os.ReadDir(filepath.Join(w.spec.Place.Root, ".git")); err != nil || len(left) != 0 {
		t.Fatalf("mount point: %v %v", left, err)
	}
}

// TestNoGitDir wants an empty folder there that nothing can fill.
func TestNoGitDir(t *testing.T) {
	attack(t, "write", at+"/.git/config")
	attack(t, "rename", at+"/.git", at+"/moved")
}

func TestPathnameSocket(t *testing.T) {
	dirs := []string{t.TempDir(), "/tmp", "/run"}
	for _, dir := range dirs {
		path := filepath.Join(dir, fmt.Sprintf("agency-test-%d.sock", os.Getpid()))
		l, err := net.Listen("unix", path)
		if err != nil {
			continue // not ours to write
		}
		attack(t, "dial", "unix", path)
		_ = l.Close()
	}
}

func TestAbstractSocket(t *testing.T) {
	l, err := net.Listen("unix", fmt.Sprintf("@agency-test-%d", os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	attack(t, "dial", "unix", l.Addr().String())
}

func TestHostLoopback(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	attack(t, "dial", "tcp", l.Addr().String())
	p, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	attack(t, "datagram", p.LocalAddr().String())
	// Our own comes after whatever arrived before.
	own, err := net.Dial("udp", p.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = own.Close() }()
	if _, err := own.Write([]byte("own")); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 64)
	if n, _, err := p.ReadFrom(b); err != nil || string(b[:n]) != "own" {
		t.Fatalf("%q arrived, %v", b[:n], err)
	}
}

func TestHostEnvironment(t *testing.T) {
	const canary = "canary-51c1f2"
	t.Setenv("OPENAI_API_KEY", canary)
	res := shell(t, "env; set; cat /proc/*/environ 2>/dev/null; true")
	if strings.Contains(string(res.Output), canary) {
		t.Fatalf("%s", res.Output)
	}
}

func TestHostProcesses(t *testing.T) {
	res := shell(t, `cd /proc; for p in [0-9]*; do echo $p; done`)
	if n := len(strings.Fields(printed(res))); n > 2 {
		t.Fatalf("sees %d processes:\n%s", n, res.Output)
	}
}

func TestOpenFilesOfHost(t *testing.T) {
	w := newWorkspace(t)
	fd, err := unix.Open(w.write("secret", "x"), unix.O_RDWR, 0) // without close-on-exec
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(fd) }()
	res := shell(t, "ls /proc/$$/fd; true")
	if got := strings.Fields(printed(res)); !slices.Equal(got, []string{"0", "1", "2"}) {
		t.Fatalf("open inside: %v", got)
	}
}

func TestDevices(t *testing.T) {
	res := shell(t, "cd /dev; echo *")
	if want := "fd full null ptmx pts random shm stderr stdin stdout tty urandom zero"; printed(res) != want {
		t.Errorf("/dev: %s", printed(res))
	}
	for _, d := range []string{"/dev/mem", "/dev/kmsg", "/dev/vda", "/dev/sda", "/dev/kvm", "/dev/fuse"} {
		attack(t, "read", d)
	}
}

// TestDeviceNodes changes nothing about a device, not even to what it is, and
// still writes to it.
func TestDeviceNodes(t *testing.T) {
	res := shell(t, `for d in null zero full random urandom tty; do
		chmod 666 /dev/$d 2>/dev/null && echo mode of $d
		touch -m -r /dev/$d /dev/$d 2>/dev/null && echo times of $d
	done
	echo x >/dev/null && echo x >>/dev/zero && head -c 2 /dev/zero | wc -c`)
	if got := strings.TrimSpace(printed(res)); got != "2" {
		t.Errorf("got through or broken: %s", got)
	}
}

// holdPipe makes a shell open the pipe in its folder, and a daemon with a
// session of its own open it too.
const holdPipe = `exec 3>pipe; setsid sh -c 'setsid sh -c "echo daemon >&3; exec sleep 1000" & echo child >&3' & wait; echo ready >&3`

// pipe makes a pipe in the checkout; reading it to the end tells that no
// process of the sandbox is left, because each would hold it open.
func (w *workspace) pipe() string {
	w.t.Helper()
	path := filepath.Join(w.spec.Place.Root, "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

func TestOrphans(t *testing.T) {
	w := newWorkspace(t, "/bin/sh", "-c", holdPipe)
	path, r := w.pipe(), full(t, Options{})
	read := make(chan string, 1)
	go func() {
		b, err := os.ReadFile(path)
		read <- fmt.Sprint(string(b), err)
	}()
	wantCause(t, run(t, r, w.spec), CauseExited)
	if got := <-read; !strings.Contains(got, "ready") || !strings.HasSuffix(got, "<nil>") {
		t.Fatal(got)
	}
}

func TestHostKilled(t *testing.T) {
	full(t, Options{})
	hostKilled(t, string(ModeFull))
}

func hostKilled(t *testing.T, mode string) {
	t.Helper()
	w := newWorkspace(t)
	path := w.pipe()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, hostArg, w.dir, mode, holdPipe+"; sleep 1000")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path) // waits for the writer inside
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	readUntil(t, f, "ready")
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if _, err := io.ReadAll(f); err != nil { // the end comes when all are dead
		t.Fatal(err)
	}
}

func readUntil(t *testing.T, r io.Reader, want string) {
	t.Helper()
	var got strings.Builder
	b := make([]byte, 256)
	for !strings.Contains(got.String(), want) {
		n, err := r.Read(b)
		got.Write(b[:n])
		if err != nil {
			t.Fatalf("%q then %v", got.String(), err)
		}
	}
}

// TestControlEnds closes the pipe to PID 1 and does nothing else: that alone
// must end the tree, should the parent-death signal be lost.
func TestControlEnds(t *testing.T) {
	full(t, Options{})
	w := newWorkspace(t, "/bin/sh", "-c", holdPipe+"; sleep 1000")
	path := w.pipe()
	w.spec.Limits = w.spec.Limits.orDefault()
	p, err := makePlan(w.spec, agency.Sight{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := openBox(context.Background(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	st, err := openStreams(ends{out: newOutput(Spec{Limits: Limits{OutputKB: 64}})})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.send(makeRequest(w.spec, p, nil), st.theirs); err != nil {
		t.Fatal(err)
	}
	st.handOver()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	readUntil(t, f, "ready")
	if err := b.conn.Close(); err != nil {
		t.Fatal(err)
	}
	<-b.dead
	st.wait()
	if _, err := io.ReadAll(f); err != nil {
		t.Fatal(err)
	}
}
