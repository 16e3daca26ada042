package golang

import (
	"slices"
	"testing"
)

func TestMissingIn(t *testing.T) {
	got := missingIn(`go: downloading example.com/A v1.0.0
p.go:3:8: open /m/cache/download/example.com/!b/@v/v1.2.3.lock: read-only file system
go: example.com/c@v0.0.0-20200101000000-abcdefabcdef: module lookup disabled by GOPROXY=off
p.go:3:8: module lookup disabled by GOPROXY=off
p.go:1:1: expected 'package', found x@v1
`)
	want := []string{"example.com/A@v1.0.0", "example.com/B@v1.2.3", "example.com/c@v0.0.0-20200101000000-abcdefabcdef"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
