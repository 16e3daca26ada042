package sandbox

import (
	"path/filepath"
	"testing"

	"agency/internal/agency"
)

// What is not there may come back: its absence is no result of a command.
func TestFolderThatIsAwayIsNoResult(t *testing.T) {
	s := Spec{Place: Place{Root: t.TempDir(), At: "/work"}, Reads: []Mount{{Host: filepath.Join(t.TempDir(), "away"), At: "/away"}}}
	if _, err := makePlan(s, agency.Sight{}, nil); planKind(err) != agency.KindTransient {
		t.Errorf("%v", err)
	}
	if planKind(agency.Errorf(agency.KindInvalid, "a faulty plan")) != agency.KindInvalid {
		t.Error("a faulty plan would be tried again")
	}
}
