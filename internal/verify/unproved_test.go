package verify_test

import (
	"cmp"
	"strings"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/verify"
	"agency/internal/verify/verifytest"
)

// What the gate says of changed lines is true: whole, in part, or not at all.
func TestUnprovedLines(t *testing.T) {
	calc := func(limit, sign string) string {
		return "package p\n\nconst Limit = " + limit + "\n\nfunc Abs(a int) int {\n\tif a < 0 {\n\t\treturn " + sign + "a\n\t}\n\treturn a\n}\n"
	}
	absTest := "package p\n\nimport \"testing\"\n\nfunc TestAbs(t *testing.T) {\n\tif Abs(0) != 0 || Abs(3) != 3 || Abs(-3) == 4 {\n\t\tt.Error(\"abs\")\n\t}\n}\n"
	for name, tt := range verifytest.Some(map[string]struct {
		base, claim map[string]string
		time        time.Duration // 0: enough
		want        agency.Unproved
		says        string
	}{
		"tests that pass without the change hold nothing of it, constants included": {
			base:  map[string]string{"abs.go": calc("10", ""), "abs_test.go": absTest},
			claim: map[string]string{"abs.go": calc("20", "-")},
			want:  agency.Unproved{Lines: 2, Changed: 2}, says: "abs.go 2 of 2",
		},
		"a constant that a test reads is held": {
			base:  map[string]string{"abs.go": calc("10", "-"), "abs_test.go": absTest},
			claim: map[string]string{"abs.go": calc("20", "-"), "limit_test.go": "package p\n\nimport \"testing\"\n\nfunc TestLimit(t *testing.T) {\n\tif Limit != 20 {\n\t\tt.Error(Limit)\n\t}\n}\n"},
			want:  agency.Unproved{Changed: 1},
		},
		"what a slow suite may hold is not tried": {
			base:  map[string]string{"abs.go": calc("10", ""), "abs_test.go": absTest},
			claim: map[string]string{"abs.go": calc("10", "-")},
			time:  time.Nanosecond,
			want:  agency.Unproved{NotTried: 1}, says: "not tried",
		},
	}) {
		t.Run(name, func(t *testing.T) {
			files := baseFiles()
			for path, text := range tt.base {
				files[path] = text
			}
			w := newWorld(t, files)
			w.options.LinesFor = cmp.Or(tt.time, w.options.LinesFor)
			w.verifier = verify.New(w.options)
			got := w.verify(w.change(tt.claim)).Unproved
			if got == nil || got.Lines != tt.want.Lines || got.Changed != tt.want.Changed || got.NotTried != tt.want.NotTried || !strings.Contains(got.Line(), tt.says) {
				t.Errorf("%+v: %s", got, got.Line())
			}
		})
	}
}
