package changeset

import (
	"errors"
	"testing"

	"agency/internal/git"
)

// What a fault kept from being read is empty, and nothing is made of it.
func TestFirstFaultStays(t *testing.T) {
	why := errors.New("the disk is gone")
	trees := Open(git.Dir{})
	defer trees.Close()
	if trees.Fail(nil) || !trees.Fail(why) || !trees.Fail(errors.New("another")) {
		t.Error("only a fault is one")
	}
	text, whole := trees.Content(t.Context(), git.Entry{Mode: 0o100644}, MaxText)
	if trees.List(t.Context(), "a") != nil || trees.Mentions(t.Context(), "a", "x") != nil || text != nil || !whole {
		t.Error("it reads on")
	}
	if tree, err := trees.With(t.Context(), "a", nil); tree != "" || !errors.Is(err, why) || !errors.Is(trees.Err(), why) {
		t.Errorf("%q %v, and %v", tree, err, trees.Err())
	}
}
