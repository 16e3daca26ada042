package rust

import (
	"context"
	"path"
	"slices"
	"strings"

	"agency/internal/code/imports"
	"agency/internal/regexp"
)

// crate is a package of a Cargo workspace.
type crate struct {
	Name, Dir string
	uses      []string // folders of other crates
}

// crates are the packages of a checkout.
type crates struct {
	All []crate
	// Root tells whether the root manifest is a package, which is then the only
	// one that cargo tests unless it is asked for more.
	Root    bool
	Default bool // the workspace says by itself which members are tested
}

var (
	tomlTable  = regexp.MustCompile(`^\s*\[+\s*([^\]]+?)\s*\]+`)
	tomlName   = regexp.MustCompile(`^\s*name\s*=\s*["']([^"']+)["']`)
	tomlPath   = regexp.MustCompile(`\bpath\s*=\s*["']([^"']+)["']`)
	tomlKey    = regexp.MustCompile(`^\s*["']?([\w-]+)["']?\s*[.=]`)
	rustParent = regexp.MustCompile(`["']/?((?:\.\./)+[^"'\n]*)["']`)
	rustSpawn  = regexp.MustCompile(`cargo_bin|CARGO_BIN_EXE|Command::new`)
	rustString = regexp.MustCompile(`"([\w-]+)"`)
)

// readCrates reads the crates of a checkout: their manifests, and which files of
// others their sources name. Nil where it cannot be known what uses what.
func readCrates(ctx context.Context, src imports.Source) *crates {
	r := imports.NewReader(ctx, src, ".rs")
	c := &crates{}
	manifests := map[string]string{}
	for _, f := range src.Files {
		if path.Base(f) == "Cargo.toml" && !imports.Others(f) {
			manifests[path.Dir(f)] = string(r.Text(f))
		}
	}
	shared := sharedPaths(manifests["."])
	for dir, text := range manifests {
		m := readManifest(dir, text, shared)
		if m.patched {
			return nil
		}
		c.Default = c.Default || m.defaults
		if m.Name != "" {
			c.Root = c.Root || dir == "."
			c.All = append(c.All, m.crate)
		}
	}
	slices.SortFunc(c.All, func(a, b crate) int { return strings.Compare(a.Dir, b.Dir) })
	known := true
	if !r.Each(func(file, text string) { known = c.source(file, text) && known }) || !known {
		return nil
	}
	return c
}

// affectedCrates are the names of the crates that a change can affect, and of all.
// says is what cargo is told: it tests the root's package alone unless it is asked
// for more.
func affectedCrates(ctx context.Context, src imports.Source, says string, changed []string) (hit, all []string, known bool) {
	c := readCrates(ctx, src)
	if c == nil || c.Default || c.Root && !strings.Contains(says, "--workspace") && !strings.Contains(says, "--all") {
		return nil, nil, false
	}
	if hit, known = c.Affected(changed); !known {
		return nil, nil, false
	}
	for _, k := range c.All {
		all = append(all, k.Name)
	}
	return hit, all, true
}

type manifest struct {
	crate
	patched, defaults bool
}

// readManifest reads what of a Cargo.toml says which crates it uses. shared are
// the folders of the dependencies that the workspace names for its members.
func readManifest(dir, text string, shared map[string]string) manifest {
	m := manifest{crate: crate{Dir: dir}}
	table := ""
	for line := range strings.Lines(text) {
		if t := tomlTable.FindStringSubmatch(line); t != nil && !strings.Contains(line, "=") {
			table = t[1]
		}
		if n := tomlName.FindStringSubmatch(line); n != nil && table == "package" {
			m.Name = n[1]
		}
		p := tomlPath.FindStringSubmatch(line)
		m.patched = m.patched || p != nil && (strings.HasPrefix(table, "patch") || strings.HasPrefix(table, "replace"))
		m.defaults = m.defaults || table == "workspace" && strings.HasPrefix(strings.TrimSpace(line), "default-members")
		if p != nil && strings.Contains(table, "dependencies") || p != nil && !strings.HasPrefix(table, "workspace") {
			m.uses = append(m.uses, path.Join(dir, p[1]))
		}
		key := ""
		if k := tomlKey.FindStringSubmatch(line); k != nil {
			key = k[1]
		}
		for _, k := range []string{key, table[strings.LastIndexByte(table, '.')+1:]} {
			if to, ok := shared[k]; ok && strings.Contains(table, "dependencies") && !strings.HasPrefix(table, "workspace") {
				m.uses = append(m.uses, to)
			}
		}
	}
	return m
}

// sharedPaths are the folders in [workspace.dependencies] of the root.
func sharedPaths(text string) map[string]string {
	out := map[string]string{}
	table := ""
	for line := range strings.Lines(text) {
		if t := tomlTable.FindStringSubmatch(line); t != nil && !strings.Contains(line, "=") {
			table = t[1]
		}
		p := tomlPath.FindStringSubmatch(line)
		if p == nil || !strings.HasPrefix(table, "workspace.dependencies") {
			continue
		}
		key := strings.TrimPrefix(table, "workspace.dependencies.")
		if k := tomlKey.FindStringSubmatch(line); k != nil && table == "workspace.dependencies" {
			key = k[1]
		}
		out[key] = path.Clean(p[1])
	}
	return out
}

// Owner is the crate of the deepest folder that holds a file; -1: none.
func (c *crates) Owner(file string) int {
	best := -1
	for i, k := range c.All {
		if (k.Dir == "." || strings.HasPrefix(file, k.Dir+"/")) && (best < 0 || len(k.Dir) > len(c.All[best].Dir) || c.All[best].Dir == ".") {
			best = i
		}
	}
	return best
}

// source notes the files of other crates that a source names, as for
// include_str!. False where it runs what another crate builds.
func (c *crates) source(file, text string) bool {
	own := c.Owner(file)
	if own < 0 {
		return true
	}
	for _, m := range rustParent.FindAllStringSubmatch(text, -1) {
		for _, from := range []string{path.Dir(file), c.All[own].Dir} {
			at := path.Join(from, m[1])
			to := c.Owner(at + "/x")
			switch {
			case to == own || strings.HasPrefix(at, "../"):
			case to < 0: // of none: where it lies, a change runs everything
			default:
				c.All[own].uses = append(c.All[own].uses, c.All[to].Dir)
			}
		}
	}
	if !rustSpawn.MatchString(text) {
		return true
	}
	for _, m := range rustString.FindAllStringSubmatch(text, -1) {
		if i := slices.IndexFunc(c.All, func(k crate) bool { return k.Name == m[1] }); i >= 0 && i != own {
			return false
		}
	}
	return true
}

// Affected are the names of the crates that hold changed files, or use one that
// does. It is not known where a file belongs to no crate or is a manifest.
func (c *crates) Affected(changed []string) (names []string, known bool) {
	hit := map[string]bool{}
	for _, f := range changed {
		i := c.Owner(f)
		switch base := path.Base(f); {
		case i < 0, base == "Cargo.toml", base == "Cargo.lock", base == "build.rs", strings.HasPrefix(base, "rust-toolchain"),
			strings.Contains("/"+f, "/.cargo/"), strings.Contains("/"+f, "/.config/"):
			return nil, false
		}
		hit[c.All[i].Dir] = true
	}
	for grown := true; grown; {
		grown = false
		for _, k := range c.All {
			if !hit[k.Dir] && slices.ContainsFunc(k.uses, func(d string) bool { return hit[d] }) {
				hit[k.Dir], grown = true, true
			}
		}
	}
	for _, k := range c.All {
		if hit[k.Dir] {
			names = append(names, k.Name)
		}
	}
	return names, true
}
