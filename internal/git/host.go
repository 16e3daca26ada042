package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"agency/internal/agency"
)

// Options of a Host. The zero value is usable.
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

// Host is the git command of this machine. It is safe for concurrent use.
type Host struct {
	binary  string
	version string
	opts    Options
}

// The oldest git that has merge-tree --write-tree.
const minMajor, minMinor = 2, 38

var versionForm = regexp.MustCompile(`^git version (\d+)\.(\d+)(\S*)`)

// NewHost finds git and checks its version. A missing or too old git is
// KindTransient: it is mended outside of the program.
func NewHost(ctx context.Context, opts Options) (*Host, error) {
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
	h := &Host{binary: binary, opts: opts}
	out, err := h.run(ctx, command{args: []string{"version"}, bare: true})
	if err != nil {
		return nil, fmt.Errorf("asking %s for its version: %w", binary, err)
	}
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
func (h *Host) Version() string { return h.version }

// At is the user's repository. It is meant for refs, configuration and reading
// objects; whatever touches files runs in a private directory (see Create).
func (h *Host) At(loc Location) Dir {
	return Dir{host: h, GitDir: loc.GitDir, WorkTree: loc.WorkTree, common: loc.CommonDir, user: true}
}

// Open is a private git directory that Create has made.
func (h *Host) Open(gitDir string) Dir { return Dir{host: h, GitDir: gitDir} }
