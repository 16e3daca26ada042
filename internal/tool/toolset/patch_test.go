package toolset

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/tool"
)

// patched applies a patch and gives the answer with all files as they are then.
func patched(t *testing.T, e *tool.Env, dir, patch string) (tool.Result, map[string]string) {
	t.Helper()
	args, err := json.Marshal(map[string]string{"patch": patch})
	if err != nil {
		t.Fatal(err)
	}
	res, err := named([]string{"apply_patch"})[0].Run(t.Context(), e, args)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	err = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(p)
		rel, _ := filepath.Rel(dir, p)
		all[filepath.ToSlash(rel)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return res, all
}

const areas = `def circle(r):
    check(r)
    return 3 * r * r

def square(a):
    check(a)
    return a * a

def box(a):
    check(a)
    return a * a * a
`

func patchRoom(t *testing.T) (*tool.Env, string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"a.py": areas, "crlf.txt": "one\r\ntwo\r\nthree\r\n", "bare.txt": "one\ntwo", "old.txt": "x\n", "key.txt": "a\nsk-ant-api03-R2D2c3poLuke9xWz\nb\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("old.txt", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "a.py"), 0o755); err != nil {
		t.Fatal(err)
	}
	files, err := tool.OpenFiles(dir, at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = files.Close() })
	files.SetGuard(func(_ context.Context, rel string) error {
		if rel == "guarded.txt" {
			return agency.Errorf(agency.KindDenied, "guarded.txt is not yours")
		}
		return nil
	})
	e := env(files)
	e.Redact = agency.NewRedactor("sk-ant-api03-R2D2c3poLuke9xWz").Bytes
	return e, dir
}

