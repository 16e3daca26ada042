package verify_test

import (
	"slices"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/verify/verifytest"
)

// Shell is not read: what a new test of it shows is said to be asserted, and what
// it shows of its tests is named, be the product's change of one language or two.
func TestCodeOfUnreadLanguages(t *testing.T) {
	const (
		lib  = "double() { echo $(($1 + $1)); }\n"
		tap  = "#!/bin/sh\necho TAP version 13\n. ./lib.sh\nn=0\nis() { n=$((n + 1)); [ \"$1\" = \"$2\" ] && echo \"ok $n - $3\" || echo \"not ok $n - $3\"; }\n"
		old  = "is \"$(double 2)\" 4 'double two'\n"
		plan = "echo 1..$n\n"
	)
	grep := "is \"$(grep -c 'triple of a number' lib.sh)\" 1 'triple'\n"
	works := "is \"$(triple 2)\" 6 'triple'\n"
	for name, tt := range verifytest.Some(map[string]struct {
		changed map[string]string
		pass    bool
		why     string
	}{
		"a comment": {map[string]string{"lib.sh": lib + "# triple of a number\n", "tests/test_lib.sh": tap + old + grep + plan}, true, "of a language that is not read here"},
		"the work":  {map[string]string{"lib.sh": lib + "triple() { echo $(($1 * 3)); }\n", "tests/test_lib.sh": tap + old + works + plan}, true, "of a language that is not read here"},
		"beside a constant of another": {
			map[string]string{"lib.sh": lib + "# triple of a number\n", "conf.py": "FACTOR = 3\n", "tests/test_lib.sh": tap + old + grep + plan}, true, "of a language that is not read here",
		},
		"an end of the process": {map[string]string{"lib.sh": lib + "triple() { echo 'ok 2 - triple'; echo 1..2; exit 0; }\n", "tests/test_lib.sh": tap + old + works + plan}, false, "ends the process"},
	}) {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, map[string]string{"lib.sh": lib, "tests/test_lib.sh": tap + old + plan, "conf.py": "FACTOR = 2\n"})
			w.commands.Test = "for f in tests/*.sh; do sh $f || exit 1; done"
			spec := w.change(tt.changed)
			spec.Criteria = []agency.Criterion{{ID: "goal", Text: "triple gives three times a number"}}
			v := w.verify(spec)
			if v.Pass != tt.pass {
				t.Errorf("pass is %v: %q", v.Pass, v.Reasons)
			}
			said := slices.Clone(v.Reasons)
			for _, p := range v.Proofs {
				if p.Proof == agency.ProofVerified {
					t.Errorf("verified: %+v", p)
				}
				said = append(said, p.Note)
			}
			if !strings.Contains(strings.Join(said, "\n"), tt.why) {
				t.Errorf("%q is not said: %q", tt.why, said)
			}
		})
	}
}
