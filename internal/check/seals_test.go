package check_test

import (
	"path/filepath"
	"testing"

	"agency/internal/check"
	"agency/internal/ecosystem"
	"agency/internal/sandbox"
)

// What was installed for a contract is what an agent asked for: with it in sight nothing is
// sealed, nor written where what is sealed comes from. Only caches that go by content have
// a store.
func TestSealsNothingOfWhatWasInstalled(t *testing.T) {
	byContent := sandbox.Overlay{Lower: "/c", At: "/c", Name: "content", ByContent: true}
	byTime := sandbox.Overlay{Lower: "/t", At: "/t", Name: "times"}
	for name, tt := range map[string]struct {
		tools sandbox.Toolchain
		seals bool
	}{
		"the user's own":   {sandbox.Toolchain{Overlays: []sandbox.Overlay{byContent, byTime}}, true},
		"packages":         {sandbox.Toolchain{Overlays: []sandbox.Overlay{byContent, byTime, {Lower: "/i", At: "/i", Name: "i", Own: true}}}, false},
		"packages to read": {sandbox.Toolchain{Overlays: []sandbox.Overlay{byContent, byTime}, ReadOnly: []sandbox.Mount{{Host: "/i", At: "/i", Own: true}}}, false},
	} {
		c := check.New(check.Options{LayerDir: "/layers", Environment: ecosystem.Environment{Tools: tt.tools}})
		spec, err := c.Spec(t.Context(), check.Subject{Seals: true, Scratch: "s"}, check.Command{Line: "true"})
		if err != nil {
			t.Fatal(err)
		}
		at := filepath.Join("/layers", "scratch", "s")
		if tt.seals {
			at = filepath.Join("/layers", "base")
		}
		if spec.Seals != tt.seals || spec.LayerDir != at {
			t.Errorf("%s: seals %t in %s", name, spec.Seals, spec.LayerDir)
		}
		if o := spec.Tools.Overlays; o[0].Warm == "" || o[1].Warm != "" {
			t.Errorf("%s: stores %q and %q", name, o[0].Warm, o[1].Warm)
		}
	}
}
