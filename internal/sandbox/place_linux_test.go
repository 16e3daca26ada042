package sandbox

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/rootfs"
)

func TestPlace(t *testing.T) {
	w := newWorkspace(t, sh("pwd; cat; cat ../in; echo $GREETING; mkdir -p made && echo new > made/file")...)
	w.write("tree/in", "from the host\n")
	w.write("tree/sub/x", "")
	w.spec.Dir, w.spec.Stdin = "sub", []byte("from stdin\n")
	w.spec.Tools.Env = []string{"GREETING=tools", "PATH=/usr/bin:/bin"}
	w.spec.Env = []string{"GREETING=spec"}
	res := run(t, full(t, Options{}), w.spec)
	if want := at + "/sub\nfrom stdin\nfrom the host\nspec"; printed(res) != want {
		t.Fatalf("%s", res.Output)
	}
	fi, err := os.Stat(filepath.Join(w.spec.Place.Root, "sub/made/file"))
	if err != nil {
		t.Fatal(err)
	}
	if st, ok := fi.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Getuid() {
		t.Errorf("file belongs to %+v", fi.Sys())
	}
}

func TestUserInside(t *testing.T) {
	res := shell(t, "id -u; id -un; ls -ldn . | cut -d' ' -f3; ls -A $HOME | wc -l; echo $HOME")
	f := strings.Fields(printed(res))
	if len(f) != 5 || f[0] == "0" || f[1] != "agency" || f[2] != f[0] || f[3] != "0" || f[4] != rootfs.Home {
		t.Fatalf("%q", f)
	}
}

func TestReadOnlyPlace(t *testing.T) {
	w := newWorkspace(t, attackerAt, attackerArg, "write", at+"/file")
	w.spec.Place.ReadOnly = true
	eachForm(t, func(t *testing.T, r *Runner) { wantStopped(t, run(t, r, w.spec)) })
}

// TestPlaceInside shows caches and siblings around and inside the repository,
// none hidden by what is mounted after it.
func TestPlaceInside(t *testing.T) {
	w := newWorkspace(t, sh("cat vendor/lib /srv/sibling/file /srv/cache/x deep/er/cache/x; echo mine > deep/er/cache/y")...)
	lib, sibling, cache := w.write("vendored/lib", "lib\n"), w.write("sibling/file", "sibling\n"), w.write("cache/x", "cache\n")
	w.spec.Reads = []Mount{{Host: filepath.Dir(lib), At: at + "/vendor"}, {Host: filepath.Dir(sibling), At: "/srv/sibling"}}
	w.spec.Tools.Overlays = []Overlay{
		{Lower: filepath.Dir(cache), At: "/srv/cache", Name: "outer"},
		{Lower: filepath.Dir(cache), At: at + "/deep/er/cache", Name: "inner"},
	}
	res := run(t, full(t, Options{}), w.spec)
	if printed(res) != "lib\nsibling\ncache\ncache" || res.ExitCode != 0 {
		t.Fatalf("%d %s", res.ExitCode, res.Output)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(cache), "y")); !os.IsNotExist(err) {
		t.Fatalf("an overlay wrote to its lower folder: %v", err)
	}
}

func TestOverlayKeepsChanges(t *testing.T) {
	w := newWorkspace(t)
	lower := filepath.Dir(w.write("cache/old", "old"))
	w.spec.Tools.Overlays = []Overlay{{Lower: lower, At: "/srv/cache", Name: "go"}, {Lower: w.dir + "/none", At: "/srv/none", Name: "none"}}
	r := full(t, Options{})
	w.spec.Argv = sh("rm /srv/cache/old; echo new > /srv/cache/new; echo own > /srv/none/own")
	if res := run(t, r, w.spec); res.ExitCode != 0 || !slices.Contains(res.OwnCaches, "/srv/none") {
		t.Fatalf("%+v %s", res.OwnCaches, res.Output)
	}
	w.spec.Argv = sh("ls /srv/cache /srv/none")
	if res := run(t, r, w.spec); printed(res) != "/srv/cache:\nnew\n\n/srv/none:\nown" {
		t.Fatalf("%s", res.Output)
	}
	if b, err := os.ReadFile(filepath.Join(lower, "old")); err != nil || string(b) != "old" {
		t.Fatalf("%s %v", b, err)
	}
}

