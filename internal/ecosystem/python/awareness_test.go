package python

import "testing"

// TestModulesOfTests holds which imports of a product lead to folders of tests
// alone.
func TestModulesOfTests(t *testing.T) {
	have := map[string]bool{"shop": true, "shop/units.py": true, "src": true, "src/spec": true, "lib/exact.py": true}
	seen := awareModules{}.ofTests([]string{"support/exactly", "units", "json", "spec/a", "exact"}, func(p string) bool { return have[p] })("shop/calc.py")
	for name, want := range map[string]bool{
		"exactly": true, "support.exactly": true,
		"support": false,                 // a folder of them, or a package
		"units":   false,                 // stands beside the file
		"json":    false,                 // of the language
		"spec.a":  false, "exact": false, // found without the tests
		"requests": false,
	} {
		if got := seen(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
