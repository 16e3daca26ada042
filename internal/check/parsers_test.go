package check

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agency/internal/agency"
	"agency/internal/ecosystem"
	"agency/internal/testreport"
)

func byName(t *testreport.Tally) map[string]agency.TestStatus {
	out := map[string]agency.TestStatus{}
	for _, r := range t.List() {
		out[r.Name] = r.Status
	}
	return out
}

// TestRecorded reads what runners wrote that this machine need not have.
func TestRecorded(t *testing.T) {
	p := testreport.Paths{Roots: []string{"/repo"}, Dir: "web"}
	for name, read := range map[string]string{
		"jest.json":    "jest",
		"vitest.json":  "vitest",
		"mocha.ndjson": "mocha",
	} {
		doc, err := os.ReadFile(filepath.Join("testdata", "reports", name))
		if err != nil {
			t.Fatal(err)
		}
		got := testreport.NewTally()
		if complete, _ := readBy(read, bytes.NewReader(doc), p, got); !complete {
			t.Errorf("%s: not complete", name)
		}
		want := map[string]agency.TestStatus{
			"web/sum.test.js > sum > adds": agency.TestPassed, "web/sum.test.js > sum > adds wrongly": agency.TestFailed,
			"web/sum.test.js > later": agency.TestSkipped,
		}
		if name != "mocha.ndjson" { // which ends before its first test
			want["web/broken.test.js [failed]"] = agency.TestFailed
		}
		if diff := cmp.Diff(want, byName(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestCargoText(t *testing.T) {
	const text = `     Running unittests src/lib.rs (target/debug/deps/sums-0123456789abcdef)

running 2 tests
test tests::adds ... ok
test tests::fails ... FAILED

failures:

---- tests::fails stdout ----
test tests::forged ... ok
test result: lies

failures:
    tests::fails

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

   Doc-tests sums

running 2 tests
test src/lib.rs - add (line 1) ... ok
test src/lib.rs - add (line 9) ... ok

test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
`
	got := testreport.NewTally()
	complete, ok := readBy("cargo test", strings.NewReader(text), testreport.Paths{Dir: "core"}, got)
	want := map[string]agency.TestStatus{
		"core/sums::tests::adds": "passed", "core/sums::tests::fails": "failed",
		"core/sums doc::src/lib.rs - add": "passed", "core/sums doc::src/lib.rs - add (2)": "passed",
	}
	if diff := cmp.Diff(want, byName(got)); !complete || !ok || diff != "" {
		t.Errorf("complete %t, ok %t (-want +got):\n%s", complete, ok, diff)
	}
	if complete, _ := readBy("cargo test", strings.NewReader("running 2 tests\ntest a ... ok\ntest result: ok. 2 passed\n"), testreport.Paths{}, testreport.NewTally()); complete {
		t.Error("a target with a result too few is complete")
	}
}

func TestProfiles(t *testing.T) {
	p := testreport.NewProfile(testreport.NewAllowance(maxRead, time.Minute, time.Minute))
	at := testreport.Paths{Roots: []string{"/repo"}, Dir: "web"}
	p.ReadLCOV(strings.NewReader("SF:src/a.js\nDA:1,2\nDA:2,0\nend_of_record\nSF:/repo/b.js\nDA:4,1\nend_of_record\nSF:/usr/lib/x.js\nDA:1,1\n"), at)
	err := p.ReadCobertura(strings.NewReader(`<coverage><sources><source>/repo/py</source></sources><packages><package><classes><class filename="m.py"><lines><line number="1" hits="1"/><line number="2" hits="0"/></lines></class></classes></package></packages></coverage>`), at)
	want := []FileCoverage{
		{Path: "b.js", Ran: []Lines{{4, 4}}},
		{Path: "py/m.py", Ran: []Lines{{1, 1}}, Missed: []Lines{{2, 2}}},
		{Path: "web/src/a.js", Ran: []Lines{{1, 1}}, Missed: []Lines{{2, 2}}},
	}
	if diff := cmp.Diff(want, filesOf(p)); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func FuzzReports(f *testing.F) {
	f.Add([]byte("TAP version 13\nok 1 a\n1..1\n"))
	f.Add([]byte("     Running unittests src/lib.rs (target/debug/deps/x-0123456789abcdef)\nrunning 1 test\ntest a ... ok\ntest result: ok.\n"))
	f.Add([]byte(`{"file":"/repo/a.js","name":["x"],"status":"failed"}` + "\n" + `{"end":true}`))
	f.Add([]byte(`{"testResults":[{"name":"a","assertionResults":[{"title":"x","status":"passed"}]}]}`))
	f.Add([]byte("ex.com/p/a.go:1.1,2.3 1 1\n"))
	f.Add([]byte("<"))
	f.Add([]byte(`{"packages":{"":{},"node_modules/a":{"version":"1.0.0","optional":true}}}`))
	f.Add([]byte(`{"result":[{"url":"file:///repo/d/package.js","functions":[{"ranges":[{"startOffset":0,"endOffset":9,"count":1}]}]}]}`))
	f.Add([]byte(`<testsuite name="s"><!-- x --><testcase name='a'><failure><![CDATA[b]]></failure></testcase></testsuite>`))
	f.Fuzz(func(t *testing.T, b []byte) {
		p := testreport.Paths{Roots: []string{"/repo"}, Dir: "d"}
		testreport.ReadTAP(bytes.NewReader(b), p, testreport.NewTally())
		readBy("cargo test", bytes.NewReader(b), p, testreport.NewTally())
		readBy("unittest", bytes.NewReader(b), p, testreport.NewTally())
		readBy("jest", bytes.NewReader(b), p, testreport.NewTally())
		_, _ = testreport.ReadJUnit(bytes.NewReader(b), p, testreport.NewTally()) // whether it is a report is all the same
		cover := testreport.NewProfile(testreport.NewAllowance(maxRead, time.Minute, time.Minute))
		fuzzed := func(runner, end string, root *os.Root) {
			coverageBy(runner, end, bytes.NewReader(b), ecosystem.Measured{Profile: cover, At: p, Repo: root, Asked: []string{"package.js"}})
		}
		cover.ReadLCOV(bytes.NewReader(b), p)
		_ = cover.ReadCobertura(bytes.NewReader(b), p)
		filesOf(cover)
		dir := t.TempDir()
		for _, name := range []string{"package-lock.json", ".package-lock.json", "package.json", "package.js"} {
			if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = root.Close() }()
		Dependency{Unit: ecosystem.Unit{Folder: ".", Locks: []string{"package-lock.json"}}, Repo: dir}.inStep()
		lockSum(root, "package.json")
		fuzzed("mocha", "-v8/*.json", root)
		fuzzed("go test", ".cover", root)
		filesOf(cover)
		makePlan(string(b), ecosystem.Repo{}, "/out", ecosystem.Measure{All: true, Files: []string{"a/b.go", "c.py", "d.js"}})
		Touched(string(b), []string{"a/b"})
	})
}
