package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agency/internal/linux/landlock"
	"agency/internal/linux/overlay"
	"agency/internal/sandbox/proxy/proxytest"
	"agency/internal/supervisor"
)

// open gives a runner of the landlock tier.
func open(t *testing.T, o Options) *Runner {
	t.Helper()
	o.Mode = ModeLandlock
	r, err := New(o)
	if err != nil {
		t.Skipf("needs Landlock: %v", err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// openly runs argv in the landlock tier, twice where sandboxes are kept.
func openly(t *testing.T, r *Runner, w *workspace) Result {
	t.Helper()
	w.spec.Argv[0] = strings.Replace(w.spec.Argv[0], attackerAt, self(t), 1)
	res, err := r.Run(context.Background(), w.spec)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestLandlockAttempts makes every attempt of doctor's; what gets through is a
// gap that the tier names.
func TestLandlockAttempts(t *testing.T) {
	r := open(t, Options{})
	for range 2 { // cold, then warm
		res := openly(t, r, newWorkspace(t).probing(TierLandlock))
		everyAttempt(t, r, res)
	}
}

// everyAttempt wants all of doctor's attempts, of which none got through that the
// tier does not name.
func everyAttempt(t *testing.T, r *Runner, res Result) (through []string) {
	t.Helper()
	var told []Attempt
	if err := json.Unmarshal(res.Output, &told); err != nil || len(told) != len(supervisor.Attempts()) {
		t.Fatalf("%v: %s %d %s", err, res.Cause, res.ExitCode, res.Output)
	}
	judge(told, r.openGaps())
	for _, a := range told {
		if !a.Stopped {
			through = append(through, a.Name)
		}
		if !a.Stopped && !a.Gap {
			t.Errorf("%s: %s", a.Name, a.Detail)
		}
		t.Logf("%-45s %s", a.Name, a.Detail)
	}
	return through
}

// TestLandlockAttacks runs the attackers of the full tier that need nothing of
// its view.
func TestLandlockAttacks(t *testing.T) {
	r, w := open(t, Options{}), newWorkspace(t)
	secret := w.write("home/.ssh/id_ed25519", "secret")
	victim := w.write("victim", "mine")
	if err := os.Symlink(victim, filepath.Join(w.spec.Place.Root, "link")); err != nil {
		t.Fatal(err)
	}
	abstract, err := net.Listen("unix", fmt.Sprintf("@agency-landlock-%d", os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = abstract.Close() }()
	host, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = host.Close() }()
	for _, argv := range [][]string{
		{"read", secret},
		{"list", filepath.Dir(secret)},
		{"list", "/"},
		{"list", os.TempDir()},
		{"list", "/dev/shm"},
		{"read", "/etc/shadow"},
		{"read", fmt.Sprintf("/proc/%d/environ", os.Getpid())},
		{"read", fmt.Sprintf("/proc/%d/maps", os.Getpid())},
		{"read", fmt.Sprintf("/proc/%d/fd/0", os.Getpid())},
		{"list", fmt.Sprintf("/proc/%d/cwd", os.Getpid())},
		{"write", victim},
		{"write", w.spec.Place.Root + "/link"},
		{"write", "/usr/bin/agency-escape"},
		{"write", "/etc/passwd"},
		{"write", "/tmp/agency-escape"},
		{"write", "/dev/shm/agency-escape"},
		{"write", "/proc/sysrq-trigger"},
		{"remove", victim},
		{"rename", victim, w.spec.Place.Root + "/mine"},
		{"hard link", victim, w.spec.Place.Root + "/linked"},
		{"hard link", "/etc/services", w.spec.Place.Root + "/linked"},
		{"dial", "tcp", host.Addr().String()},
		{"dial", "unix", abstract.Addr().String()},
		{"memfd", ""},
	} {
		if argv[0] == "dial" && argv[1] == "unix" && landlock.InForce() < 6 {
			continue
		}
		w.spec.Argv = append([]string{attackerAt, attackerArg}, argv...)
		if res := openly(t, r, w); res.ExitCode != 0 || res.Cause != CauseExited {
			t.Errorf("%v: %s %d %s", argv, res.Cause, res.ExitCode, res.Output)
		}
	}
	if b, err := os.ReadFile(victim); err != nil || string(b) != "mine" {
		t.Fatalf("%s %v", b, err)
	}
}

// TestLandlockHosts reaches what was named through a proxy, and nothing else: no
// other port of this machine, by no other protocol, and no way in.
func TestLandlockHosts(t *testing.T) {
	world := proxytest.New(t)
	r, w := open(t, Options{Outlets: inWorld{world}}), newWorkspace(t)
	if !r.ReachesHosts() {
		t.Skip("needs a kernel whose Landlock knows ports")
	}
	host, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = host.Close() }()
	path := filepath.Join(w.dir, "s")
	daemon, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = daemon.Close() }()
	w.spec.Hosts = []string{"proxy.golang.example"}
	const through, stopped = 1, 0
	for range 2 { // cold, then warm
		for _, c := range []struct {
			want int
			says string
			argv []string
		}{
			{through, "hello from proxy.golang.example/mod", []string{"fetch", "https://proxy.golang.example/mod"}},
			{stopped, "Forbidden", []string{"fetch", "https://evil.example.org/"}},
			{stopped, "permission denied", []string{"dial", "tcp", host.Addr().String()}},
			{stopped, "permission denied", []string{"dial", "tcp", "192.0.2.1:443"}},
			{stopped, "not supported", []string{"dial", "tcp", "[::1]:443"}},
			{stopped, "not supported", []string{"dial", "udp", "127.0.0.1:53"}},
			{stopped, "not supported", []string{"dial", "unix", path}},
			{stopped, "permission denied", []string{"loopback"}},
			{stopped, "not permitted", []string{"listen"}},
			{stopped, "not permitted", []string{"send first"}},
			{stopped, "not supported", []string{"other streams"}},
		} {
			w.spec.Argv = append([]string{attackerAt, attackerArg}, c.argv...)
			if res := openly(t, r, w); res.ExitCode != c.want || !strings.Contains(string(res.Output), c.says) {
				t.Errorf("%v: %d %s", c.argv, res.ExitCode, res.Output)
			}
		}
		everyAttempt(t, r, openly(t, r, w.probing(TierLandlock)))
	}
	w.spec.Argv, w.spec.Tools.Env = sh("echo $JAVA $https_proxy"), []string{"JAVA=-x " + JavaProxy}
	var port int
	var addr string
	if _, err := fmt.Sscanf(printed(openly(t, r, w)), "-x -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=%d http://127.0.0.1:%s", &port, &addr); err != nil || addr != fmt.Sprint(port) {
		t.Errorf("port %d, address %s, %v", port, addr, err)
	}
	if c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
		_ = c.Close()
		t.Errorf("the proxy at %d listens after its command", port)
	}
	if all := strings.Join(r.Gaps(), "\n"); !strings.Contains(all, "port of its proxy") {
		t.Errorf("no gap says what ports leave open: %s", all)
	}
}

// TestLandlockGaps walks through the open gaps, each of which the tier names.
func TestLandlockGaps(t *testing.T) {
	r, w := open(t, Options{}), newWorkspace(t)
	path := filepath.Join(w.dir, "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	victim := w.write("victim", "mine")
	opened := open(t, Options{Loopback: true})
	for _, r := range []*Runner{r, opened} {
		w.spec.Argv = []string{attackerAt, attackerArg, "dial", "unix", path}
		if res := openly(t, r, w); res.ExitCode != 0 {
			t.Errorf("a socket that has a path, loopback %v: %d %s", r == opened, res.ExitCode, res.Output)
		}
	}
	w.spec.Argv = sh("chmod 600 " + victim + " && mkdir .git && echo x > .git/config && ls -d /proc/1")
	res := openly(t, r, w)
	t.Logf("the rest: %d %s", res.ExitCode, res.Output)
	all := strings.Join(opened.Gaps(), "\n")
	for _, want := range []string{"the network is open", "modes, owners and times", ".git below", "System V objects", "command lines"} {
		if !strings.Contains(all, want) {
			t.Errorf("no gap %q", want)
		}
	}
	if n := len(full(t, Options{}).Gaps()); n != 0 {
		t.Errorf("%d gaps of the full tier", n)
	}
}

// TestLandlockLeavesNothing has no process of a command after it, nor its
// temporary files, nor a secret of the host within it.
func TestLandlockLeavesNothing(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "canary-51c1f2")
	for _, idle := range []time.Duration{-1, time.Hour} {
		r, w := open(t, Options{Idle: idle}), newWorkspace(t)
		w.spec.Argv = sh(holdPipe + "; mkdir -p $TMPDIR/a/b && echo x >$TMPDIR/a/b/left && chmod 0 $TMPDIR/a/b $TMPDIR/a; env")
		path := w.pipe()
		read := make(chan string, 1)
		go func() {
			b, err := os.ReadFile(path)
			read <- fmt.Sprint(string(b), err)
		}()
		res := openly(t, r, w)
		wantCause(t, res, CauseExited)
		if got := <-read; !strings.Contains(got, "ready") || !strings.HasSuffix(got, "<nil>") {
			t.Fatal(got)
		}
		if strings.Contains(string(res.Output), "canary") {
			t.Errorf("%s", res.Output)
		}
		_, rest, _ := strings.Cut(string(res.Output), "TMPDIR=")
		tmp, _, _ := strings.Cut(rest, "\n")
		if _, err := os.Stat(tmp); !os.IsNotExist(err) {
			t.Errorf("%q is left: %v", tmp, err)
		}
	}
}

func TestLandlockHostKilled(t *testing.T) {
	open(t, Options{})
	hostKilled(t, string(ModeLandlock))
}

func TestLandlockLimits(t *testing.T) {
	t.Run("grouped, where there are groups", func(t *testing.T) { eachOpenLimit(t, open(t, Options{})) })
	t.Run("counted", func(t *testing.T) { eachOpenLimit(t, counted(t)) })
}

// counted is a runner of the landlock tier as on a machine without control
// groups.
func counted(t *testing.T) *Runner {
	r := open(t, Options{})
	r.machine = newMachine(nil, -1, nil)
	return r
}

func eachOpenLimit(t *testing.T, r *Runner) {
	for i, c := range append([]limitCase{
		{"wall", sh("trap '' TERM INT HUP; setsid sleep 100 & sleep 100"), Limits{Wall: 300 * time.Millisecond}, CauseTimeout},
		{"cpu of a child", sh("sh -c 'while :; do :; done'; true"), Limits{CPU: 200 * time.Millisecond}, CauseCPU},
		{"many processes", sh("while :; do sleep 100 & done"), Limits{Processes: 32}, CauseProcesses},
		{"memory", eater("memory"), Limits{MemoryMB: 128}, CauseMemory},
		{"memory of a process that looks dead", eater("memory of the dead"), Limits{MemoryMB: 128}, CauseMemory},
		{"memory in sockets", eater("sockets"), Limits{MemoryMB: 64}, CauseMemory},
		{"memory in pipes", eater("pipes"), Limits{MemoryMB: 32}, CauseMemory},
		{"memory in page tables", eater("page tables"), Limits{MemoryMB: 64}, CauseMemory},
		{"shared memory that looks unused", eater("uncounted"), Limits{MemoryMB: 64}, CauseMemory},
		{"file size", sh("head -c 20000000 /dev/zero > big"), Limits{FileSizeMB: 8}, CauseFileSize},
		{"temporary files", sh("mkdir $TMPDIR/d; head -c 200000000 /dev/zero > $TMPDIR/d/big; sleep 100"), Limits{MemoryMB: 64}, CauseDisk},
		{"temporary files that are deleted", sh("exec 3>$TMPDIR/big; rm $TMPDIR/big; head -c 200000000 /dev/zero >&3; sleep 100"), Limits{MemoryMB: 64}, CauseDisk},
		{"own exit", sh("exit 7"), Limits{}, CauseExited},
		{"own signal", sh("kill -KILL $$"), Limits{}, CauseSignalled},
		{"no such program", []string{"/usr/bin/no-such-program"}, Limits{}, CauseNotStarted},
	}, heldCases()...) {
		if testing.Short() && i%4 != 0 {
			continue // who counts is the same for all
		}
		t.Run(c.name, func(t *testing.T) {
			w := newWorkspace(t)
			limited(slices.Clone(c.argv), c.limits)(&w.spec)
			wantCause(t, openly(t, r, w), c.want)
		})
	}
}

// TestLandlockForkBomb ends one, by its count or, where the kernel has put it out
// before it was counted, by the wall limit.
func TestLandlockForkBomb(t *testing.T) {
	w := newWorkspace(t, sh(bomb)...)
	w.spec.Limits = Limits{Processes: 64, Wall: 2 * time.Second}
	res := openly(t, open(t, Options{}), w)
	if res.Cause != CauseProcesses && res.Cause != CauseTimeout {
		t.Fatalf("%s %s", res.Cause, res.Output)
	}
}

// TestLandlockLoopback says what a command needs that fails for want of it, and
// has it where the user allows it.
func TestLandlockLoopback(t *testing.T) {
	w := newWorkspace(t, attackerAt, attackerArg, "need loopback")
	res := openly(t, open(t, Options{}), w)
	if res.ExitCode != 1 || !strings.Contains(string(res.Output), "needs loopback") {
		t.Errorf("%d %s", res.ExitCode, res.Output)
	}
	r := open(t, Options{Loopback: true})
	if res := openly(t, r, w); res.ExitCode != 0 {
		t.Errorf("%d %s", res.ExitCode, res.Output)
	}
	if !strings.Contains(strings.Join(r.Gaps(), "\n"), "the network is open") {
		t.Error("the gap is not named")
	}
}

// TestLandlockPlace works in the checkout at the host's path, with its git dir,
// caches that stand in for the user's, and what the user granted.
func TestLandlockPlace(t *testing.T) {
	r, w := open(t, Options{}), newWorkspace(t)
	granted, cache := w.write("granted/file", "granted\n"), w.write("cache/x", "user's")
	w.spec.Place.GitDir = filepath.Dir(w.write("git/HEAD", "ref: refs/heads/x\n"))
	w.spec.Reads = []Mount{{Host: filepath.Dir(granted), At: filepath.Dir(granted)}}
	w.spec.Tools.Overlays = []Overlay{{Lower: filepath.Dir(cache), At: filepath.Dir(cache), Name: "c"}}
	w.spec.Tools.Env = []string{"CACHE=" + filepath.Dir(cache)}
	w.spec.Dir, w.spec.Out = "sub", t.TempDir()
	w.write("tree/sub/x", "")
	w.spec.Argv = sh(`pwd; cat $GIT_DIR/HEAD ` + granted + `; echo y > $CACHE/y; ls $CACHE; echo out > ` + w.spec.Out + `/o`)
	res := openly(t, r, w)
	want := filepath.Join(w.spec.Place.Root, "sub") + "\nref: refs/heads/x\ngranted\nx\ny"
	if printed(res) != want || res.ExitCode != 0 || len(res.OwnCaches) != 1 {
		t.Fatalf("%d %s, want %s; %v", res.ExitCode, res.Output, want, res.OwnCaches)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(cache), "y")); !os.IsNotExist(err) {
		t.Fatalf("the user's cache was written: %v", err)
	}
}

