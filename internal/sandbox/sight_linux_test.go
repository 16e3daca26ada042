package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"agency/internal/agency"
	"agency/internal/linux/escape"
)

// TestNothingOfTheHostAnswers has the host's sockets, pipes and devices in a
// folder that is shown, by whichever name it is.
func TestNothingOfTheHostAnswers(t *testing.T) {
	p, err := escape.PlantTraps(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	eachForm(t, func(t *testing.T, r *Runner) { nothingAnswers(t, r, p) })
	t.Run("without overlays", func(t *testing.T) { nothingAnswers(t, unsealed(t), p) })
	quiet(t, p)
	// The same attempts reach the host where nothing is between.
	t.Setenv(escape.TrapsEnv, p.Dir)
	for _, a := range escape.TrapAttempts() {
		if (a.Name == escape.TrapDevice || a.Name == escape.TrapDeviceRead) && os.Getuid() != 0 {
			continue
		}
		if err := a.Try(); err != nil && !errors.Is(err, unix.EOPNOTSUPP) { // a file system without
			t.Errorf("%s without a sandbox: %v", a.Name, err)
		}
	}
}

// nothingAnswers shows the traps in each way that there is, and makes each attempt
// on them.
func nothingAnswers(t *testing.T, r *Runner, p *escape.Traps) {
	t.Helper()
	for name, set := range map[string]func(*Spec){
		"read":    func(s *Spec) { s.Reads = []Mount{{Host: p.Dir, At: escape.TrapsAt}} },
		"tool":    func(s *Spec) { s.Tools.ReadOnly = append(s.Tools.ReadOnly, Mount{Host: p.Dir, At: escape.TrapsAt}) },
		"objects": func(s *Spec) { s.Place.Objects = []string{p.Dir} },
		"cache":   func(s *Spec) { s.Tools.Overlays = []Overlay{{Lower: p.Dir, At: escape.TrapsAt, Name: "c"}} },
		"below":   func(s *Spec) { s.Reads = []Mount{{Host: filepath.Dir(p.Dir), At: filepath.Dir(escape.TrapsAt)}} },
	} {
		if testing.Short() && name != "below" && name != "cache" {
			continue
		}
		w := newWorkspace(t)
		set(&w.spec)
		dir := escape.TrapsAt
		switch name {
		case "objects":
			dir = p.Dir
		}
		w.spec.Argv = sh("ls " + dir)
		if res := run(t, r, w.spec); !strings.Contains(printed(res), escape.TrapStream) {
			t.Fatalf("%s: the folder is not shown: %s", name, res.Output)
		}
		for _, a := range escape.TrapAttempts() {
			if name == "below" && a.Name == "see that a file outside is there" {
				continue // it is shown
			}
			w.spec.Argv = []string{attackerAt, attackerArg, "trap", a.Name}
			w.spec.Env = append(w.spec.Env, escape.TrapsEnv+"="+dir)
			if res := run(t, r, w.spec); res.ExitCode != 0 {
				t.Errorf("%s: %s: %s", name, a.Name, res.Output)
			}
		}
	}
}

// unsealed is a runner as on a kernel that refuses overlays of what is only read.
func unsealed(t *testing.T) *Runner {
	t.Helper()
	r, err := New(Options{Mode: ModeFull, Idle: -1})
	if err != nil {
		t.Skipf("needs user namespaces: %v", err)
	}
	t.Cleanup(func() { _ = r.Close() })
	r.noSeal = true
	if err := r.try(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestNothingAnswersInTheSystem puts the traps where programs lie, which every
// command is shown. Only root can.
func TestNothingAnswersInTheSystem(t *testing.T) {
	parent, err := os.MkdirTemp("/usr/local/share", "agency-test-")
	if err != nil {
		t.Skipf("needs to write where programs lie: %v", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(parent) })
	late := filepath.Join(parent, "late")
	if err := errors.Join(os.Chmod(parent, 0o755), os.Mkdir(late, 0o755)); err != nil {
		t.Fatal(err)
	}
	warmed, again := fullOf(t, Options{Idle: forms[1].idle}), newWorkspace(t, "/bin/ls", late)
	wantCause(t, run(t, warmed, again.spec), CauseExited)
	p, err := escape.PlantTraps(late) // after a command was there
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for name, r := range map[string]*Runner{"cold": full(t, Options{}), "warm": warmed, "without overlays": unsealed(t)} {
		for _, a := range escape.TrapAttempts() {
			if a.Name == "see that a file outside is there" || name == "without overlays" && a.Name == "read from a pipe in a folder that is shown" {
				continue // it is shown; root has put a pipe there for all to read
			}
			w := again
			if name != "warm" {
				w = newWorkspace(t)
			}
			w.spec.Argv = []string{attackerAt, attackerArg, "trap", a.Name}
			w.spec.Env = append(w.spec.Env, escape.TrapsEnv+"="+p.Dir)
			if res := run(t, r, w.spec); res.ExitCode != 0 {
				t.Errorf("%s: %s: %s", name, a.Name, res.Output)
			}
		}
	}
	quiet(t, p)
}

// quiet wants that nothing has arrived at what listens in the traps.
func quiet(test *testing.T, planted *escape.Traps) {
	test.Helper()
	for _, fd := range planted.Files[3:] { // that of messages, and the pipe
		b := make([]byte, 64)
		if n, err := unix.Read(fd, b); err == nil && string(b[:n]) != escape.TrapSaid {
			test.Errorf("%q arrived", b[:n])
		}
	}
}

// TestShownFolderIsSeenAnew changes what is shown between two commands of one
// sandbox.
func TestShownFolderIsSeenAnew(t *testing.T) {
	r, w := fullOf(t, Options{Idle: forms[1].idle}), newWorkspace(t)
	old := w.write("granted/old", "one\n")
	w.spec.Reads = []Mount{{Host: filepath.Dir(old), At: "/srv/granted"}}
	w.spec.Argv = sh("cat /srv/granted/old; cat /srv/granted/new 2>/dev/null; readlink /proc/self/ns/uts; true")
	first := strings.Fields(printed(run(t, r, w.spec)))
	w.write("granted/new", "three\n")
	w.write("granted/other", "two\n")
	if err := os.Rename(filepath.Join(w.dir, "granted/other"), old); err != nil {
		t.Fatal(err)
	}
	w.spec.Stdin = nil
	res, err := r.Run(t.Context(), w.spec)
	if err != nil {
		t.Fatal(err)
	}
	second := strings.Fields(printed(res))
	if len(first) != 2 || first[0] != "one" || strings.Join(second, " ") != "two three "+first[1] {
		t.Fatalf("%q, then %q", first, second)
	}
}

// TestHiddenStaysHidden names what no command may see, by name and by a link.
func TestHiddenStaysHidden(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, dir := range []string{".ssh", ".config/gh", ".local/state/agency", "own", "state/runs", "src"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(home, "src", "link")
	if err := os.Symlink(filepath.Join(home, ".ssh"), link); err != nil {
		t.Fatal(err)
	}
	sock := filepath.Join(home, "src", "fifo")
	if err := unix.Mkfifo(sock, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{{Mode: ModeFull}, {Mode: ModeLandlock}} {
		o.Idle, o.StateDir, o.Hidden = -1, filepath.Join(home, "state"), []string{filepath.Join(home, "own")}
		r, err := New(o)
		if err != nil {
			t.Logf("%s: %v", o.Mode, err)
			continue
		}
		for _, path := range []string{
			"/", "/home", home, filepath.Join(home, ".ssh"), filepath.Join(home, ".config"), filepath.Join(home, ".local"), filepath.Join(home, "own"),
			filepath.Join(home, "state/runs"), link, sock, "/etc", "/proc/1", "/sys", "/dev", "/run", "/var", "/boot", "/root", "/tmp",
		} {
			for how, set := range map[string]func(*Spec){
				"read":  func(s *Spec) { s.Reads = []Mount{{Host: path, At: "/srv/shown"}} },
				"tool":  func(s *Spec) { s.Tools.ReadOnly = append(s.Tools.ReadOnly, Mount{Host: path, At: "/srv/shown"}) },
				"cache": func(s *Spec) { s.Tools.Overlays = []Overlay{{Lower: path, At: "/srv/shown", Name: "c"}} },
			} {
				w := newWorkspace(t, "/bin/true")
				set(&w.spec)
				if _, err := r.Run(t.Context(), w.spec); agency.KindOf(err) != agency.KindDenied && !os.IsNotExist(err) {
					t.Errorf("%s: %s %s: %v", r.Tier(), how, path, err)
				}
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAnotherFolder puts another folder, or a link, where the judged one was.
func TestAnotherFolder(t *testing.T) {
	full(t, Options{})
	w := newWorkspace(t, "/bin/true")
	good, secret := filepath.Dir(w.write("good/x", "")), filepath.Dir(w.write("secret/key", "secret"))
	w.spec.Reads = []Mount{{Host: good, At: "/srv/shown"}}
	p, err := makePlan(w.spec, agency.Sight{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(good, good+"-away"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, good); err != nil {
		t.Fatal(err)
	}
	if b, err := openBox(t.Context(), p, nil); err == nil {
		b.close()
		t.Error("a link is shown where a folder was judged")
	}
	if err := os.Remove(good); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(secret, good); err != nil {
		t.Fatal(err)
	}
	if b, err := openBox(t.Context(), p, nil); err == nil {
		b.close()
		t.Error("another folder is shown than was judged")
	}
}
