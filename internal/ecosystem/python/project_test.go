package python

import (
	"slices"
	"testing"
	"testing/fstest"

	"agency/internal/ecosystem"
)

// What a project lists beside what its tests need does not keep a run from
// starting.
func TestWantedByTests(t *testing.T) {
	c := ecosystem.NewCheckout(fstest.MapFS{"requirements.txt": {Data: []byte("Flake8==3.7\npytest==5.3\nattrs\nSphinx\n")}})
	got := wanted(c, ecosystem.Unit{Locks: []string{"requirements.txt"}})
	if want := []ecosystem.Package{{Name: "attrs", To: "*"}, {Name: "pytest", To: "==5.3"}}; !slices.Equal(got, want) {
		t.Errorf("got %+v", got)
	}
}
