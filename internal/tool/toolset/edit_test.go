package toolset

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"agency/internal/tool"
)

func TestEditFile(t *testing.T) {
	files, _ := room(t)
	got := call(t, files, "edit_file", `{"path":"a.txt","old_text":"two","new_text":"2"}`)
	if want := "edited a.txt at line 2\n1\tone\n2\t2\n3\tthree\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if res := run(t, files, "edit_file", `{"path":"a.txt","old_text":"two","new_text":"2"}`); !res.Failed || res.Refused {
		t.Errorf("%+v", res)
	}
}

func TestCheckFileSizes(t *testing.T) {
	e := env(nil)
	e.Limits = tool.ChangeLimits{Files: 5, Lines: 30}
	res, err := named([]string{"check_file_sizes"})[0].Run(t.Context(), e, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := `files changed: 3 of at most 5
lines changed: 32, OVER the limit of 30, 20 added and 12 deleted
  +20 -5  115 lines, before 100, 3072 bytes  a.txt
  binary, 12 KB  b.bin
  -7  deleted  c.txt
`
	if diff := cmp.Diff(want, res.Text); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
