package ecosystem

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/regexp"
)

// Machine is the user's machine as a project is looked at on it.
type Machine struct {
	*Checkout // whose manifests and lockfiles are read
	// Dir is the user's checkout on the host; empty: it is not looked at.
	Dir string
	// Env is the environment of the user.
	Env func(name string) (string, bool)
	// Sight decides what of the machine may be shown.
	Sight agency.Sight
	// Starts are the folders in which commands of the run start; Some: those of all
	// commands are known, and none others count.
	Starts []string
	Some   bool
	// Online tells that commands reach hosts, Installs that the run installs what is
	// missing by itself.
	Online, Installs bool
	// Ask runs a program in an empty folder, so that no file of a repository is read,
	// and gives its output; extra are variables of its environment. Run does with
	// nothing else in its environment.
	Ask func(ctx context.Context, extra []string, bin string, args ...string) (string, error)
	Run func(ctx context.Context, env []string, bin string, args ...string) (string, error)
	// Mend is the command by which a person installs what a unit asks for, and
	// InstallIn that for the unit of a folder, with this folder of packages.
	Mend      func(u Unit) string
	InstallIn func(dir, packages string) string
}

// SystemPath is where programs lie that no toolchain brings.
const SystemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Nowhere is a folder that does not exist: an overlay over it is a cache of its
// own.
const Nowhere = "/nonexistent/agency"

// Look finds a program in the user's PATH: the file as it is named there, and
// where its links lead.
func (m *Machine) Look(names ...string) (bin, real string, err error) {
	paths, _ := m.Env("PATH")
	for _, name := range names {
		for _, d := range append(filepath.SplitList(paths), filepath.SplitList(SystemPath)...) {
			bin := filepath.Join(d, name)
			info, err := os.Stat(bin)
			if !filepath.IsAbs(d) || err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
				continue
			}
			if real, err = filepath.EvalSymlinks(bin); err == nil {
				return bin, real, nil
			}
		}
	}
	return "", "", fmt.Errorf("%s is not in PATH: %w", strings.Join(names, " or "), fs.ErrNotExist)
}

// Told is what a program says that is asked; empty where it is not there or fails.
func (m *Machine) Told(ctx context.Context, program string, args ...string) string {
	bin, _, err := m.Look(program)
	if err != nil {
		return ""
	}
	out, err := m.Ask(ctx, nil, bin, args...)
	if err != nil {
		return ""
	}
	return out
}

// Value is a path in a variable of the user's, or what stands for it.
func (m *Machine) Value(name, otherwise string) string {
	if v, ok := m.Env(name); ok && filepath.IsAbs(v) {
		return filepath.Clean(v)
	}
	return otherwise
}

// Home is a path below the user's home.
func (m *Machine) Home(parts ...string) string {
	h, _ := m.Env("HOME")
	if !filepath.IsAbs(h) {
		return Nowhere
	}
	return filepath.Join(append([]string{h}, parts...)...)
}

// Unseen is a line that makes a folder, with git told to leave it out of this
// checkout alone.
func (m *Machine) Unseen(folder, line string) string {
	if m.IgnoresFolder(m.Dir, folder) {
		return line
	}
	return Exclude(folder) + " && " + line
}

// Exclude has git leave out a folder of this checkout alone.
func Exclude(folder string) string {
	return "echo " + Quote("/"+folder+"/") + " >>.git/info/exclude"
}

// Exist tells whether there is something at a path of the host.
func Exist(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// OfSystem tells whether every command sees a path anyway.
func OfSystem(path string) bool {
	return path == "/" || LiesIn(path, "/usr", "/bin", "/sbin", "/lib", "/lib64", "/nix/store", "/gnu/store")
}

// LiesIn tells whether a path is one of folders or lies in one.
func LiesIn(path string, dirs ...string) bool {
	return slices.ContainsFunc(dirs, func(d string) bool { return d != "" && (path == d || strings.HasPrefix(path, d+"/")) })
}

// Resolved is where a path leads.
func Resolved(path string) string {
	if r, err := filepath.EvalSymlinks(path); err == nil {
		return r
	}
	return filepath.Clean(path)
}

// VersionName is what a version file may say.
var VersionName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]*$`)

// LastLine is that of an output.
func LastLine(s string) string {
	s = strings.TrimSpace(s)
	return strings.TrimSpace(s[strings.LastIndexByte(s, '\n')+1:])
}

// PlaceName names a folder of a repository.
func PlaceName(dir string) string {
	if dir == "." {
		return "the repository"
	}
	return dir
}