// TestLandlockChosen takes the tier where namespaces are refused.
func TestLandlockChosen(t *testing.T) {
	open(t, Options{})
	full(t, Options{})
	out := withoutNamespaces(t, tierArg)
	if out != "landlock\nrefused: true\n" {
		t.Fatalf("%s", out)
	}
}

// TestLandlockCaches begins a cache with the user's: small files can be changed,
// large ones read, and neither is the user's that changes.
func TestLandlockCaches(t *testing.T) {
	r, w := open(t, Options{}), newWorkspace(t)
	large := strings.Repeat("large", 32<<10)
	lower := filepath.Dir(w.write("cache/small", "small\n"))
	w.write("cache/deep/er/large", large)
	w.write("elsewhere", "secret\n")
	if err := os.Symlink("../small", filepath.Join(lower, "deep/link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../elsewhere", filepath.Join(lower, "out")); err != nil {
		t.Fatal(err)
	}
	old := time.Unix(1e9, 0)
	if err := os.Chtimes(filepath.Join(lower, "small"), old, old); err != nil {
		t.Fatal(err)
	}
	w.spec.Tools.Overlays = []Overlay{{Lower: lower, At: lower, Name: "c"}, {Lower: w.dir + "/none", At: "/srv/none", Name: "n"}}
	w.spec.Tools.Env = []string{"CACHE=" + lower, "NONE=/srv/none/x"}
	w.spec.Argv = sh(`cd $CACHE && cat small deep/link && wc -c <deep/er/large && date -r small +%s
		echo mine >small; echo new >new; echo x >$NONE || mkdir -p $NONE
		echo evil >deep/er/large && echo wrote a linked file
		cat out && echo followed a link out; true`)
	var stdout bytes.Buffer
	w.spec.Stdout = &stdout
	res := openly(t, r, w)
	got := stdout.String()
	if want := fmt.Sprintf("small\nsmall\n%d\n1000000000", len(large)); !strings.HasPrefix(got, want) ||
		strings.Contains(got, "wrote") || strings.Contains(got, "followed") {
		t.Fatalf("%d %s", res.ExitCode, got)
	}
	for name, want := range map[string]string{"small": "small\n", "deep/er/large": large} {
		if b, err := os.ReadFile(filepath.Join(lower, name)); err != nil || string(b) != want {
			t.Errorf("the user's %s: %.20s, %v", name, b, err)
		}
	}
	w.spec.Argv = sh(`cd $CACHE && rm deep/er/large && cat small new`)
	if res := openly(t, r, w); printed(res) != "mine\nnew" {
		t.Errorf("what was kept: %s", res.Output)
	}
	if _, err := os.Stat(filepath.Join(lower, "deep/er/large")); err != nil {
		t.Error(err)
	}
}

// TestWarmCache fills a cache once, also for two that come at the same time, and
// again where whoever did it died in the middle.
func TestWarmCache(t *testing.T) {
	w := newWorkspace(t)
	for i := range 50 {
		w.write(fmt.Sprintf("lower/%d/f", i), "x")
	}
	base, lower := filepath.Join(w.dir, "base"), filepath.Join(w.dir, "lower")
	w.write("base/own.new/half", "")
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			own, err := overlay.Warm(base, lower)
			if entries, bad := os.ReadDir(own); err != nil || bad != nil || len(entries) != 50 {
				t.Errorf("%d entries, %v, %v", len(entries), err, bad)
			}
		})
	}
	all.Wait()
	if left, err := filepath.Glob(base + "/*"); err != nil || len(left) != 2 {
		t.Errorf("%v %v", left, err)
	}
}

// TestLandlockNoHosts says that hosts cannot be reached to a command that failed,
// where the kernel knows no ports.
func TestLandlockNoHosts(t *testing.T) {
	r, w := open(t, Options{}), newWorkspace(t, sh("exit 3")...)
	r.machine.ports = false
	w.spec.Hosts = []string{"proxy.golang.example"}
	if res := openly(t, r, w); !strings.Contains(printed(res), "proxy.golang.example cannot be reached") {
		t.Errorf("%s", res.Output)
	}
}
