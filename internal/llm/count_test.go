package llm_test

import (
	"encoding/json"
	"testing"

	"agency/internal/llm"
)

// A count is a number of tokens whatever a server writes: never negative, and
// never so large that a sum of them is none.
func TestAmount(t *testing.T) {
	for text, want := range map[string]llm.Amount{
		"12": 12, "12.9": 12, `"12"`: 12, "0": 0, "-5": 0, "null": 0, `"x"`: 0, "{}": 0,
		"1e300": 1 << 40, "1e999": 1 << 40, "-1e999": 0, "9223372036854775807": 1 << 40, "99999999999999999999": 1 << 40,
	} {
		got := llm.Amount(7)
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want && text != "null" {
			t.Errorf("%s is %d, want %d (%v)", text, got, want, err)
		}
	}
}
