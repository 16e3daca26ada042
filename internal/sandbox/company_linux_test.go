package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"agency/internal/linux"
	"agency/internal/linux/landlock"
)

// port is where the servers of these tests listen, in a network that is theirs.
const port = "127.0.0.1:4242"

// threading has so many threads, for ever.
func threading(args []string) error {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	var begun sync.WaitGroup
	for range n {
		begun.Add(1)
		go func() {
			runtime.LockOSThread()
			begun.Done()
			select {} // until it is killed
		}()
	}
	begun.Wait()
	fmt.Println("begun")
	return unix.Pause()
}

// serving answers each connection, for ever.
func serving() error {
	l, err := net.Listen("tcp", port)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		_, _ = io.WriteString(c, "hello\n")
		_ = c.Close()
	}
}

// giveFolder hands the working folder, which it can write, to takeFolder.
func giveFolder() error {
	l, err := net.Listen("unix", "sock")
	if err != nil {
		return err
	}
	if err := dialed("tcp", port); err != nil { // it may come now
		return err
	}
	c, err := l.Accept()
	if err != nil {
		return err
	}
	folder, err := os.Open(".")
	if err != nil {
		return err
	}
	u, ok := c.(*net.UnixConn)
	if !ok {
		return errors.New("no such socket")
	}
	if _, _, err := u.WriteMsgUnix([]byte("f"), unix.UnixRights(int(folder.Fd())), nil); err != nil {
		return err
	}
	answer, err := io.ReadAll(c)
	fmt.Printf("%s\n", answer)
	return errors.Join(err, errors.New("handed over"))
}

// takeFolder makes files in what it is given, by each way.
func takeFolder() error {
	l, err := net.Listen("tcp", port)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	if _, err := l.Accept(); err != nil {
		return err
	}
	c, err := net.Dial("unix", "sock")
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	u, ok := c.(*net.UnixConn)
	if !ok {
		return errors.New("no such socket")
	}
	oob := make([]byte, unix.CmsgSpace(4))
	if _, _, _, _, err := u.ReadMsgUnix(make([]byte, 1), oob); err != nil {
		return err
	}
	m, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return err
	}
	fds, err := unix.ParseUnixRights(&m[0])
	if err != nil {
		return err
	}
	_, made := unix.Openat(fds[0], "made", unix.O_CREAT|unix.O_WRONLY, 0o600)
	_, err = fmt.Fprintln(c, "write:", made, "folder:", unix.Mkdirat(fds[0], "dir", 0o700), "link:", unix.Symlinkat("/", fds[0], "link"),
		"remove:", unix.Unlinkat(fds[0], "sock", 0))
	return err
}

// onGoing is a command that goes on; wait waits for its end.
type onGoing struct {
	stop context.CancelFunc
	done chan struct{}
	res  Result
	err  error
	said *heard
}

// heard hears what a command writes.
type heard struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
}

func (h *heard) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case h.more <- struct{}{}:
	default:
	}
	return h.text.Write(p)
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}

// goOn starts a command that goes on, and waits until it says a word.
func goOn(t *testing.T, r *Runner, c *Company, s Spec, word string) *onGoing {
	t.Helper()
	ctx, stop := context.WithCancel(testContext())
	g := &onGoing{stop: stop, done: make(chan struct{}), said: &heard{more: make(chan struct{}, 1)}}
	begun := make(chan struct{})
	s.Beside, s.Both, s.Begun = c, g.said, func() { close(begun) }
	go func() {
		g.res, g.err = r.Run(ctx, s)
		close(g.done)
	}()
	t.Cleanup(func() { g.wait(t) })
	for has := false; !has || !strings.Contains(g.said.String(), word); {
		select {
		case <-begun:
			begun, has = nil, true
		case <-g.said.more:
		case <-g.done:
			t.Fatalf("it has ended: %v, %s %d\n%s", g.err, g.res.Cause, g.res.ExitCode, g.res.Output)
		}
	}
	return g
}

// wait ends it.
func (g *onGoing) wait(t *testing.T) Result {
	t.Helper()
	g.stop()
	<-g.done
	if g.err != nil {
		t.Error(g.err)
	}
	return g.res
}

