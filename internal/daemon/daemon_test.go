//go:build unix

package daemon

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/config"
	"agency/internal/git"
	"agency/internal/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Child()
	Child()
	attacker()
	os.Exit(m.Run())
}

// aRepo is a repository with folders of its own.
func aRepo(t *testing.T) (git.Location, config.Folders) {
	t.Helper()
	dir := t.TempDir()
	repo := filepath.Join(dir, "repo")
	for _, args := range [][]string{{"init", "-q", repo}, {"-C", repo, "-c", "user.name=T", "-c", "user.email=t@e", "commit", "-q", "--allow-empty", "-m", "first"}} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
	}
	loc, err := git.Find(repo)
	if err != nil {
		t.Fatal(err)
	}
	socket, err := os.MkdirTemp("", "ad")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(socket) })
	return loc, config.Folders{State: filepath.Join(dir, "state"), Cache: filepath.Join(dir, "cache"), Socket: socket}
}

func claim(t *testing.T) Place {
	t.Helper()
	loc, f := aRepo(t)
	p, err := Claim(loc, f)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestRepositoryKeepsItsID(t *testing.T) {
	loc, f := aRepo(t)
	none, err := Look(loc, f)
	if err != nil || none.ID != "" || none.Exists() {
		t.Fatalf("before any run: %+v %v", none, err)
	}
	if _, err := os.Stat(filepath.Join(loc.CommonDir, idFile)); !errors.Is(err, os.ErrNotExist) {
		t.Error("looking wrote the id")
	}
	first, err := Claim(loc, f)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Claim(loc, f)
	if err != nil || again.ID != first.ID {
		t.Errorf("second claim: %v %v", again.ID, err)
	}
	moved := loc.WorkTree + "-moved"
	if err := os.Rename(loc.WorkTree, moved); err != nil {
		t.Fatal(err)
	}
	at, err := git.Find(moved)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := Look(at, f); err != nil || p.ID != first.ID {
		t.Errorf("after a move: %v %v", p.ID, err)
	}
	copied := loc.WorkTree + "-copy"
	if out, err := exec.Command("cp", "-a", moved, copied).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	other, err := git.Find(copied)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := Look(other, f); err != nil || p.ID != "" {
		t.Errorf("a copy has the id of its original: %v %v", p.ID, err)
	}
	if p, err := Claim(other, f); err != nil || p.ID == first.ID || p.ID == "" {
		t.Errorf("a copy got %q: %v", p.ID, err)
	}
}

func TestIDIsAgreedUpon(t *testing.T) {
	loc, f := aRepo(t)
	var wg sync.WaitGroup
	ids := make([]string, 16)
	for i := range ids {
		wg.Go(func() {
			p, err := Claim(loc, f)
			if err != nil {
				t.Error(err)
			}
			ids[i] = p.ID
		})
	}
	wg.Wait()
	slices.Sort(ids)
	if ids[0] != ids[len(ids)-1] {
		t.Errorf("ids %v", ids)
	}
}

func TestCutIDIsReplaced(t *testing.T) {
	loc, f := aRepo(t)
	for _, text := range []string{"", "{", `{"id":"../../x"}`, `{"id":"ABC"}`} {
		if err := os.WriteFile(filepath.Join(loc.CommonDir, idFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if p, err := Claim(loc, f); err != nil || !idForm.MatchString(p.ID) {
			t.Errorf("%q: %q %v", text, p.ID, err)
		}
	}
}

func TestLockNamesItsHolder(t *testing.T) {
	p := claim(t)
	l, err := takeLock(p.LockFile(), self(api.Build{Version: "v"}, time.Now()))
	if err != nil {
		t.Fatal(err)
	}
	_, err = takeLock(p.LockFile(), self(api.Build{}, time.Now()))
	var held *Held
	if !errors.As(err, &held) || held.By.PID != os.Getpid() || held.By.Foreign() {
		t.Errorf("second lock: %v", err)
	}
	if err := l.release(); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := HolderOf(p); ok || err != nil {
		t.Errorf("a free lock is held: %v", err)
	}
	other := Holder{PID: 7, Machine: "elsewhere", Boot: "another"}
	if !other.Foreign() || !strings.Contains(other.String(), "elsewhere") {
		t.Errorf("holder %s", other)
	}
}

func options(p Place) Options {
	return Options{Place: p, Build: api.Build{Version: "test", Made: time.Unix(1000, 0)}, Idle: time.Minute}
}

func TestHostInThisProcess(t *testing.T) {
	p := claim(t)
	d, err := Start(t.Context(), options(p))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), options(p)); !errors.As(err, new(*Held)) {
		t.Errorf("a second host: %v", err)
	}
	c, err := greet(t.Context(), p, answerTimeout)
	if err != nil || c.Hello.PID != os.Getpid() || c.Hello.Wire != api.Wire || c.Hello.Repo != p.ID {
		t.Fatalf("hello: %+v %v", c, err)
	}
	defer c.Close()
	runs, err := c.Runs(t.Context())
	if err != nil || len(runs) != 0 {
		t.Errorf("runs: %v %v", runs, err)
	}
	d.Close()
	d.Close()
	if err := d.Err(); err != nil {
		t.Errorf("end: %v", err)
	}
	if _, err := os.Lstat(p.Socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
	if _, err := greet(t.Context(), p, answerTimeout); !api.Unreachable(err) {
		t.Errorf("after the end: %v", err)
	}
	r, done, err := LookAt(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = done() }()
	if runs, err := r.Runs(t.Context()); err != nil || len(runs) != 0 {
		t.Errorf("at rest: %v %v", runs, err)
	}
}

// ended waits until a host that another process holds is gone.
func ended(t *testing.T, p Place) {
	t.Helper()
	for range 2000 {
		if _, held, err := HolderOf(p); err == nil && !held {
			return
		}
		if err := pause(t.Context(), 5*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("the host does not end")
}

// Terminals that start at once end at one host, and it leaves when the last of
// them has gone.
func TestManyTerminalsOneHost(t *testing.T) {
	p := claim(t)
	o := options(p)
	o.Idle = 200 * time.Millisecond
	var wg sync.WaitGroup
	pids := make([]int, 6)
	clients := make([]*Connected, len(pids))
	for i := range pids {
		wg.Go(func() {
			c, err := Connect(t.Context(), o, Want{})
			if err != nil {
				t.Error(err)
				return
			}
			pids[i], clients[i] = c.Hello.PID, c
		})
	}
	wg.Wait()
	slices.Sort(pids)
	if pids[0] != pids[len(pids)-1] || pids[0] == os.Getpid() || pids[0] == 0 {
		t.Errorf("hosts %v", pids)
	}
	for _, c := range clients {
		if c != nil {
			c.Close()
		}
	}
	ended(t, p)
	if _, err := os.Lstat(p.Socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
}

// A host has a session of its own, stands in /, and gets no key.
func TestBackgroundHostIsClean(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "canary-0123456789")
	t.Setenv("GOTRACEBACK", "single")
	p := claim(t)
	c, err := Connect(t.Context(), options(p), Want{})
	if err != nil {
		t.Fatal(err)
	}
	defer ended(t, p)
	defer func() { _ = syscall.Kill(c.Hello.PID, syscall.SIGTERM) }()
	defer c.Close()
	dir := filepath.Join("/proc", itoa(c.Hello.PID))
	env, err := os.ReadFile(filepath.Join(dir, "environ"))
	if err != nil {
		t.Skip("no /proc here")
	}
	if strings.Contains(string(env), "canary") {
		t.Error("the host's environment holds a key")
	}
	if cwd, err := os.Readlink(filepath.Join(dir, "cwd")); err != nil || cwd != "/" {
		t.Errorf("stands in %s, %v", cwd, err)
	}
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+2:]))
	if fields[3] != itoa(c.Hello.PID) {
		t.Errorf("session %s, want its own", fields[3])
	}
	info, err := os.Stat(p.State)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("state folder %v %v", info.Mode(), err)
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

// A newer build that brings work takes over; one that only looks talks to what
// is there.
func TestNewerBuildTakesOver(t *testing.T) {
	p := claim(t)
	old := options(p)
	c, err := Connect(t.Context(), old, Want{Work: true})
	if err != nil {
		t.Fatal(err)
	}
	first := c.Hello.PID
	c.Close()
	young := old
	young.Build = api.Build{Version: "newer", Made: time.Unix(2000, 0)}
	if c, err = Connect(t.Context(), young, Want{}); err != nil || c.Hello.PID != first {
		t.Fatalf("looking: host %d, %v; want %d", c.Hello.PID, err, first)
	}
	c.Close()
	if c, err = Connect(t.Context(), young, Want{Work: true}); err != nil {
		t.Fatal(err)
	}
	second := c.Hello
	if second.PID == first || second.Build.Version != "newer" {
		t.Errorf("host %+v, want a new one", second)
	}
	c.Close()
	if c, err = Connect(t.Context(), old, Want{Work: true}); err != nil || c.Hello.PID != second.PID {
		t.Errorf("an older build took over: %v", err)
	}
	c.Close()
	if err := syscall.Kill(second.PID, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	ended(t, p)
}

// What keeps a host from starting reaches whoever started it.
func TestStartFailureIsTold(t *testing.T) {
	p := claim(t)
	if err := os.WriteFile(p.DB(), []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Connect(t.Context(), options(p), Want{})
	if err == nil || !strings.Contains(err.Error(), "agency.db") {
		t.Errorf("got %v", err)
	}
	if agency.MendOf(err) == "" {
		t.Errorf("%v names no mending step", err)
	}
}

func TestForeignLockIsNamed(t *testing.T) {
	err := foreign(&Held{Holder{PID: 3, Machine: "box", Boot: "b"}}, Place{State: "/s"})
	if !strings.Contains(err.Error(), "box") || !strings.Contains(agency.MendOf(err), "XDG_STATE_HOME") {
		t.Errorf("got %v; %s", err, agency.MendOf(err))
	}
}

func TestLogIsCapped(t *testing.T) {
	path := filepath.Join(t.TempDir(), "host.log")
	c, err := openLog(path)
	if err != nil {
		t.Fatal(err)
	}
	c.cap = 1000
	line := []byte(strings.Repeat("x", 99) + "\n")
	for range 100 {
		if _, err := c.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []string{path, path + ".1"} {
		if info, err := os.Stat(p); err != nil || info.Size() > 1000 || info.Size() == 0 {
			t.Errorf("%s: %v %v", p, info.Size(), err)
		}
	}
}

func TestIdleWaitsForWorkAndClients(t *testing.T) {
	working := 1
	var mu sync.Mutex
	i := newIdle(time.Millisecond, func() int { mu.Lock(); defer mu.Unlock(); return working })
	i.update()
	end := i.begin()
	i.connections(1)
	mu.Lock()
	working = 0
	mu.Unlock()
	i.update()
	end()
	select {
	case <-i.over:
		t.Fatal("left although a client is connected")
	default:
	}
	if i.timer != nil {
		t.Error("the clock runs although a client is connected")
	}
	i.connections(0)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	select {
	case <-i.over:
	case <-ctx.Done():
		t.Error("an idle host does not leave")
	}
}
