package sandbox

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"agency/internal/agency"
	"agency/internal/text"
)

func TestCheckSpec(t *testing.T) {
	state := t.TempDir()
	good := Spec{Place: Place{Root: "/r", At: "/home/u/project"}, Argv: []string{"true"}, LayerDir: "/l"}
	for _, c := range []struct {
		name   string
		change func(*Spec)
		want   string // part of the error, "" for none
	}{
		{"good", func(*Spec) {}, ""},
		{"no command", func(s *Spec) { s.Argv = nil }, "no command"},
		{"the whole machine", func(s *Spec) { s.Place.At = "/" }, "system folder"},
		{"a system folder", func(s *Spec) { s.Place.At = "/usr" }, "system folder /usr"},
		{"the kernel's", func(s *Spec) { s.Place.At = "/proc/x" }, "lies in /proc"},
		{"contains the state folder", func(s *Spec) { s.Place.At = state }, "contains the state folder"},
		{"above the state folder", func(s *Spec) { s.Place.At = strings.TrimSuffix(state, "/001") }, "contains the state folder"},
		{"beside the state folder", func(s *Spec) { s.Place.At = state + "-evil" }, ""},
		{"relative", func(s *Spec) { s.Place.At = "project" }, "absolute clean path"},
		{"unclean", func(s *Spec) { s.Place.Root = "/r/../etc" }, "absolute clean path"},
		{"leaves by dir", func(s *Spec) { s.Dir = "../x" }, "leaves the repository"},
		{"absolute dir", func(s *Spec) { s.Dir = "/x" }, "leaves the repository"},
		{"git dir", func(s *Spec) { s.Place.GitDir = "git" }, "git dir"},
		{"objects", func(s *Spec) { s.Place.Objects = []string{"/o\n/p"} }, "object folder"},
		{"read", func(s *Spec) { s.Reads = []Mount{{Host: "/x", At: "y"}} }, "mount path"},
		{"layer name", func(s *Spec) { s.Tools.Overlays = []Overlay{{Lower: "/c", At: "/c", Name: "../x"}} }, "layer name"},
		{"no layer folder", func(s *Spec) {
			s.LayerDir, s.Tools.Overlays = "", []Overlay{{Lower: "/c", At: "/c", Name: "x"}}
		}, "no layer folder"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := good
			c.change(&s)
			err := checkSpec(s, state)
			switch {
			case c.want == "" && err != nil:
				t.Fatal(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Fatalf("%v, want %q", err, c.want)
			case c.want != "" && agency.KindOf(err) != agency.KindInvalid:
				t.Fatalf("kind %v", agency.KindOf(err))
			}
		})
	}
}

func TestObjectsAt(t *testing.T) {
	p := Place{At: "/home/u/p", Objects: []string{"/home/u/p/.git/objects", "/srv/o", "/home/u/p-evil/o"}}
	want := []string{"/run/agency/objects/0", "/srv/o", "/home/u/p-evil/o"}
	if got := (&Runner{tier: TierFull}).ObjectsAt(p); !slices.Equal(got, want) {
		t.Errorf("full: %v", got)
	}
	if got := (&Runner{tier: TierNone}).ObjectsAt(p); !slices.Equal(got, p.Objects) {
		t.Errorf("off: %v", got)
	}
}

func TestEnvironment(t *testing.T) {
	env := environment("/h", "/t", []string{"A=1", "PATH=/x"}, []string{"A=2", "B=", "nonsense", "=x", "C=a\x00b"})
	for name, want := range map[string]string{"A": "2", "PATH": "/x", "HOME": "/h", "TMPDIR": "/t", "C": ""} {
		if got := getEnv(env, name); got != want {
			t.Errorf("%s=%q, want %q", name, got, want)
		}
	}
	if slices.Contains(env, "nonsense") || !slices.Contains(env, "B=") {
		t.Error(env)
	}
}

// TestClip compares the bounded store with keeping everything.
func TestClip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(2, 40).Draw(t, "limit")
		parts := rapid.SliceOf(rapid.SliceOfN(rapid.Byte(), 0, 60)).Draw(t, "parts")
		c := newClip(limit)
		var all []byte
		for _, p := range parts {
			c.add(p)
			all = append(all, p...)
		}
		want, half, left := all, limit/2, 0
		if left = len(all) - 2*half; left > 0 {
			want = slices.Concat(all[:half], []byte("\n"+text.BytesLeftOut(int64(left))+"\n"), all[len(all)-half:])
		}
		if got, lost := c.bytes(); !slices.Equal(got, want) || lost != int64(max(left, 0)) {
			t.Fatalf("kept %v, lost %d of %v", got, lost, all)
		}
	})
}

// Wherever the cut is, it leaves next to nothing of a secret that it parts: there
// is no blank around it to cut at.
func TestCutPartsNoSecret(t *testing.T) {
	const key = "R2D2c3poLuke9xWz7fKqPvN3"
	redactor := agency.NewRedactor(key)
	text := []byte(strings.Repeat("x", 480) + key + strings.Repeat("y", 5000) + key + strings.Repeat("z", 480))
	for limit := 940; limit < 1040; limit += 2 {
		c := newClip(limit)
		c.add(text[:len(text)/2])
		c.add(text[len(text)/2:])
		out, _ := c.bytes()
		got := string(redactor.Bytes(out))
		if strings.Contains(got, key[:4]) || strings.Contains(got, key[len(key)-5:]) {
			t.Fatalf("limit %d: %s", limit, strings.Trim(got, "xz"))
		}
	}
}