// company gives a runner whose sandboxes a census knows, with control groups and without.
func company(t *testing.T, each func(t *testing.T, r *Runner, census *Census)) {
	if landlock.InForce() == 0 {
		t.Skip("needs Landlock")
	}
	for _, name := range []string{"grouped", "counted"} {
		t.Run(name, func(t *testing.T) {
			census := NewCensus()
			r := fullOf(t, Options{Census: census})
			if name == "counted" {
				r.machine = newMachine(nil, time.Minute, census)
			}
			t.Cleanup(func() {
				if n := len(boxesOf(census)); n > len(r.machine.pool.kept) {
					t.Errorf("%d sandboxes are left, %d wait", n, len(r.machine.pool.kept))
				}
			})
			each(t, r, census)
		})
	}
}

func dial(w *workspace) Spec {
	s := w.spec
	s.Argv = []string{attackerAt, attackerArg, "dial", "tcp", port}
	return s
}

func reaches(t *testing.T, r *Runner, s Spec) bool {
	t.Helper()
	res, err := r.Run(testContext(), s)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(printed(res), "got through")
}

// A server that goes on is reached by the later commands of its company, one after the
// other, and by nobody else; it sees what they write, and writes nothing there itself.
func TestCompany(t *testing.T) {
	company(t, func(t *testing.T, r *Runner, census *Census) {
		w := newWorkspace(t, attackerAt, attackerArg, "serve")
		c := &Company{}
		g := goOn(t, r, c, w.spec, "ready")
		mine := dial(w)
		if reaches(t, r, mine) {
			t.Error("a command of no company reaches it")
		}
		mine.Beside = &Company{}
		other := goOn(t, r, mine.Beside, w.spec, "ready") // at the same port
		other.wait(t)
		if reaches(t, r, mine) {
			t.Error("a command of another company reaches it")
		}
		mine.Beside = c
		for range 3 {
			if !reaches(t, r, mine) {
				t.Fatal("a command of its company does not reach it")
			}
			if err := census.Still(testContext(), w.spec.Place.Root); err != nil {
				t.Fatal(err)
			}
		}
		if res := g.wait(t); res.Cause != CauseCancelled {
			t.Errorf("%s %d %s", res.Cause, res.ExitCode, res.Output)
		}
		if c.box != nil {
			t.Error("the sandbox stays without a command")
		}
		if reaches(t, r, mine) {
			t.Error("it is reached after its end")
		}
	})
}

// What goes on cannot write the checkout, however it comes by it; what runs beside it can.
func TestCompanyLooksOn(t *testing.T) {
	company(t, func(t *testing.T, r *Runner, _ *Census) {
		w := newWorkspace(t, sh(`echo x >file; mkdir dir; ln -s / link; cat seen; echo y >/tmp/own && cat /tmp/own; echo z >.git/z; echo end; exec sleep 1000`)...)
		w.write("tree/seen", "seen\n")
		w.spec.Place.GitDir = filepath.Dir(w.write("git/HEAD", ""))
		c := &Company{}
		g := goOn(t, r, c, w.spec, "end")
		later := w.spec
		later.Beside, later.Argv = c, sh("echo written >file && cat file")
		if res, err := r.Run(testContext(), later); err != nil || printed(res) != "written" {
			t.Errorf("%v %s", err, res.Output)
		}
		g.wait(t)
		said := g.said.String()
		for _, want := range []string{"Read-only", "seen\n", "y\n", "end\n"} { // two streams have no order between them
			if !strings.Contains(said, want) {
				t.Errorf("no %q in %s", want, said)
			}
		}
		for _, name := range []string{"dir", "link"} {
			if _, err := os.Lstat(filepath.Join(w.spec.Place.Root, name)); err == nil {
				t.Errorf("it made %s", name)
			}
		}
	})
}

