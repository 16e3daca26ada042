package demo

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	const lib = "twice() { echo $(($1 * 2)); }\n"
	for _, c := range []struct {
		name, kind, text, out string
		failed                bool
	}{
		{"passes", "test", ". ./lib.sh\ntest_a() { [ \"$(twice 2)\" = 4 ] || fail no; }\n", "ok   test_a\n", false},
		{"fails by its word", "test", ". ./lib.sh\ntest_a() { [ \"$(twice 2)\" = 5 ] || fail \"got $(twice 2)\"; true; }\n", "FAIL test_a\n     got 4\n", true},
		{"fails by its code", "test", "test_a() { false; }\ntest_b() { :; }\n", "FAIL test_a\nok   test_b\n", true},
		{"starts nothing", "test", "test_a() { touch started; }\n", "FAIL test_a\n     touch: not found: the sample uses no programs\n", true},
		{"does not parse", "test", "test_a() {\n", "FAIL parses\n", true},
		{"is linted", "lint", "test_a() {\n", "x_test.sh:1:10:", true},
		{"is clean", "lint", "test_a() { :; }\n", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{"lib.sh": lib, "x_test.sh": c.text} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var out bytes.Buffer
			err := Check(t.Context(), dir, c.kind, &out)
			if errors.Is(err, ErrFailed) != c.failed || !c.failed && err != nil || !strings.HasPrefix(out.String(), c.out) {
				t.Errorf("%v\n%s", err, &out)
			}
			if _, err := os.Stat(filepath.Join(dir, "started")); err == nil {
				t.Error("a program was started")
			}
		})
	}
	if err := Check(t.Context(), t.TempDir(), "build", &bytes.Buffer{}); err == nil || errors.Is(err, ErrFailed) {
		t.Errorf("an unknown check: %v", err)
	}
}
