package file

import (
	"testing"
)

func TestGlob(t *testing.T) {
	for _, tc := range []struct {
		glob, path string
		want       bool
	}{
		{"*.go", "a/b.go", true},
		{"*.go", "a/b.god", false},
		{"a/*.go", "a/b.go", true},
		{"a/*.go", "a/c/b.go", false},
		{"**/*_test.go", "x_test.go", true},
		{"**/*_test.go", "a/b/x_test.go", true},
		{"a/**/b", "a/b", true},
		{"a/**", "a/b/c", true},
		{"*.{go,md}", "x.md", true},
		{"*.{go,md}", "x.rs", false},
		{"?.go", "a.go", true},
		{"[!a].go", "a.go", false},
		{"a.go", "aXgo", false},
	} {
		m, err := compileGlob(tc.glob)
		if err != nil || m(tc.path) != tc.want {
			t.Errorf("%s on %s: %v, want %v", tc.glob, tc.path, err, tc.want)
		}
	}
}