// TestConcurrentLayers runs commands over one cache at the same time: each must
// see what it wrote itself.
func TestConcurrentLayers(t *testing.T) {
	w := newWorkspace(t)
	lower := filepath.Dir(w.write("cache/x", "x"))
	w.spec.Tools.Overlays = []Overlay{{Lower: lower, At: "/srv/cache", Name: "go"}}
	w.spec.Argv = sh("cat /srv/cache/x && for i in 1 2 3 4 5 6 7 8; do echo $i > /srv/cache/y && cat /srv/cache/y; done")
	r := full(t, Options{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			res, err := r.Run(context.Background(), w.spec)
			if err != nil || printed(res) != "x1\n2\n3\n4\n5\n6\n7\n8" {
				t.Errorf("%v %s", err, res.Output)
			}
		})
	}
	wg.Wait()
}

// TestOwner makes a checkout that is not root's.
func TestOwner(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	r, w := full(t, Options{}), newWorkspace(t, "/bin/true")
	if err := os.Chown(w.spec.Place.Root, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	_, err := r.Run(context.Background(), w.spec)
	if agency.KindOf(err) != agency.KindDenied || !strings.Contains(agency.MendOf(err), "sudo -u nobody") {
		t.Fatalf("%v; %s", err, agency.MendOf(err))
	}
}

// TestLoopbackInside serves and reaches itself.
func TestLoopbackInside(t *testing.T) {
	w := newWorkspace(t, attackerAt, attackerArg, "loopback")
	res := run(t, full(t, Options{}), w.spec)
	if res.ExitCode != 1 { // the attacker got through to itself
		t.Fatalf("%s", res.Output)
	}
}

func TestTerminalInside(t *testing.T) {
	if _, err := exec.LookPath("script"); err != nil {
		t.Skip("needs script")
	}
	res := shell(t, "script -qc tty /dev/null")
	if !strings.HasPrefix(printed(res), "/dev/pts/") {
		t.Fatalf("%s", res.Output)
	}
}

// TestGo builds and tests a module over the caller's build cache, offline.
func TestGo(t *testing.T) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("needs Go")
	}
	out, err := exec.Command(goTool, "env", "GOROOT", "GOCACHE").Output()
	if err != nil {
		t.Skip("needs Go: ", err)
	}
	env := strings.Fields(string(out))
	w := newWorkspace(t, "go", "test", "./...")
	w.spec.Limits.Wall = 5 * time.Minute // an empty cache on a busy machine
	w.write("tree/go.mod", "module example\n\ngo 1.21\n")
	w.write("tree/x_test.go", "package x\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) {}\n")
	w.spec.Tools.ReadOnly = append(w.spec.Tools.ReadOnly, Mount{Host: env[0], At: env[0]})
	w.spec.Tools.Overlays = []Overlay{{Lower: env[1], At: env[1], Name: "go-build"}}
	w.spec.Tools.Env = []string{
		"PATH=" + env[0] + "/bin:" + systemPath, "GOROOT=" + env[0], "GOCACHE=" + env[1],
		"GOFLAGS=-mod=readonly", "GOPROXY=off", "GOTOOLCHAIN=local", "CGO_ENABLED=0",
	}
	r := full(t, Options{})
	for range 2 {
		if res := run(t, r, w.spec); res.ExitCode != 0 || !strings.HasPrefix(printed(res), "ok") {
			t.Fatalf("%s %d\n%s", res.Cause, res.ExitCode, res.Output)
		}
	}
}

func BenchmarkFull(b *testing.B) {
	r := full(b, Options{})
	w := newWorkspace(b, "/bin/true")
	for b.Loop() {
		if res := run(b, r, w.spec); res.ExitCode != 0 {
			b.Fatal(res)
		}
	}
}

func BenchmarkOff(b *testing.B) {
	r, err := New(Options{Mode: ModeOff})
	if err != nil {
		b.Fatal(err)
	}
	w := newWorkspace(b, "/bin/true")
	for b.Loop() {
		if res := run(b, r, w.spec); res.ExitCode != 0 {
			b.Fatal(res)
		}
	}
}

// TestOut hands a file back through the folder that is there for it.
func TestOut(t *testing.T) {
	w := newWorkspace(t, sh("echo report > \"$OUT/report\"")...)
	w.spec.Out = t.TempDir()
	w.spec.Env = append(w.spec.Env, "OUT="+w.spec.Out)
	res := run(t, full(t, Options{}), w.spec)
	got, err := os.ReadFile(filepath.Join(w.spec.Out, "report"))
	if err != nil || string(got) != "report\n" {
		t.Fatalf("%q, %v: %s", got, err, res.Output)
	}
}

// BenchmarkWarm is a command in a sandbox that waits for it.
func BenchmarkWarm(b *testing.B) {
	r := fullOf(b, Options{})
	w := newWorkspace(b, "/bin/true")
	warmUp(b, r, w.spec)
	for b.Loop() {
		if res, err := r.Run(context.Background(), w.spec); err != nil || res.ExitCode != 0 {
			b.Fatal(res, err)
		}
	}
}
