package host

import (
	"fmt"
	"strings"
	"testing"

	"agency/internal/agency"
)

func TestCheckGoal(t *testing.T) {
	for goal, ok := range map[string]bool{
		"Parse durations": true, "設定を読む 🚀\nand more\tof it": true, "\x1b[31mred": true, strings.Repeat("a", MaxGoal): true,
		strings.Repeat("a", MaxGoal+1): false, strings.Repeat("é", 5<<20): false, "a\x00b": false, "a\xff": false,
	} {
		err := CheckGoal(goal)
		if (err == nil) != ok || err != nil && agency.KindOf(err) != agency.KindInvalid {
			t.Errorf("%.20q of %d bytes: %v", goal, len(goal), err)
		}
		if err != nil && len(err.Error()) > 200 {
			t.Errorf("an error of %d bytes", len(err.Error()))
		}
	}
}

// A text that is hidden, and what it looks like within JSON, is taken out;
// placeholders and short ones stay.
func TestVaultHides(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing here runs beside anything else")
	}
	v := NewVault()
	v.Put("run-1", map[string]string{"lab": "lab-k7Qz9-Pm3x"})
	v.Hide([]string{"qu7ted-\"k9yZ\"-14Q", "not-needed", "lab-k7Qz9-Pm3xXw8Ry"})
	for in, want := range map[string]string{
		"a qu7ted-\"k9yZ\"-14Q b":             "a [redacted] b",
		`{"k":"qu7ted-\"k9yZ\"-14Q"}`:         `{"k":"[redacted]"}`,
		"lab-k7Qz9-Pm3xXw8Ry, lab-k7Qz9-Pm3x": "[redacted], [redacted]",
		"not-needed":                          "not-needed",
	} {
		if got := string(v.Redact([]byte(in))); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	for i := range 2 * maxHidden {
		v.Hide([]string{fmt.Sprintf("Zq81hhd72k-%d", i)})
	}
	if len(v.hidden) > maxHidden {
		t.Errorf("%d texts are hidden", len(v.hidden))
	}
}
