package sandbox

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"agency/internal/agency"
	"agency/internal/linux"
	"agency/internal/rootfs"
)

// orDefault fills the fields that are zero.
func (l Limits) orDefault() Limits {
	d := DefaultLimits()
	fill := func(v *int, def int) {
		if *v <= 0 {
			*v = def
		}
	}
	if l.Wall <= 0 {
		l.Wall = d.Wall
	}
	fill(&l.MemoryMB, d.MemoryMB)
	fill(&l.Processes, d.Processes)
	fill(&l.OpenFiles, d.OpenFiles)
	fill(&l.FileSizeMB, d.FileSizeMB)
	fill(&l.OutputKB, d.OutputKB)
	return l
}

// systemDirs are folders that a repository may not be, nor contain.
var systemDirs = [...]string{
	"/tmp", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/dev", "/proc", "/sys", "/run",
}

// kernelDirs are folders that a repository may not lie in.
var kernelDirs = [...]string{"/dev", "/proc", "/sys", objectsRoot, rootfs.Hidden}

func checkSpec(s Spec, stateDir string) error {
	if len(s.Argv) == 0 || s.Argv[0] == "" {
		return agency.Errorf(agency.KindInvalid, "sandbox: no command given")
	}
	if err := checkPlace(s.Place, stateDir); err != nil {
		return err
	}
	if s.Dir != "" && !filepath.IsLocal(s.Dir) {
		return agency.Errorf(agency.KindInvalid, "sandbox: working folder %q leaves the repository", s.Dir)
	}
	if s.Out != "" && !clean(s.Out) {
		return agency.Errorf(agency.KindInvalid, "sandbox: output folder %q is not an absolute clean path", s.Out)
	}
	for _, ms := range [][]Mount{s.Tools.ReadOnly, s.Reads} {
		for _, m := range ms {
			if err := checkClean("mount", m.Host, m.At); err != nil {
				return err
			}
		}
	}
	return checkOverlays(s)
}

func checkOverlays(s Spec) error {
	for _, o := range s.Tools.Overlays {
		if err := checkClean("cache", o.Lower, o.At); err != nil {
			return err
		}
		if o.Name == "" || !filepath.IsLocal(o.Name) {
			return agency.Errorf(agency.KindInvalid, "sandbox: cache %s: bad layer name %q", o.At, o.Name)
		}
		if s.LayerDir == "" {
			return agency.Errorf(agency.KindInvalid, "sandbox: cache %s: no layer folder given", o.At)
		}
	}
	return nil
}

func checkPlace(p Place, stateDir string) error {
	if err := checkClean("repository", p.Root, p.At); err != nil {
		return err
	}
	if p.GitDir != "" && !clean(p.GitDir) {
		return agency.Errorf(agency.KindInvalid, "sandbox: git dir %q is not an absolute clean path", p.GitDir)
	}
	for _, o := range p.Objects {
		if !clean(o) || strings.ContainsRune(o, '\n') {
			return agency.Errorf(agency.KindInvalid, "sandbox: object folder %q is not an absolute clean path", o)
		}
	}
	return checkAt(p.At, stateDir)
}

// checkAt refuses repository paths under which the sandbox could not keep its
// promises: the whole machine, a system folder, the state of the host.
func checkAt(at, stateDir string) error {
	for _, d := range systemDirs {
		if linux.Within(d, at) {
			return agency.Errorf(agency.KindInvalid, "repository %s: is or contains the system folder %s", at, d).
				WithMend("move the repository into a folder of its own")
		}
	}
	for _, d := range kernelDirs {
		if linux.Within(at, d) {
			return agency.Errorf(agency.KindInvalid, "repository %s: lies in %s", at, d).
				WithMend("move the repository into a folder of its own")
		}
	}
	if stateDir != "" && (linux.Within(stateDir, at) || linux.Within(resolved(stateDir), resolved(at))) {
		return agency.Errorf(agency.KindInvalid, "repository %s: contains the state folder %s", at, stateDir).
			WithMend("set XDG_STATE_HOME to a folder outside %s", at)
	}
	return nil
}

func checkClean(what string, paths ...string) error {
	for _, p := range paths {
		if !clean(p) {
			return agency.Errorf(agency.KindInvalid, "sandbox: %s path %q is not an absolute clean path", what, p)
		}
	}
	return nil
}

func clean(p string) bool {
	return filepath.IsAbs(p) && filepath.Clean(p) == p && !strings.ContainsRune(p, 0)
}

func resolved(p string) string {
	if r, err := filepath.EvalSymlinks(p); err == nil {
		return r
	}
	return p
}

// newSight is what of this machine commands may see: homes are hidden by their
// name and by where it leads.
func newSight(o Options) agency.Sight {
	var s agency.Sight
	both := func(to *[]string, path string) {
		if filepath.IsAbs(path) {
			*to = append(*to, filepath.Clean(path), resolved(filepath.Clean(path)))
		}
	}
	both(&s.Homes, os.Getenv("HOME"))
	if u, err := user.Current(); err == nil {
		both(&s.Homes, u.HomeDir)
	}
	for _, own := range append([]string{o.StateDir}, o.Hidden...) {
		both(&s.Own, own)
	}
	if dir := filepath.Clean(os.Getenv("XDG_RUNTIME_DIR")); dir != "/" && dir != "/tmp" { // everybody's is none
		both(&s.Own, dir)
	}
	return s
}

// refusal is an error that says why a path is not shown; nil without a reason.
func refusal(path, real, why string) error {
	if why == "" {
		return nil
	}
	if real != path {
		path += ", which leads to " + real + ","
	}
	return agency.Errorf(agency.KindDenied, "commands may not see %s: it %s", path, why).
		WithMend("take it out of sandbox.read, or move what is needed to a folder of its own")
}

// objectsRoot holds object folders that cannot keep their own path.
const objectsRoot = "/run/agency/objects"

func objectsAt(p Place) []string {
	out := make([]string, len(p.Objects))
	for i, o := range p.Objects {
		out[i] = o
		if linux.Within(o, p.At) {
			out[i] = fmt.Sprintf("%s/%d", objectsRoot, i)
		}
	}
	return out
}
