package check

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agency/internal/agency"
)

func everything(string, string) bool { return true }

func status(tests []agency.TestResult) map[string]agency.TestStatus {
	out := map[string]agency.TestStatus{}
	for _, t := range tests {
		out[t.Name] = t.Status
	}
	return out
}

const (
	passed  = agency.TestPassed
	failed  = agency.TestFailed
	skipped = agency.TestSkipped
)

func TestParseGo(t *testing.T) {
	for name, tt := range map[string]struct {
		in       string
		cut      bool
		want     map[string]agency.TestStatus
		complete bool
		text     string
	}{
		"results with subtests": {
			in: `{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"run","Package":"p","Test":"TestA/x"}
{"Action":"output","Package":"p","Test":"TestA/x","Output":"=== RUN   TestA/x\n"}
{"Action":"output","Package":"p","Test":"TestA/x","Output":"    a_test.go:3: want 1\n"}
{"Action":"fail","Package":"p","Test":"TestA/x"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"run","Package":"p","Test":"TestS"}
{"Action":"skip","Package":"p","Test":"TestS"}
{"Action":"fail","Package":"p"}`,
			want:     map[string]agency.TestStatus{"p.TestA": failed, "p.TestA/x": failed, "p.TestS": skipped},
			complete: true, text: "want 1",
		},
		"a package that does not build": {
			in: `{"ImportPath":"p [p.test]","Action":"build-output","Output":"p/a.go:1: broken\n"}
{"ImportPath":"p [p.test]","Action":"build-fail"}
{"Action":"start","Package":"p"}
{"Action":"output","Package":"p","Output":"FAIL\tp [build failed]\n"}
{"Action":"fail","Package":"p","FailedBuild":"p [p.test]"}`,
			want:     map[string]agency.TestStatus{"p [build failed]": failed},
			complete: true, text: "p/a.go:1: broken",
		},
		"no test files": {
			in: `{"Action":"start","Package":"p"}
{"Action":"output","Package":"p","Output":"?   \tp\t[no test files]\n"}
{"Action":"skip","Package":"p"}`,
			want: map[string]agency.TestStatus{}, complete: true,
		},
		"killed while tests run": {
			in: `{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestHang"}`,
			want: map[string]agency.TestStatus{"p.TestHang": failed},
		},
		"a timeout of go test names what ran": {
			in: `{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"run","Package":"p","Test":"TestB"}
{"Action":"output","Package":"p","Test":"TestB","Output":"panic: test timed out after 1s\n"}
{"Action":"fail","Package":"p","Test":"TestB"}
{"Action":"fail","Package":"p"}`,
			want:     map[string]agency.TestStatus{"p.TestA": failed, "p.TestB": failed},
			complete: true, text: "timed out",
		},
		"a package that ends outside of its tests": {
			in: `{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Output":"panic: in init\n"}
{"Action":"fail","Package":"p"}`,
			want:     map[string]agency.TestStatus{"p.TestA": passed, "p [failed]": failed},
			complete: true, text: "panic: in init",
		},
		"results that were not announced do not count": {
			in: `{"Action":"start","Package":"p"}
{"Action":"pass","Package":"p","Test":"TestGhost"}
{"Action":"pass","Package":"p"}`,
			want: map[string]agency.TestStatus{}, complete: true,
		},
		"lines between are no events": {
			in: `go: downloading nothing
{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestA"}
{"broken
{"Action":"pass","Package":"p","Test":"TestA"}
[1,2]
{"Action":"pass","Package":"p"}`,
			want: map[string]agency.TestStatus{"p.TestA": passed}, complete: true,
		},
		"cut output is not complete": {
			in: `{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p"}`,
			cut: true, want: map[string]agency.TestStatus{"p.TestA": passed},
		},
		"the same test twice has failed when it failed once": {
			in: `{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p"}
{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p"}`,
			want: map[string]agency.TestStatus{"p.TestA": failed}, complete: true,
		},
		"benchmarks have no results": {
			in: `{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"BenchmarkA"}
{"Action":"output","Package":"p","Test":"BenchmarkA","Output":"BenchmarkA-2 1 ns/op\n"}
{"Action":"pass","Package":"p"}`,
			want: map[string]agency.TestStatus{}, complete: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, complete := parseGo(strings.NewReader(tt.in), tt.cut, everything)
			tl, text := newTally(), newKept(maxText)
			s.into(tl, text, nil)
			if diff := cmp.Diff(tt.want, status(tl.list())); diff != "" {
				t.Error(diff)
			}
			if complete != tt.complete {
				t.Errorf("complete %v", complete)
			}
			if !strings.Contains(text.begin(), tt.text) {
				t.Errorf("text lacks %q:\n%s", tt.text, text.begin())
			}
		})
	}
}

func TestStray(t *testing.T) {
	out := "go: warning\n" + `{"Time":"x","Action":"output","Package":"p","Output":"a"}` + "\n" +
		`e":"output","Package":"p","Action":"pass"}` + "\n# vet says\n"
	got := newKept(maxText)
	stray([]byte(out), got)
	if want := "go: warning\n# vet says\n"; got.begin() != want {
		t.Errorf("got %q", got.begin())
	}
}

func TestOutputsAreCapped(t *testing.T) {
	tl := newTally()
	for _, n := range strings.Split("abcdefghijklmnopqrstuvwxyz", "") {
		tl.add("p.Test"+n, failed, keep("first line\n"+strings.Repeat("x", maxTestOutput)+"\nlast line\n"))
	}
	all := 0
	for i, r := range tl.list() {
		all += len(r.Output)
		if len(r.Output) > maxTestOutput {
			t.Errorf("%s keeps %d bytes", r.Name, len(r.Output))
		}
		if i == 0 && (!strings.Contains(r.Output, "first line") || !strings.Contains(r.Output, "last line")) {
			t.Errorf("head or tail is missing: %.80s", r.Output)
		}
	}
	if all > maxAllOutputs {
		t.Errorf("%d bytes are kept", all)
	}
}

func FuzzParseGo(f *testing.F) {
	f.Add([]byte(`{"Action":"run","Package":"p","Test":"TestA"}` + "\n" + `{"Action":"fail","Package":"p"}`))
	f.Add([]byte("{\"Action\":\"build-output\",\"ImportPath\":\"x\"}\n\x16--- PASS"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, _ := parseGo(bytes.NewReader(b), false, everything)
		s.into(newTally(), newKept(maxText), b)
		_, _ = parseJUnit(bytes.NewReader(b), paths{}, newTally()) // whether it is a report is all the same
	})
}
