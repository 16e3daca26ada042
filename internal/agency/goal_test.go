package agency_test

import (
	"strings"
	"testing"

	"agency/internal/agency"
)

func TestCheckGoal(t *testing.T) {
	for goal, ok := range map[string]bool{
		"Parse durations": true, "設定を読む 🚀\nand more\tof it": true, "\x1b[31mred": true, strings.Repeat("a", agency.MaxGoal): true,
		strings.Repeat("a", agency.MaxGoal+1): false, strings.Repeat("é", 5<<20): false, "a\x00b": false, "a\xff": false,
	} {
		err := agency.CheckGoal(goal)
		if (err == nil) != ok || err != nil && agency.KindOf(err) != agency.KindInvalid {
			t.Errorf("%.20q of %d bytes: %v", goal, len(goal), err)
		}
		if err != nil && len(err.Error()) > 200 {
			t.Errorf("an error of %d bytes", len(err.Error()))
		}
	}
}
