package host

import (
	"fmt"
	"testing"

	"agency/internal/race"
)

// A text that is hidden, and what it looks like within JSON, is taken out;
// placeholders and short ones stay.
func TestSecretsHide(t *testing.T) {
	if race.Enabled {
		t.Skip("nothing here runs beside anything else")
	}
	v := NewSecrets()
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
