// Package gittest makes real repositories for tests, the way a user's git
// makes them, and takes fingerprints of them, so that a test can say that
// nothing was touched. It is for tests only.
package gittest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"agency/internal/agency"
)

// Repo is a user's repository.
type Repo struct {
	T   testing.TB
	Dir string
}

// New makes a repository with one commit that holds the files (path, content,
// path, content, ...).
func New(t testing.TB, files ...string) *Repo {
	t.Helper()
	r := Init(t)
	r.Write(files...)
	r.Commit("start")
	return r
}

// Init makes a repository without a commit.
func Init(t testing.TB) *Repo {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &Repo{T: t, Dir: filepath.Join(dir, "repo")}
	if err := os.Mkdir(r.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r.Git("init", "-q", "-b", "main")
	return r
}

// Program writes a program. Nobody forks meanwhile: a child that had the file open
// for writing would keep it from being run ("text file busy").
func Program(t testing.TB, path, text string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// Git runs git as the user would, without the tester's own configuration.
func (r *Repo) Git(args ...string) string {
	r.T.Helper()
	out, err := r.Try(args...)
	if err != nil {
		r.T.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// Try is Git for commands that may fail.
func (r *Repo) Try(args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = r.Dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "LC_ALL=C",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.org", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.org",
	}
	out, err := cmd.CombinedOutput()
	return strings.TrimRight(string(out), "\n"), err
}

// Write writes files (path, content, ...) into the work tree.
func (r *Repo) Write(files ...string) {
	r.T.Helper()
	WriteFiles(r.T, r.Dir, files...)
}

// WriteFiles writes files (path, content, ...) below a folder.
func WriteFiles(t testing.TB, dir string, files ...string) {
	t.Helper()
	for i := 0; i+1 < len(files); i += 2 {
		p := filepath.Join(dir, filepath.FromSlash(files[i]))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(files[i+1]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Commit commits everything and gives the id.
func (r *Repo) Commit(message string) agency.OID {
	r.T.Helper()
	r.Git("add", "-A")
	r.Git("commit", "-q", "--allow-empty", "-m", message)
	return r.Rev("HEAD")
}

// Rev resolves a revision.
func (r *Repo) Rev(rev string) agency.OID {
	r.T.Helper()
	return agency.OID(r.Git("rev-parse", "--verify", rev))
}

// Read is a file's content, or a note that it is not there.
func (r *Repo) Read(path string) string {
	b, err := os.ReadFile(filepath.Join(r.Dir, filepath.FromSlash(path)))
	if err != nil {
		return "(absent)"
	}
	return string(b)
}

// Sane fails the test unless the repository is consistent.
func (r *Repo) Sane() {
	r.T.Helper()
	if out, err := r.Try("fsck", "--strict", "--no-dangling", "--no-progress"); err != nil {
		r.T.Errorf("git fsck: %v\n%s", err, out)
	}
}

// Script writes an executable shell script that leaves a witness when it runs,
// and gives its path.
func Script(t testing.TB, path, witness string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("#!/bin/sh\necho \"$0 $*\" >> %s\ncat\n", witness)
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// Fingerprint is every file below a folder with mode and content. Paths for
// which skip is true are left out.
func Fingerprint(t testing.TB, dir string, skip func(rel string) bool) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if skip != nil && skip(rel) {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		found[rel], err = describe(p, d)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func describe(p string, d fs.DirEntry) (string, error) {
	info, err := d.Info()
	if err != nil {
		return "", err
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		to, err := os.Readlink(p)
		return "-> " + to, err
	case !info.Mode().IsRegular():
		return info.Mode().Type().String(), nil
	}
	b, err := os.ReadFile(p)
	sum := sha256.Sum256(b)
	return info.Mode().Perm().String() + " " + hex.EncodeToString(sum[:8]), err
}

// Files skips the inside of .git: what remains are the user's files.
func Files(rel string) bool { return rel == ".git" }
