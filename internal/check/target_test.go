package check

import (
	"strings"
	"testing"
)

func TestTarget(t *testing.T) {
	for _, tc := range []struct{ line, target, want string }{
		{"go test ./...", "./internal/config", "go test ./internal/config"},
		{"go test ./...", "internal/config", "go test ./internal/config"},
		{"go test ./...", "TestLoad", "go test -run '^(TestLoad)$' ./..."},
		{"go vet ./...", "./internal/config", "go vet ./internal/config"},
		{"go vet ./... && staticcheck x", "internal/config/...", "go vet ./internal/config/... && staticcheck x"},
	} {
		got, err := Target(tc.line, tc.target, nil)
		if err != nil || strings.Join(strings.Fields(got), " ") != tc.want {
			t.Errorf("%s to %s: %q, %v, want %q", tc.line, tc.target, got, err, tc.want)
		}
	}
	for _, tc := range []struct{ line, target string }{
		{"make test", "./internal/config"}, {"go vet ./...", "$(id)"}, {"go vet ./...", "-o x"}, {"go test ./...", "; id"}, {"go vet ./...", "/etc"},
	} {
		if got, err := Target(tc.line, tc.target, nil); err == nil {
			t.Errorf("%s to %s: %q", tc.line, tc.target, got)
		}
	}
}
