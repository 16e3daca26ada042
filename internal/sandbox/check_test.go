package sandbox

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"agency/internal/agency"
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
		want, half := all, limit/2
		if len(all) > 2*half {
			head, tail := all[:half], all[len(all)-half:]
			if i := bytes.LastIndexAny(head, " \t\r\n"); i >= 0 {
				head = head[:i+1]
			}
			if i := bytes.IndexAny(tail, " \t\r\n"); i >= 0 {
				tail = tail[i:]
			}
			want = slices.Concat(head, tail)
		}
		if got, lost := c.bytes(); !slices.Equal(got, want) || lost != int64(len(all)-len(want)) {
			t.Fatalf("kept %v, lost %d of %v", got, lost, all)
		}
	})
}

// A cut halves no word, so that a key in an output is there as a whole or not
// at all.
func TestCutHalvesNoWord(t *testing.T) {
	const word = "R2D2c3poLuke9xWz7fKqPvN3"
	text := []byte(strings.Repeat(word+"\n", 400))
	for limit := 1000; limit < 1000+2*len(word); limit++ {
		c := newClip(limit)
		c.add(text[:len(text)/2])
		c.add(text[len(text)/2:])
		got, lost := c.bytes()
		for line := range strings.FieldsSeq(string(got)) {
			if line != word {
				t.Fatalf("limit %d: a line is %q", limit, line)
			}
		}
		if len(got) < limit/2 || int(lost)+len(got) != len(text) {
			t.Fatalf("limit %d: kept %d, lost %d of %d", limit, len(got), lost, len(text))
		}
	}
}
