package sandbox

import "testing"

// TestRelocate replaces whole paths, each by the innermost that holds it, and what
// was put in is not looked at again.
func TestRelocate(t *testing.T) {
	to := map[string]string{"/home/u": "/wt", "/home/u/.m2": "/home/u/own", "/srv/a b": "/x"}
	for text, want := range map[string]string{
		"":                                     "",
		"/home/u":                              "/wt",
		"/home/u/.venv/bin:/usr/bin:/home/u/x": "/wt/.venv/bin:/usr/bin:/wt/x",
		"-Drepo=/home/u/.m2/x -Dy=/home/u":     "-Drepo=/home/u/own/x -Dy=/wt",
		"/home/u2:/home/u.old:/home/u-x":       "/home/u2:/home/u.old:/home/u-x",
		"/mnt/home/u:file:///home/u":           "/mnt/home/u:file:///home/u",
		"#!/home/u/bin/python\n'/home/u'":      "#!/wt/bin/python\n'/wt'",
		"/srv/a b/c":                           "/x/c",
		"/home/u/.m20":                         "/wt/.m20",
	} {
		if got := relocate(text, to); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
