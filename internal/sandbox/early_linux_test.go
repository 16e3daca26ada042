package sandbox

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestEarly imports nothing that takes time before a sandbox can begin: what a
// package imports prepares itself first, and in the program's order that brings
// half of its packages along.
func TestEarly(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, below := range []string{"../beneath/*.go", "../linux/*.go", "../linux/*/*.go", "../rootfs/*.go", "../supervisor/*.go", "../text/*.go"} {
		more, err := filepath.Glob(below)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, more...)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, imp := range f.Imports {
			path, err := strconv.Unquote(imp.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			switch top, _, _ := strings.Cut(path, "/"); top {
			case "net", "crypto", "regexp", "text", "html", "log", "go", "testing", "embed":
				t.Errorf("%s imports %s", file, path)
			case "agency":
				switch below, _, _ := strings.Cut(strings.TrimPrefix(path, "agency/internal/"), "/"); below {
				case "agency", "beneath", "text", "linux", "rootfs", "supervisor":
				default:
					t.Errorf("%s imports %s", file, path)
				}
			}
		}
	}
}
