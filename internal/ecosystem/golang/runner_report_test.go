package golang

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agency/internal/agency"
	"agency/internal/testreport"
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
			tl, text := testreport.NewTally(), testreport.NewExcerpt(testreport.MaxText)
			s.into(tl, text, nil)
			if diff := cmp.Diff(tt.want, status(tl.List())); diff != "" {
				t.Error(diff)
			}
			if complete != tt.complete {
				t.Errorf("complete %v", complete)
			}
			if !strings.Contains(text.Begin(), tt.text) {
				t.Errorf("text lacks %q:\n%s", tt.text, text.Begin())
			}
		})
	}
}

// Of packages only what the results do not say is shown.
func TestCountedLines(t *testing.T) {
	var in strings.Builder
	for _, line := range []string{
		"PASS\n", "ok  \tp\t0.018s\n", "?   \tp/q\t[no test files]\n", "FAIL\n",
		"log of init\n", "coverage: 80.0% of statements\n", "ok  \tp\t0.018s [no tests to run]\n", "FAIL\tp\t0.1s\n",
	} {
		_, _ = fmt.Fprintf(&in, `{"Action":"output","Package":"p","Output":%q}`+"\n", line)
	}
	s, _ := parseGo(strings.NewReader(in.String()), false, everything)
	got := testreport.NewExcerpt(testreport.MaxText)
	s.into(testreport.NewTally(), got, nil)
	want := "log of init\ncoverage: 80.0% of statements\nok  \tp\t0.018s [no tests to run]\nFAIL\tp\t0.1s\n"
	if diff := cmp.Diff(want, got.Begin()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestStray(t *testing.T) {
	out := "go: warning\n" + `{"Time":"x","Action":"output","Package":"p","Output":"a"}` + "\n" +
		`e":"output","Package":"p","Action":"pass"}` + "\n# vet says\n"
	got := testreport.NewExcerpt(testreport.MaxText)
	stray([]byte(out), got)
	if want := "go: warning\n# vet says\n"; got.Begin() != want {
		t.Errorf("got %q", got.Begin())
	}
}

func FuzzParseGo(f *testing.F) {
	f.Add([]byte(`{"Action":"run","Package":"p","Test":"TestA"}` + "\n" + `{"Action":"fail","Package":"p"}`))
	f.Add([]byte("{\"Action\":\"build-output\",\"ImportPath\":\"x\"}\n\x16--- PASS"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, _ := parseGo(bytes.NewReader(b), false, everything)
		s.into(testreport.NewTally(), testreport.NewExcerpt(testreport.MaxText), b)
		_, _ = testreport.ReadJUnit(bytes.NewReader(b), testreport.Paths{}, testreport.NewTally()) // whether it is a report is all the same
	})
}

// Tests without number that fail with much to say have one room together, which
// those that pass give back.
func TestRoomIsBounded(t *testing.T) {
	var b strings.Builder
	long := strings.Repeat("x", 1000)
	for i := range 2000 {
		end := "fail"
		if i%2 == 0 {
			end = "pass"
		}
		_, _ = fmt.Fprintf(&b, `{"Action":"run","Package":"p","Test":"Test%d"}`+"\n", i)
		for range 8 {
			_, _ = fmt.Fprintf(&b, `{"Action":"output","Package":"p","Test":"Test%d","Output":"%s\n"}`+"\n", i, long)
		}
		_, _ = fmt.Fprintf(&b, `{"Action":"%s","Package":"p","Test":"Test%d"}`+"\n", end, i)
	}
	s, _ := parseGo(strings.NewReader(b.String()), false, everything)
	held := 0
	for k := range s.room.Texts {
		held += k.Size()
	}
	if len(s.room.Texts) != 1000 || held != s.room.Used || held > testreport.MaxKept || held < testreport.MaxKept/4 {
		t.Errorf("%d texts of %d bytes, %d counted", len(s.room.Texts), held, s.room.Used)
	}
	tl := testreport.NewTally()
	s.into(tl, testreport.NewExcerpt(testreport.MaxText), nil)
	if r := tl.List()[1]; r.Status != failed || !strings.HasSuffix(r.Output, "x\n") || !strings.Contains(r.Output, "bytes left out") {
		t.Errorf("%+v", r)
	}
}
