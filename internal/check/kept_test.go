package check

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/testreport"
)

// An output that is held for the parsers has no name, and an end.
func TestSpill(t *testing.T) {
	dir := t.TempDir()
	s, err := newSpill(dir, 10)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if left, err := os.ReadDir(filepath.Join(dir, reportsDir)); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
	_, err = s.Write([]byte("1234567"))
	if _, over := s.Write([]byte("8901")); err != nil || !errors.Is(over, errFull) {
		t.Errorf("%v, %v", err, over)
	}
	for range 2 {
		if got, err := io.ReadAll(s.read()); err != nil || string(got) != "1234567" {
			t.Errorf("%q, %v", got, err)
		}
	}
}

// A long text, attribute or comment is cut in its middle before anybody holds
// it; what stands around it is as it was.
func TestShortXML(t *testing.T) {
	long := strings.Repeat("ä &amp; ö ", 100_000)
	plain := strings.Repeat("ä ö ", 100_000) // whose bytes are those of the document
	doc := `<?xml version="1.0"?><!-- a > b --><testsuites><!-- ` + long + ` --><testsuite name="s"><system-out>` + long + `</system-out>
<testcase name="a"><failure message="begin ` + long + ` end"><![CDATA[first ` + long + ` last]]></failure></testcase>
<testcase name="b"><failure>first ` + plain + ` last</failure></testcase></testsuite></testsuites>`
	got := testreport.NewTally()
	complete, err := testreport.ReadJUnit(strings.NewReader(doc), testreport.Paths{}, got)
	if err != nil || !complete || got.Size() != 2 {
		t.Fatalf("%t, %v, %v", complete, err, got.List())
	}
	for i, begin := range []string{"begin ä", "first ä"} {
		out := got.List()[i].Output
		if !strings.HasPrefix(out, begin) || !strings.HasSuffix(out, " last\n") || len(out) > testreport.MaxTestOutput {
			t.Errorf("%s: %.60q ... %q", got.List()[i].Name, out, out[max(0, len(out)-60):])
		}
	}
	// The number is that of the whole: both cuts are in it.
	begin, end, _ := strings.Cut(got.List()[1].Output, "\n[... ")
	number, end, _ := strings.Cut(end, " bytes left out ...]\n")
	if all := len("first "+plain+" last\n") - len(begin) - len(end); number != fmt.Sprint(all) {
		t.Errorf("%s bytes left out, want %d", number, all)
	}
}

// Long texts cost what is kept of them, in Jest's JSON too.
func TestShortJSON(t *testing.T) {
	long := strings.Repeat(`a line \"quoted\" \ud83d\ude00 \u001b[31mred\u001b[0m\n`, 50_000)
	doc := `{"coverageMap": {"x": [1, {"y": "}` + long + `"}, null]}, "testResults": [{"assertionResults": [
{"ancestorTitles": ["", "suite"], "failureMessages": ["first ` + long + `", "last"], "status": "failed", "title": "\u0061dds", "duration": 1.5e3},
{"ancestorTitles": null, "failureMessages": [], "status": "passed", "title": "b"}], "name": "/repo/a.test.js", "status": "failed"},
{"name": "/repo/b.test.js", "status": "failed", "message": "cannot load", "assertionResults": []}], "wasInterrupted": false}`
	for _, tt := range []struct {
		doc   string
		whole bool
	}{{doc, true}, {doc[:len(doc)-1], false}, {"[]", false}, {"{}", false}} {
		got := testreport.NewTally()
		if whole, _ := readBy("jest", strings.NewReader(tt.doc), testreport.Paths{Roots: []string{"/repo"}}, got); whole != tt.whole {
			t.Errorf("%.30s: complete %t", tt.doc, !tt.whole)
		}
		if len(tt.doc) < 10 {
			continue
		}
		if s := byName(got); len(s) != 3 || s["a.test.js > suite > adds"] != agency.TestFailed || s["a.test.js > b"] != agency.TestPassed || s["b.test.js [failed]"] != agency.TestFailed {
			t.Errorf("%v", s)
		}
		if out := got.List()[0].Output; !strings.HasPrefix(out, "first a line \"quoted\" 😀 red\n") || !strings.HasSuffix(out, "\nlast") || len(out) > testreport.MaxTestOutput {
			t.Errorf("%.80q ... %q", out, out[max(0, len(out)-80):])
		}
	}
}
