//go:build unix

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"agency/internal/ui/tui"
)

// bad is what could move a cursor, name a window, or turn a line around.
const bad = "b\x1b[2Ja\x1b]0;t\x07d\x1b]8;;http://e\x1b\\\x1b]52;c;eA==\x07 \u009b31m\u0085 \u202e\u202a\u2066\u2069\u200e\u200f\r\b\x7f \xff\xc2"

// badFile is a name that git and the file system take, and bad shows.
const badFile = "o\u202eog.tset"

// unclean finds the first character that no terminal should be given.
func unclean(out string) (at int, what string) {
	for i, r := range out {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(out[i:], "\ufffd"):
			return i, "no UTF-8"
		case r == '\n' || r == '\t':
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == 0xfeff:
			return i, fmt.Sprintf("%U", r)
		}
	}
	return -1, ""
}

// hostile DIR makes a repository of what the script has there, on a branch and
// with a file and a commit of bad names, and sets $BAD and $BADTEXT.
func hostile(ts *testscript.TestScript, _ bool, args []string) {
	dir := ts.MkAbs(args[0])
	for _, name := range []string{badFile, "c\u009b2J.txt", "e\x1b[2J.txt"} {
		ts.Check(os.WriteFile(filepath.Join(dir, name), []byte(bad), 0o600))
	}
	for _, a := range [][]string{{"init", "-q", "-b", "w\u202epi\u200f"}, {"add", "-A"}, {"commit", "-q", "-m", bad}} {
		cmd := exec.Command("git", a...)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + ts.Getenv("PATH"), "HOME=" + ts.Getenv("HOME"), "GIT_CONFIG_NOSYSTEM=1"}
		if out, err := cmd.CombinedOutput(); err != nil {
			ts.Fatalf("git %v: %v\n%s", a, err, out)
		}
	}
	ts.Setenv("BAD", bad)
	ts.Setenv("BADTEXT", strings.ToValidUTF8(bad, "")) // where only text is taken
}

// clean COMMAND... runs a command, however it ends, and looks at the bytes that
// it prints.
func wantClean(ts *testscript.TestScript, _ bool, args []string) {
	_ = ts.Exec(args[0], args[1:]...) // its output is asked about
	for _, from := range []string{"stdout", "stderr"} {
		out := ts.ReadFile(from)
		if at, what := unclean(out); at >= 0 {
			ts.Fatalf("%q prints %s on %s:\n%q", args, what, from, out[max(0, at-80):min(len(out), at+80)])
		}
	}
}

// leaves are the commands that do something, by their words.
func leaves(c *cobra.Command, above string) (out []string) {
	for _, sub := range c.Commands() {
		name := strings.TrimSpace(above + " " + sub.Name())
		if below := leaves(sub, name); len(below) > 0 {
			out = append(out, below...)
		} else {
			out = append(out, name)
		}
	}
	return out
}

func quiet(t *testing.T, dir string) (*app, *bytes.Buffer) {
	t.Helper()
	home := t.TempDir()
	env := map[string]string{"HOME": home, "XDG_CONFIG_HOME": home, "XDG_STATE_HOME": home, "XDG_RUNTIME_DIR": home}
	var out bytes.Buffer
	s := tui.NewScreen(&out, tui.Style{})
	return &app{goos: "windows", repository: repository{ // where nothing starts
		terminal: terminal{out: s, err: s}, now: time.Now, dir: dir,
		env: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
	}}, &out
}

// Whatever a command is given, and whatever it complains of, what it prints is
// text. All commands are asked; one that is new, too.
func TestEveryCommandComplainsInText(t *testing.T) {
	a, _ := quiet(t, "")
	for _, name := range leaves(a.root(), "") {
		for _, args := range [][]string{{bad}, {bad, bad}, {"--" + bad}, {"--repo", bad}, {"--json", bad}, nil} {
			if (name == "rehearse" || name == "demo") && (len(args) == 0 || args[0] == "--repo") {
				continue // they do not end by themselves, or start much
			}
			a, out := quiet(t, "")
			root := a.root()
			root.SetArgs(append(append(strings.Fields(name), args...), "--repo", t.TempDir()))
			root.SetOut(a.out)
			root.SetErr(a.err)
			a.report(root.ExecuteContext(t.Context()))
			if at, what := unclean(out.String()); at >= 0 {
				t.Errorf("%s %q prints %s:\n%q", name, args, what, out.String())
			}
		}
	}
}

// The script that shows a hostile run asks every command that shows one.
func TestEveryCommandIsInTheScript(t *testing.T) {
	script, err := os.ReadFile(filepath.Join("testdata", "script", "hostile.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	a, _ := quiet(t, "")
	for _, name := range leaves(a.root(), "") {
		c, _, err := a.root().Find(strings.Fields(name))
		if err != nil || c.Hidden || strings.HasPrefix(name, "completion") || name == "help" || name == "rehearse" {
			continue // they print nothing of anybody's, or never end
		}
		if !regexp.MustCompile(`(?m)^clean agency ` + name + `\b`).Match(script) {
			t.Errorf("hostile.txtar does not ask agency %s", name)
		}
	}
}

// Nothing is printed past the screens.
func TestCommandsPrintToScreensOnly(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	past := regexp.MustCompile(`\bfmt\.Print|\bos\.Std(?:out|err)\b|\bprintln\(|\bcmd\.Print`)
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		n := len(past.FindAll(src, -1))
		if strings.HasSuffix(name, "_test.go") || name == "app.go" && n == 12 { // where the screens are made
			continue
		}
		if n > 0 {
			t.Errorf("%s prints past a.out and a.err: %q", name, past.FindAllString(string(src), -1))
		}
	}
}
