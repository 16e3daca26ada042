package testreport

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agency/internal/agency"
)

func byName(t *Tally) map[string]agency.TestStatus {
	out := map[string]agency.TestStatus{}
	for _, r := range t.List() {
		out[r.Name] = r.Status
	}
	return out
}

func TestTAP(t *testing.T) {
	for _, tt := range []struct {
		text         string
		want         map[string]agency.TestStatus
		complete, ok bool
	}{
		{
			"TAP version 13\n# sum\nok 1 adds\nnot ok 2 - adds wrongly\n  ---\n  message: ok 9 forged\n  ...\nok 3 later # SKIP not yet\n    ok 1 - a subtest\nok 4 adds\n1..4\n",
			map[string]agency.TestStatus{"sum > adds": "passed", "sum > adds wrongly": "failed", "sum > later": "skipped", "sum > adds (2)": "passed"},
			true, true,
		},
		{ // tape's: titles part what has one name, and are no comments of a failed point
			"TAP version 13\n# first\nok 1 should be equal\n# second\nnot ok 2 should be equal\n# its comment\n# and more\nok 3 is\n# SKIP third\n\n1..3\n# tests 3\n# pass 2\n",
			map[string]agency.TestStatus{"first > should be equal": "passed", "second > should be equal": "failed", "second > is": "passed", "third": "skipped"},
			true, true,
		},
		{ // those of writers that begin with the plan, or have subtests, name nothing
			"TAP version 13\n1..2\n# noise\nok 1 a\n# Subtest: b\n    ok 1 - inner\n    1..1\nok 2 - b\n",
			map[string]agency.TestStatus{"a": "passed", "b": "passed", "b > inner": "passed"},
			true, true,
		},
		{ // directives and timings are no part of a name, and an issue's number is
			"TAP version 13\nok 1 - a # time=12.3ms\nok 2 - b # SKIP not here # time=1ms\nnot ok 3 - c # TODO later\nok 4 - as in # 12\nok 5 - hash \\# skip\nok 6 - # skip\n1..6\n# time=40.2ms\n",
			map[string]agency.TestStatus{"a": "passed", "b": "skipped", "c": "skipped", "as in # 12": "passed", "hash # skip": "passed", "test 6": "skipped"},
			true, true,
		},
		{ // node:test's own, with details that hold what looks like a point
			"TAP version 13\n# Subtest: sum\n    # Subtest: adds\n    ok 1 - adds\n      ---\n      duration_ms: 0.4\n      error: |-\n        ok 7 - forged\n      ...\n    # Subtest: keeps\n    not ok 2 - keeps\n      ---\n      stack: 'x'\n      ...\n    1..2\nnot ok 1 - sum\n  ---\n  type: 'suite'\n  ...\n# Subtest: adds\nok 2 - adds\n1..2\n# tests 3\n# pass 2\n",
			map[string]agency.TestStatus{"sum > adds": "passed", "sum > keeps": "failed", "sum": "failed", "adds": "passed"},
			true, true,
		},
		{ // node-tap's, as it comes and in one piece
			"TAP version 14\n# Subtest: test/a.js\n    # Subtest: adds\n        ok 1 - should be equal\n        1..1\n    ok 1 - adds # time=2.1ms\n    1..1\nok 1 - test/a.js # time=300ms\nok 2 - test/b.js # time=12ms {\n    not ok 1 - deep # time=1ms {\n        not ok 1 - same\n        1..1\n    }\n    ok 2 - side\n    1..2\n}\n\n1..2\n# time=400ms\n",
			map[string]agency.TestStatus{
				"test/a.js": "passed", "test/a.js > adds": "passed", "test/a.js > adds > should be equal": "passed", "test/b.js": "passed",
				"test/b.js > deep": "failed", "test/b.js > deep > same": "failed", "test/b.js > side": "passed",
			},
			true, true,
		},
		{ // a subtest that its own point does not end was printed by what is tested; what failed in it stays
			"TAP version 13\n# Subtest: calc\n    ok 1 - forged\n    # Subtest: deep\n        ok 1 - forged too\n    1..1\nok 1 - adds\n# Subtest: sub\n    not ok 1 - red\n    ok 2 - cut\n1..1\n",
			map[string]agency.TestStatus{"adds": "passed", "sub > red": "failed"},
			true, true,
		},
		// Documents of programs that run one after the other.
		{"1..2\nok 1 a\nok 2 b\n1..1\nok 1 c\n", map[string]agency.TestStatus{"a": "passed", "b": "passed", "c": "passed"}, true, true},
		{"TAP version 13\nok 1 a\n1..1\nTAP version 13\nok 1 a\n1..1\nok 1 c\n1..1\n", map[string]agency.TestStatus{"a": "passed", "a (2)": "passed", "c": "passed"}, true, true},
		{"1..1\nok 1 a\n1..2\nok 1 c\n", map[string]agency.TestStatus{"a": "passed", "c": "passed"}, false, true},
		{"1..2\nok 1 a\n1..1\nok 2 b\nok 3 c\n", map[string]agency.TestStatus{"a": "passed", "b": "passed", "c": "passed"}, false, true},
		{"1..3\nok 1 a\n", map[string]agency.TestStatus{"a": "passed"}, false, true},
		{"1..2\nok 1 a\nBail out! no database\n", map[string]agency.TestStatus{"a": "passed", "bail out [failed]": "failed"}, false, true},
		{"ok 1 a\nok 2 b\n", map[string]agency.TestStatus{}, false, false},
		{"all is well\n", map[string]agency.TestStatus{}, false, false},
	} {
		got := NewTally()
		complete, ok := ReadTAP(strings.NewReader(tt.text), Paths{Dir: "."}, got)
		if diff := cmp.Diff(tt.want, byName(got)); complete != tt.complete || ok != tt.ok || diff != "" {
			t.Errorf("%q: complete %t, ok %t (-want +got):\n%s", tt.text, complete, ok, diff)
		}
	}
}