// A patch does to several files what it says, whatever models write around it.
func TestApplyPatch(t *testing.T) {
	e, dir := patchRoom(t)
	res, got := patched(t, e, dir, "```\n*** Begin Patch\n*** Update File: a.py\n@@ def square(a):\n     check(a)\n-    return a * a\n+    return a ** 2\n@@ def box(a):\n     check(a)  \n-    return a * a * a\n+    return a ** 3\n+\n+def last():\n+    pass\n*** End of File\n"+
		"*** Add File: docs/new.md\n+# New\n+\n+text\n*** Update File: crlf.txt\n one\n-two\n+2\n+2b\n three\n\n*** Update File: bare.txt\n@@\n-two\n+zwei\n*** Update File: old.txt\n*** Move to: moved/new.txt\n@@\n-x\n+y\n*** End Patch\n```\n")
	if res.Failed {
		t.Fatal(res.Text)
	}
	want := strings.Replace(strings.Replace(areas, "return a * a\n", "return a ** 2\n", 1), "return a * a * a\n", "return a ** 3\n\ndef last():\n    pass\n", 1)
	for name, text := range map[string]string{
		"a.py": want, "docs/new.md": "# New\n\ntext\n", "crlf.txt": "one\r\n2\r\n2b\r\nthree\r\n", "bare.txt": "one\nzwei", "moved/new.txt": "y\n",
	} {
		if got[name] != text {
			t.Errorf("%s is %q, want %q", name, got[name], text)
		}
	}
	if _, there := got["old.txt"]; there {
		t.Error("the moved file is still there")
	}
	if info, err := os.Stat(filepath.Join(dir, "a.py")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	wrote := append([]string{res.Wrote}, res.AlsoWrote...)
	if slices.Sort(wrote); !slices.Equal(wrote, []string{"a.py", "bare.txt", "crlf.txt", "docs/new.md", "moved/new.txt", "old.txt"}) {
		t.Errorf("wrote %v", wrote)
	}
}

// Of a patch that does not fit, or may not be written, nothing is done, and the answer says
// which hunk it is and what is nearest.
func TestApplyPatchAllOrNothing(t *testing.T) {
	e, dir := patchRoom(t)
	_, before := patched(t, e, dir, "")
	first := "*** Begin Patch\n*** Add File: new.txt\n+x\n"
	for name, tc := range map[string]struct{ patch, want string }{
		"no marks":       {"+x", `error: nothing is changed: the patch has no line "*** Begin Patch"`},
		"broken off":     {first, `the patch has no line "*** End Patch": it broke off`},
		"odd heading":    {first + "*** Change File: a\n*** End Patch", "line 2 of the new file begins with no +"},
		"second hunk":    {first + "*** Update File: a.py\n@@ def circle(r):\n-    check(r)\n+    look(r)\n@@\n def box(a):\n-    check(b)\n+    look(a)\n*** End Patch", "error: nothing is changed: a.py: hunk 2 of 2: its lines with - and ' ' do not occur behind line 2; the nearest place, 1 of 2 lines the same, is at line 9:\ndef box(a):\n    check(a)\n"},
		"order":          {first + "*** Update File: a.py\n@@ def box(a):\n-    check(a)\n+    look(a)\n@@\n-    check(r)\n+    look(r)\n*** End Patch", "is at line 2, which is before: hunks stand in the order of the file"},
		"ambiguous":      {first + "*** Update File: a.py\n-    check(a)\n+    look(a)\n*** End Patch", "hunk 1 of 1: its lines occur 2 times, at lines 6, 10; put more of the lines around into it, or name the line before by @@"},
		"no such anchor": {first + "*** Update File: a.py\n@@ def ball(r):\n-    check(r)\n+    look(r)\n*** End Patch", `the line "def ball(r):" of its @@ does not occur`},
		"nothing":        {first + "*** Update File: a.py\n@@\n def box(a):\n*** End Patch", "hunk 1 changes nothing"},
		"there already":  {first + "*** Add File: a.py\n+x\n*** End Patch", "a.py is there already; use *** Update File"},
		"gone":           {first + "*** Delete File: gone.txt\n*** End Patch", "error: nothing is changed: gone.txt does not exist"},
		"outside":        {first + "*** Add File: ../out.txt\n+x\n*** End Patch", `error: nothing is changed: path "../out.txt" leads out of the repository`},
		"git":            {first + "*** Add File: .git/hooks/x\n+x\n*** End Patch", "is inside of .git"},
		"guarded":        {first + "*** Add File: guarded.txt\n+x\n*** End Patch", "error: nothing is changed: guarded.txt is not yours"},
		"moved there":    {first + "*** Update File: old.txt\n*** Move to: guarded.txt\n*** End Patch", "guarded.txt is not yours"},
		"twice":          {first + "*** Delete File: old.txt\n*** Update File: link\n-x\n+y\n*** End Patch", "link is changed twice, by two names"},
		"through a link": {first + "*** Delete File: link\n*** End Patch", "goes through a link to old.txt; use delete_file"},
		"over a secret":  {first + "*** Update File: key.txt\n a\n+[redacted]\n*** End Patch", "the file holds a secret of the host"},
		"of a secret":    {first + "*** Update File: key.txt\n a\n-[redacted]\n*** End Patch", "stands in what you are shown for a secret"},
	} {
		res, after := patched(t, e, dir, tc.patch)
		if !res.Failed || !strings.Contains(res.Text, tc.want) {
			t.Errorf("%s: %s\nwant %s", name, res.Text, tc.want)
		}
		if len(after) != len(before) {
			t.Errorf("%s: files %v", name, after)
		}
		for file, text := range before {
			if after[file] != text {
				t.Errorf("%s: %s is %q", name, file, after[file])
			}
		}
	}
}

// Where one file cannot be written after all, those before it become what they were.
func TestApplyPatchTakesBack(t *testing.T) {
	e, dir := patchRoom(t)
	_, before := patched(t, e, dir, "")
	// The folder of the second is a file of the first.
	res, after := patched(t, e, dir, "*** Begin Patch\n*** Update File: old.txt\n-x\n+y\n*** Delete File: bare.txt\n*** Add File: deep\n+x\n*** Add File: deep/er.txt\n+x\n*** End Patch")
	if !res.Failed || len(after) != len(before) || after["old.txt"] != "x\n" || after["bare.txt"] != before["bare.txt"] {
		t.Errorf("%+v: %v", res, after)
	}
}

func FuzzPatch(f *testing.F) {
	f.Add("*** Begin Patch\n*** Update File: a.txt\n@@ one\n two\n-three\n+3\n*** End Patch")
	f.Add("*** Begin Patch\n*** Update File: a.txt\n*** Move to: b\n@@\n\n\n*** End of File\n*** End Patch")
	f.Fuzz(func(t *testing.T, patch string) {
		files, _ := room(t)
		args, _ := json.Marshal(map[string]string{"patch": patch})
		if res := run(t, files, "apply_patch", string(args)); res.Failed != strings.HasPrefix(res.Text, "error: ") {
			t.Errorf("%+v", res)
		}
	})
}
