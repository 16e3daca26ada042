package resources

import (
	"errors"
	"testing"
)

// A test command is said to name no tests only where everything that it runs is read and
// none of it can.
func TestRunsNothingKnown(t *testing.T) {
	files := map[string]string{
		"check.sh": "test -s kept.txt", "deep.sh": ". ./ci/all.sh", "ci/all.sh": "sh one.sh", "ci/one.sh": "pytest -q", "self.sh": "sh ./self.sh",
		"ci/plain.sh": "cd ci; . ./more.sh", "ci/more.sh": "grep -q x y", "calls.sh": "make test", "huge.sh": "",
	}
	for command, want := range map[string]bool{
		"sh check.sh": true, "./check.sh": true, "sh ci/plain.sh": true, "sh self.sh": true, "test -s kept.txt": true,
		"go test ./...": false, "sh deep.sh": false, "sh calls.sh": false, "npm test": false,
		"sh huge.sh": false, // it cannot be read
	} {
		got := runsNothingKnown(command, func(name string) (string, bool, error) {
			text, there := files[name]
			if name == "huge.sh" {
				return "", true, errors.New("too large")
			}
			return text, there, nil
		})
		if got != want {
			t.Errorf("%s: %t", command, got)
		}
	}
}
