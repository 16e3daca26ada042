// Package git runs the git command for the host, hardened (docs/security.md).
//
// Every command gets an explicit GIT_DIR and GIT_WORK_TREE, an environment
// built from empty, no system or global configuration, no hooks, no fsmonitor,
// no transport, no pager and no prompt. Whatever touches files (checkout, add,
// merge) runs with a private git directory whose configuration this package
// wrote, so that filters and drivers named in a repository's configuration do
// not exist for it; a user's own git directory is opened for refs and for
// reading its configuration as data only.
//
// A Program is the command and a Dir says where it runs; what is asked of a
// directory stands in parts of it, a file each: Objects, Commits, Diff, Refs,
// Index and Files, Transfer.
//
// The package knows no run, contract or database: it is one technology and
// typed verbs over it.
package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"agency/internal/agency"
	"agency/internal/regexp"
)

// Options of a Program. The zero value is usable.
type Options struct {
	// Binary is the git command; empty: "git" of the PATH.
	Binary string
	// Getenv reads HOME, XDG_CONFIG_HOME and PATH of the user, for finding the
	// command and for reading the user's configuration as data. Default:
	// os.Getenv.
	Getenv func(string) string
	// Timeout bounds one command; default 10 minutes.
	Timeout time.Duration
	// OutputCap bounds one command's standard output in bytes; default 256 MiB.
	// A command that writes more is killed.
	OutputCap int64
	// Now stamps commits; default time.Now.
	Now func() time.Time
}

// Program is the git command of this machine. It is safe for concurrent use.
type Program struct {
	binary   string
	version  string
	programs func() ([]string, error) // folders that git's programs are in
	opts     Options
	answers  answers
}

// The oldest git that has merge-tree --write-tree.
const minMajor, minMinor = 2, 38

var versionForm = regexp.MustCompile(`^git version (\d+)\.(\d+)(\S*)`)

// NewProgram finds git and checks its version. A missing or too old git is
// KindTransient: it is mended outside of the program.
func NewProgram(ctx context.Context, opts Options) (*Program, error) {
	if opts.Getenv == nil {
		opts.Getenv = os.Getenv
	}
	if opts.Timeout == 0 {
		opts.Timeout = 10 * time.Minute
	}
	if opts.OutputCap == 0 {
		opts.OutputCap = 256 << 20
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	name := opts.Binary
	if name == "" {
		name = "git"
	}
	binary, err := exec.LookPath(name)
	if err != nil {
		return nil, agency.Errorf(agency.KindTransient, "the git command was not found: %w", err).
			WithMend("install git %d.%d or newer", minMajor, minMinor)
	}
	if binary, err = filepath.Abs(binary); err != nil {
		return nil, err
	}
	h := &Program{binary: binary, opts: opts}
	out, err := h.run(ctx, command{args: []string{"version"}})
	if err != nil {
		return nil, fmt.Errorf("asking %s for its version: %w", binary, err)
	}
	h.programs = sync.OnceValues(h.findPrograms)
	h.version, err = checkVersion(string(out))
	return h, err
}

func checkVersion(line string) (string, error) {
	m := versionForm.FindStringSubmatch(line)
	if m == nil {
		return "", agency.Errorf(agency.KindTransient, "git answers %q to `git version`", line).
			WithMend("install git %d.%d or newer", minMajor, minMinor)
	}
	major, err1 := strconv.Atoi(m[1])
	minor, err2 := strconv.Atoi(m[2])
	if errors.Join(err1, err2) != nil || major < minMajor || major == minMajor && minor < minMinor {
		return "", agency.Errorf(agency.KindTransient, "git %s.%s%s is too old, %d.%d is needed", m[1], m[2], m[3], minMajor, minMinor).
			WithMend("install git %d.%d or newer", minMajor, minMinor)
	}
	return m[1] + "." + m[2] + m[3], nil
}

// Version is git's version, such as "2.39.5".
func (g *Program) Version() string { return g.version }

// At is the user's repository. It is meant for refs, configuration and reading
// objects; whatever touches files runs in a private directory (see Create).
func (g *Program) At(loc Location) Dir {
	return Dir{program: g, GitDir: loc.GitDir, WorkTree: loc.WorkTree, common: loc.CommonDir, user: true}
}

// Open is a private git directory that Create has made.
func (g *Program) Open(gitDir string) Dir { return Dir{program: g, GitDir: gitDir} }
