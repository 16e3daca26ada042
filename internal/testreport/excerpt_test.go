package testreport

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"agency/internal/agency"
)

// What is kept of a text says the same as the whole would, in whatever pieces it
// came.
func TestKeptIsClip(t *testing.T) {
	var whole strings.Builder
	for i := range 3000 {
		_, _ = fmt.Fprintf(&whole, "line %d of äöü\n", i)
	}
	for _, size := range []int{0, 10, MaxTestOutput - 1, MaxTestOutput, MaxTestOutput + 1, MaxOutput, whole.Len()} {
		s := whole.String()[:size]
		for _, step := range []int{1, 7, 1000, 1 << 20} {
			k := NewExcerpt(MaxOutput)
			for rest := s; rest != ""; rest = rest[min(step, len(rest)):] {
				_, _ = io.WriteString(k, rest[:min(step, len(rest))])
			}
			for _, limit := range []int{10, 64, MaxTestOutput, MaxOutput} {
				if got, want := k.Clip(limit), Clip(s, limit); got != want {
					t.Fatalf("%d bytes by %d at %d:\n%.200q\n%.200q", size, step, limit, got, want)
				}
			}
			k.Shrink(MaxTestOutput)
			if got, want := k.Clip(MaxTestOutput), Clip(s, MaxTestOutput); got != want || k.Size() > MaxTestOutput {
				t.Fatalf("%d bytes by %d, shrunk to %d:\n%.200q\n%.200q", size, step, k.Size(), got, want)
			}
		}
	}
}

func TestOutputsAreCapped(t *testing.T) {
	tl := NewTally()
	for _, n := range strings.Split("abcdefghijklmnopqrstuvwxyz", "") {
		tl.Add("p.Test"+n, agency.TestFailed, Whole("first line\n"+strings.Repeat("x", MaxTestOutput)+"\nlast line\n"))
	}
	all := 0
	for i, r := range tl.List() {
		all += len(r.Output)
		if len(r.Output) > MaxTestOutput {
			t.Errorf("%s keeps %d bytes", r.Name, len(r.Output))
		}
		if i == 0 && (!strings.Contains(r.Output, "first line") || !strings.Contains(r.Output, "last line")) {
			t.Errorf("head or tail is missing: %.80s", r.Output)
		}
	}
	if all > MaxAllOutputs {
		t.Errorf("%d bytes are kept", all)
	}
}