// Nor can it with a folder that is handed to it.
func TestCompanyHandedAFolder(t *testing.T) {
	company(t, func(t *testing.T, r *Runner, _ *Census) {
		w := newWorkspace(t, attackerAt, attackerArg, "take folder")
		c := &Company{}
		goOn(t, r, c, w.spec, "ready")
		w.spec.Beside, w.spec.Argv = c, []string{attackerAt, attackerArg, "give folder"}
		res, err := r.Run(testContext(), w.spec)
		const want = "write: permission denied folder: permission denied link: permission denied remove: permission denied"
		if err != nil || !strings.Contains(printed(res), want) {
			t.Errorf("%v %s", err, res.Output)
		}
	})
}

// A command that is stopped takes its daemons along, and nothing of the others.
func TestCompanyStop(t *testing.T) {
	company(t, func(t *testing.T, r *Runner, _ *Census) {
		w := newWorkspace(t, sh("trap '' TERM HUP INT; "+holdReading)...)
		path, c := w.pipe(), &Company{}
		server := w.spec
		server.Argv = []string{attackerAt, attackerArg, "serve"}
		goOn(t, r, c, server, "ready")
		f, err := os.OpenFile(path, os.O_RDWR, 0) // else the command waits for a writer
		if err != nil {
			t.Fatal(err)
		}
		g := goOn(t, r, c, w.spec, "held")
		writer, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
		g.wait(t)
		unread(t, writer)
		mine := dial(w)
		if mine.Beside = c; !reaches(t, r, mine) {
			t.Error("another was stopped with it")
		}
		// One of a moment that is cut off ends alone, too.
		ctx, cancel := context.WithTimeout(testContext(), 50*time.Millisecond)
		defer cancel()
		late := mine
		late.Argv = sh("exec sleep 1000")
		if res, err := r.Run(ctx, late); err != nil || res.Cause != CauseCancelled {
			t.Errorf("%v %s", err, res.Cause)
		}
		if !reaches(t, r, mine) {
			t.Error("it was ended with a command that was cut off")
		}
	})
}

// holdReading has a shell, and daemons of it, read the pipe in its folder: to write, what goes
// on cannot open it.
const holdReading = `exec 3<pipe; setsid sh -c 'setsid sh -c "exec sleep 1000" & exec sleep 1000' & setsid sh -c 'exec sleep 1000' & echo held; exec sleep 1000`

// unread waits until nobody reads a pipe.
func unread(t *testing.T, f *os.File) {
	t.Helper()
	defer func() { _ = f.Close() }()
	p := []unix.PollFd{{Fd: int32(f.Fd())}} // an error is always told
	for {
		n, err := unix.Poll(p, 20_000)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if n == 0 || err != nil {
			t.Errorf("a process reads on (%v)", err)
		}
		return
	}
}

// A fork bomb that goes on is ended, and with it what came after.
func TestCompanyBomb(t *testing.T) {
	company(t, func(t *testing.T, r *Runner, _ *Census) {
		w := newWorkspace(t, attackerAt, attackerArg, "serve")
		w.spec.Limits.Processes = 64
		c := &Company{}
		goOn(t, r, c, w.spec, "ready")
		bombs := w.spec
		bombs.Argv = sh("echo begun; " + bomb)
		g := goOn(t, r, c, bombs, "begun")
		<-g.done
		if g.err != nil || g.res.Cause != CauseProcesses {
			t.Errorf("%v %s %d", g.err, g.res.Cause, g.res.ExitCode)
		}
		mine := dial(w)
		if mine.Beside = c; !reaches(t, r, mine) {
			t.Error("who came before it was ended")
		}
	})
}

// Who has used up the tasks that it may have takes none from those beside it: who came
// before goes on, and who comes after begins.
func TestCompanyTasks(t *testing.T) {
	if !linux.KernelAtLeast(6, 14) {
		t.Skip("needs a wall of tasks in each namespace (Linux 6.14)")
	}
	company(t, func(t *testing.T, r *Runner, _ *Census) {
		w := newWorkspace(t, attackerAt, attackerArg, "serve")
		w.spec.Limits.Processes = 16
		c := &Company{}
		goOn(t, r, c, w.spec, "ready")
		full := w.spec
		full.Argv = []string{attackerAt, attackerArg, "threads", "400"} // of 16*8+64, and what numbers there are besides
		goOn(t, r, c, full, "begun")
		mine := dial(w)
		if mine.Beside = c; !reaches(t, r, mine) {
			t.Error("who came before it was ended")
		}
	})
}

