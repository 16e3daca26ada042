package check

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What is kept of a text says the same as the whole would, in whatever pieces it
// came.
func TestKeptIsClip(t *testing.T) {
	var whole strings.Builder
	for i := range 3000 {
		_, _ = fmt.Fprintf(&whole, "line %d of äöü\n", i)
	}
	for _, size := range []int{0, 10, maxTestOutput - 1, maxTestOutput, maxTestOutput + 1, maxOutput, whole.Len()} {
		s := whole.String()[:size]
		for _, step := range []int{1, 7, 1000, 1 << 20} {
			k := newKept(maxOutput)
			for rest := s; rest != ""; rest = rest[min(step, len(rest)):] {
				_, _ = io.WriteString(k, rest[:min(step, len(rest))])
			}
			for _, limit := range []int{10, 64, maxTestOutput, maxOutput} {
				if got, want := k.clip(limit), clip(s, limit); got != want {
					t.Fatalf("%d bytes by %d at %d:\n%.200q\n%.200q", size, step, limit, got, want)
				}
			}
			k.shrink(maxTestOutput)
			if got, want := k.clip(maxTestOutput), clip(s, maxTestOutput); got != want || k.size() > maxTestOutput {
				t.Fatalf("%d bytes by %d, shrunk to %d:\n%.200q\n%.200q", size, step, k.size(), got, want)
			}
		}
	}
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
	for k := range s.room.texts {
		held += k.size()
	}
	if len(s.room.texts) != 1000 || held != s.room.used || held > maxKept || held < maxKept/4 {
		t.Errorf("%d texts of %d bytes, %d counted", len(s.room.texts), held, s.room.used)
	}
	tl := newTally()
	s.into(tl, newKept(maxText), nil)
	if r := tl.order[1]; r.Status != failed || !strings.HasSuffix(r.Output, "x\n") || !strings.Contains(r.Output, "bytes left out") {
		t.Errorf("%+v", r)
	}
}

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
	got := newTally()
	complete, err := parseJUnit(strings.NewReader(doc), paths{}, got)
	if err != nil || !complete || len(got.order) != 2 {
		t.Fatalf("%t, %v, %v", complete, err, got.order)
	}
	for i, begin := range []string{"begin ä", "first ä"} {
		out := got.order[i].Output
		if !strings.HasPrefix(out, begin) || !strings.HasSuffix(out, " last\n") || len(out) > maxTestOutput {
			t.Errorf("%s: %.60q ... %q", got.order[i].Name, out, out[max(0, len(out)-60):])
		}
	}
	// The number is that of the whole: both cuts are in it.
	begin, end, _ := strings.Cut(got.order[1].Output, "\n[... ")
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
		got := newTally()
		if parseJest(strings.NewReader(tt.doc), paths{roots: []string{"/repo"}}, got) != tt.whole {
			t.Errorf("%.30s: complete %t", tt.doc, !tt.whole)
		}
		if len(tt.doc) < 10 {
			continue
		}
		if s := byName(got); len(s) != 3 || s["a.test.js > suite > adds"] != failed || s["a.test.js > b"] != passed || s["b.test.js [failed]"] != failed {
			t.Errorf("%v", s)
		}
		if out := got.order[0].Output; !strings.HasPrefix(out, "first a line \"quoted\" 😀 red\n") || !strings.HasSuffix(out, "\nlast") || len(out) > maxTestOutput {
			t.Errorf("%.80q ... %q", out, out[max(0, len(out)-80):])
		}
	}
}
