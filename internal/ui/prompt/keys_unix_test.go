//go:build linux || darwin

package prompt

import (
	"os"
	"testing"
)

// Keys that are read together are as many keys; those that a terminal sends for one, such as an
// arrow, are none.
func TestKeysThatComeTogether(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = r.Close(), w.Close() }()
	k := &Keys{in: r}
	if err := k.open(); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		typed string
		want  []byte
	}{{"xa", []byte{'x', 'a'}}, {"\x1b[A", []byte{0}}, {"é", []byte{0}}, {"y", []byte{'y'}}} {
		if _, err := w.WriteString(tt.typed); err != nil {
			t.Fatal(err)
		}
		for _, want := range tt.want {
			if got, err := k.Key(); err != nil || got != want {
				t.Errorf("%q: key %q, %v; want %q", tt.typed, got, err, want)
			}
		}
	}
}