// Memory counts together: who comes last and makes it too much is ended.
func TestCompanyMemory(t *testing.T) {
	company(t, func(t *testing.T, r *Runner, _ *Census) {
		const filled = `echo begun; exec head -c 150m /dev/zero | tail -c 150m | sleep 1000`
		w := newWorkspace(t, sh(filled)...)
		w.spec.Limits.MemoryMB = 256
		c := &Company{}
		goOn(t, r, c, w.spec, "begun")
		later := w.spec
		later.Beside, later.Argv = c, []string{attackerAt, attackerArg, "eat", "200"}
		res, err := r.Run(testContext(), later)
		if err != nil || res.Cause != CauseMemory {
			t.Errorf("%v %s %d %s", err, res.Cause, res.ExitCode, res.Output)
		}
	})
}

// Where what is shown has changed, a later command runs alone and says so, and one that
// would go on is refused.
func TestCompanySeesTheSame(t *testing.T) {
	company(t, func(t *testing.T, r *Runner, _ *Census) {
		w := newWorkspace(t, attackerAt, attackerArg, "serve")
		c := &Company{}
		goOn(t, r, c, w.spec, "ready")
		mine := dial(w)
		mine.Beside, mine.Reads = c, []Mount{{Host: t.TempDir(), At: "/srv/more"}}
		res, err := r.Run(testContext(), mine)
		if err != nil || strings.Contains(printed(res), "got through") || !strings.Contains(printed(res), "does not reach them") {
			t.Errorf("%v %s", err, res.Output)
		}
		mine.Begun = func() { t.Error("it has begun") }
		if _, err := r.Run(testContext(), mine); err == nil || !strings.Contains(err.Error(), "stop them") {
			t.Error(err)
		}
	})
}

// Who is asked whether nobody works in a folder ends the whole company while one of it can
// write there.
func TestStillEndsACompany(t *testing.T) {
	company(t, func(t *testing.T, r *Runner, census *Census) {
		w := newWorkspace(t, attackerAt, attackerArg, "serve")
		c := &Company{}
		g := goOn(t, r, c, w.spec, "ready")
		path, later := w.pipe(), w.spec
		later.Beside, later.Argv = c, sh(holdPipe+"; exec sleep 1000")
		done := make(chan error, 1)
		go func() {
			_, err := r.Run(testContext(), later)
			done <- err
		}()
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Close() }()
		readUntil(t, f, "ready")
		if err := census.Still(testContext(), w.spec.Place.Root); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(f); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		<-g.done
		if g = goOn(t, r, c, w.spec, "ready"); g.wait(t).Cause != CauseCancelled {
			t.Error("no command goes on after that")
		}
	})
}

// A host that is killed leaves nothing of a command that went on.
func TestCompanyOfAKilledHost(t *testing.T) {
	if landlock.InForce() == 0 {
		t.Skip("needs Landlock")
	}
	for _, mode := range []Mode{ModeFull, ModeLandlock} {
		t.Run(string(mode), func(t *testing.T) {
			if mode == ModeFull {
				full(t, Options{})
			}
			w := newWorkspace(t)
			path := w.pipe()
			cmd := exec.Command(self(t), companyArg, w.dir, string(mode), holdReading)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			f, err := os.OpenFile(path, os.O_WRONLY, 0) // waits for the reader inside
			if err != nil {
				t.Fatal(err)
			}
			readUntil(t, out, "held")
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			unread(t, f)
		})
	}
}

// companyArg starts the test binary as a host with a command that goes on.
const companyArg = "sandbox-company"

func hostOfCompany(dir, mode, script string) int {
	r, err := New(Options{Mode: Mode(mode)})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	_, err = r.Run(testContext(), Spec{
		Place: Place{Root: filepath.Join(dir, "tree"), At: at}, Argv: sh(script), Limits: Limits{Wall: time.Minute},
		Beside: &Company{}, Begun: func() {}, Both: os.Stdout,
	})
	fmt.Println(err)
	return 1
}
