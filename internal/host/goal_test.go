package host

import (
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
	v := NewVault()
	v.Put("run-1", map[string]string{"lab": "lab-key-1"})
	v.Hide([]string{"quoted-\"key\"-1", "not-needed", "lab-key-1-and-more"})
	for in, want := range map[string]string{
		"a quoted-\"key\"-1 b":          "a [redacted] b",
		`{"k":"quoted-\"key\"-1"}`:      `{"k":"[redacted]"}`,
		"lab-key-1-and-more, lab-key-1": "[redacted], [redacted]",
		"not-needed":                    "not-needed",
	} {
		if got := string(v.Redact([]byte(in))); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	for i := range 2 * maxHidden {
		v.Hide([]string{strings.Repeat("x", minHidden) + strings.Repeat("y", i)})
	}
	if len(v.hidden) > maxHidden {
		t.Errorf("%d texts are hidden", len(v.hidden))
	}
}
