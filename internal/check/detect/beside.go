package detect

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/ecosystem"
	"agency/internal/sandbox"
)

// Beside are programs that work beside commands, such as language servers, and that the
// user has where commands see nothing.
type Beside struct {
	// Links are where the programs lie, by name; Path is where they find what runs them,
	// behind all that a toolchain has, and ReadOnly what is shown for them.
	Links    map[string]string
	Path     []string
	ReadOnly []sandbox.Mount
	// Refused says of the others why they cannot be started, each in a sentence.
	Refused []string
}

// FindBeside finds programs in the user's PATH, and what each needs: the file, or of a
// script the package that it lies in, and its interpreter where that is node or one of a
// virtual environment. What stands behind a proxy of a version manager is its toolchain's.
func FindBeside(ctx context.Context, in Input, names []string) Beside {
	m := in.machine()
	found := Beside{Links: map[string]string{}}
	paths, _ := m.Env("PATH")
	for _, name := range names {
		why := ""
		for _, dir := range filepath.SplitList(paths) {
			at := filepath.Join(dir, name)
			real, ok := m.Resolve(at)
			if info, err := os.Stat(at); !filepath.IsAbs(dir) || !ok || err != nil || info.Mode()&0o111 == 0 {
				continue
			}
			if ecosystem.OfSystem(at) && ecosystem.OfSystem(real) {
				why = "" // commands see it
				break
			}
			b := ecosystem.NewBuilder(m)
			no := shown(ctx, m, b, name, real)
			if no == "" && len(b.Refused) > 0 {
				no = b.Refused[0]
			}
			if no == "" {
				found.Links[name] = real
				found.ReadOnly = append(found.ReadOnly, b.Tools.ReadOnly...)
				found.Path = append(found.Path, pathsOf(b.Tools)...)
				why = ""
				break
			}
			if why == "" {
				why = at + " cannot be started in the sandbox: " + no
			}
		}
		if why != "" {
			found.Refused = append(found.Refused, why)
		}
	}
	return found
}

// shown has a builder show what a program needs; why it cannot be is in words.
func shown(ctx context.Context, m *ecosystem.Machine, b *ecosystem.Builder, name, real string) (why string) {
	by := interpreter(real)
	switch {
	case by == "" && !strings.HasPrefix(filepath.Base(real), name):
		return "it is a proxy, " + filepath.Base(real) + ", which starts what its toolchain has, and that has none"
	case by == "":
		b.Show(real)
	case filepath.Base(by) == "node":
		b.Show(packagesOf(real))
		return asideNode(ctx, m, b)
	case ecosystem.Exist(filepath.Join(filepath.Dir(filepath.Dir(by)), "pyvenv.cfg")):
		b.Show(filepath.Dir(filepath.Dir(by)))
		if python := ecosystem.Resolved(by); !ecosystem.OfSystem(python) {
			b.Show(filepath.Dir(filepath.Dir(python)))
		}
	default:
		return "it is a script of " + by + ", which needs more than itself"
	}
	return ""
}

// interpreter is what a script is run by; "" for a program of its own.
func interpreter(file string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // only read
	line, _ := bufio.NewReader(io.LimitReader(f, 512)).ReadString('\n')
	by, ok := strings.CutPrefix(line, "#!")
	words := strings.Fields(by)
	if !ok || len(words) == 0 {
		return ""
	}
	if filepath.Base(words[0]) == "env" {
		return words[len(words)-1]
	}
	return words[0]
}

// packagesOf is the folder of packages that a program of JavaScript lies in, for one finds
// others beside it, or the program alone.
func packagesOf(real string) string {
	if before, _, ok := strings.Cut(real, "/node_modules/"); ok {
		return before + "/node_modules"
	}
	return real
}

// asideNode shows node, whatever the repository is written in.
func asideNode(ctx context.Context, m *ecosystem.Machine, b *ecosystem.Builder) (why string) {
	for _, t := range toolchains() {
		if t.Tool != "node" {
			continue
		}
		e, err := t.Find(ctx, m)
		if err != nil {
			return "it needs node: " + err.Error()
		}
		b.Tools.ReadOnly = append(b.Tools.ReadOnly, e.Tools.ReadOnly...)
		b.Set("PATH", strings.Join(pathsOf(e.Tools), ":"))
	}
	return ""
}

// pathsOf are the folders of PATH that a toolchain brings.
func pathsOf(t sandbox.Toolchain) []string {
	for _, kv := range slices.Backward(t.Env) {
		if p, ok := strings.CutPrefix(kv, "PATH="); ok {
			return filepath.SplitList(p)
		}
	}
	return nil
}

// Around is a toolchain with the programs, whose links lie in a new folder within one of the
// host's, until release. No command can write there.
func (b Beside) Around(t sandbox.Toolchain, within string) (_ sandbox.Toolchain, release func(), err error) {
	if len(b.Links) == 0 {
		return t, func() {}, nil
	}
	links, err := os.MkdirTemp(within, "programs-")
	if err != nil {
		return t, func() {}, agency.Errorf(agency.KindTransient, "a folder of links: %w", err)
	}
	release = func() { _ = os.RemoveAll(links) } // what stays goes with the folder around it
	for name, real := range b.Links {
		if err := os.Symlink(real, filepath.Join(links, name)); err != nil {
			release()
			return t, func() {}, agency.Errorf(agency.KindTransient, "a link to %s: %w", real, err)
		}
	}
	path := pathsOf(t)
	if path == nil {
		path = filepath.SplitList(ecosystem.SystemPath)
	}
	t.ReadOnly = append(slices.Concat(t.ReadOnly, b.ReadOnly), sandbox.Mount{Host: links, At: links, Own: true})
	t.Env = append(slices.Clone(t.Env), "PATH="+strings.Join(slices.Concat(path, []string{links}, b.Path), ":"))
	return t, release, nil
}
