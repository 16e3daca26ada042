package toolset

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"agency/internal/tool"
)

func TestEditFile(t *testing.T) {
	files, _ := room(t)
	for _, edit := range []struct{ args, want string }{ // what was written is not shown again
		{`{"path":"a.txt","old_text":"two","new_text":"2"}`, "edited a.txt, line 2\n"},
		{`{"path":"a.txt","old_text":"2\n","new_text":"2\nx\nx\n"}`, "edited a.txt, lines 2 to 4\n"},
		{`{"path":"a.txt","old_text":"x","new_text":"y","replace_all":true}`, "edited a.txt, 2 places, the first at line 3\n"},
		{`{"path":"a.txt","old_text":"y\n","new_text":"","replace_all":true}`, "edited a.txt, 2 places, the first at line 3\n"},
	} {
		if got := call(t, files, "edit_file", edit.args); got != edit.want {
			t.Errorf("%s: %q, want %q", edit.args, got, edit.want)
		}
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
