package verify

import (
	"context"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/changeset"
	"agency/internal/ecosystem"
	"agency/internal/git"
)

// A new file can take the place of one that is delivered: it is what the tests
// load then, and nobody else. It proves nothing, and a person is told.

// shadowing finds the changed files by which others are not loaded any more.
type shadowing struct {
	trees       *changeset.Trees
	base, claim agency.OID
	test        string            // the line of the test command
	found       map[string]string // with those that they stand for; nil: not looked for
}

// all are changed files by which others are loaded no more that are still there,
// with those.
func (s *shadowing) all(ctx context.Context, changes []git.Change) map[string]string {
	if s.found != nil {
		return s.found
	}
	was, d := map[string]bool{}, stayed{}
	for _, e := range s.trees.List(ctx, s.base) {
		was[e.Path] = true
	}
	for _, e := range s.trees.List(ctx, s.claim) {
		d[e.Path] = was[e.Path] && changeset.Regular(e.Mode)
	}
	s.found = map[string]string{}
	for _, c := range changes {
		var old string
		switch {
		case path.Base(c.Path) == "package.json":
			old = s.entryMoved(ctx, c, d)
		case c.Status == 'A':
			old = s.placeOf(ctx, c.Path, d)
		}
		if old != "" {
			s.found[c.Path] = old
		}
	}
	return s.found
}

// stayed are the files that both sides have.
type stayed map[string]bool

// first is the first of some paths that is such a file, of what is tested.
func (d stayed) first(paths ...string) string {
	for _, p := range paths {
		if d[p] && matterOf(p) != ofTests {
			return p
		}
	}
	return ""
}

// loadable are the endings by which JavaScript finds a module that is named
// without one.
var loadable = []string{".js", ".mjs", ".cjs", ".ts", ".tsx", ".jsx", ".mts", ".cts", ".json"}

// placeOf finds the file whose place a new one takes.
func (s *shadowing) placeOf(ctx context.Context, p string, d stayed) string {
	m := bareModule(p)
	switch {
	case strings.HasSuffix(p, ".d.ts"):
	case languageOf(p) == ecosystem.Node, path.Ext(p) == "":
		var others []string
		for _, ext := range loadable {
			if others = append(others, path.Join(m, "index"+ext)); m+ext != p {
				others = append(others, m+ext)
			}
		}
		old := d.first(others...)
		if old == "" || path.Ext(p) == "" && path.Ext(old) == ".json" {
			return ""
		}
		name := "/" + path.Base(m) // named without an ending
		if s.isMentioned(ctx, name+"'", name+`"`, name+"`") {
			return old
		}
	case languageOf(p) == ecosystem.Python:
		if old := d.first(m+"/__init__.py", moduleOf(p)+".py"); old != "" && old != p {
			return old
		}
		return s.otherRoot(ctx, p, d)
	case languageOf(p) == ecosystem.JVM:
		return otherSources(p, d)
	}
	return ""
}

// isMentioned tells whether a file of the base holds one of some texts.
func (s *shadowing) isMentioned(ctx context.Context, texts ...string) bool {
	return len(s.trees.Mentions(ctx, s.base, texts...)) > 0
}

// sourceRoots are folders in which Python looks for modules by their bare name.
var sourceRoots = []string{"", "src", "lib", "python", "test", "tests"}

// otherRoot finds a module of the same name in another folder of sources, where
// something loads it by that name.
func (s *shadowing) otherRoot(ctx context.Context, p string, d stayed) string {
	roots := slices.Clone(sourceRoots)
	for _, w := range strings.FieldsFunc(s.test, func(r rune) bool { return strings.ContainsRune(" =:;'\"", r) }) {
		if w = path.Clean(w); !slices.Contains(roots, w) && !strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "/") {
			roots = append(roots, w)
		}
	}
	for _, r := range roots {
		rest, ok := strings.CutPrefix(p, path.Join(r, "x")[:len(path.Join(r, "x"))-1])
		for _, q := range roots {
			old := path.Join(q, rest)
			if !ok || q == r || old == p || q != "" && (strings.HasPrefix(rest, q+"/") || d[path.Join(q, "__init__.py")]) || d.first(old) == "" {
				continue
			}
			name := strings.ReplaceAll(moduleOf(rest), "/", ".")
			dot := strings.LastIndexByte(name, '.')
			parent, last := name[:max(dot, 0)], name[dot+1:]
			if s.isMentioned(ctx, "import "+name, "from "+name, "from "+parent+" import "+last) {
				return old
			}
		}
	}
	return ""
}

// otherSources finds the type of the same name in another folder of sources of
// Java: the tests' are found first.
func otherSources(p string, d stayed) string {
	for _, folder := range []string{"/java/", "/kotlin/"} {
		_, rest, ok := strings.Cut(p, folder)
		if !ok {
			continue
		}
		for _, old := range slices.Sorted(maps.Keys(d)) {
			if _, other, ok := strings.Cut(old, folder); ok && other == rest && old != p && d.first(old) != "" {
				return old
			}
		}
	}
	return ""
}

// entryMoved finds the file that a package was loaded by and is not any more.
func (s *shadowing) entryMoved(ctx context.Context, c git.Change, d stayed) string {
	before, after := s.trees.Sides(ctx, c)
	dir := path.Dir(c.Path)
	was, is := entriesIn(before), entriesIn(after)
	for _, way := range slices.Sorted(maps.Keys(is)) {
		old, known := was[way]
		if !known {
			old = was["main"] // which the others go before
		}
		if old == is[way] || !known && way != "module" && way != "." && !strings.HasPrefix(way, ". ") {
			continue
		}
		file := d.first(fileForms(path.Join(dir, old))...)
		if old == "" { // it had none
			file = d.first(path.Join(dir, "index.js"))
		}
		if now := fileForms(path.Join(dir, is[way])); file != "" && !slices.Contains(now, file) && (before != nil || old == "") {
			return file
		}
	}
	return ""
}

// fileForms are the files that a path of a package file can mean.
func fileForms(p string) []string {
	out := []string{p}
	for _, ext := range loadable {
		out = append(out, p+ext, path.Join(p, "index"+ext))
	}
	return out
}

// entriesIn are the files by which a package is loaded, by how it is asked for.
func entriesIn(src []byte) map[string]string {
	var doc struct {
		Main, Module, Browser json.RawMessage
		Exports               any
	}
	out := map[string]string{}
	if json.Unmarshal(src, &doc) != nil {
		return out
	}
	for name, raw := range map[string]json.RawMessage{"main": doc.Main, "module": doc.Module, "browser": doc.Browser} {
		var file string
		if json.Unmarshal(raw, &file) == nil && file != "" {
			out[name] = path.Clean(file)
		}
	}
	exported(".", doc.Exports, out)
	return out
}

// exported gathers what exports maps to files, each by its path and conditions.
func exported(way string, v any, out map[string]string) {
	switch v := v.(type) {
	case string:
		out[way] = path.Clean(v)
	case map[string]any:
		for k, inner := range v {
			if strings.HasPrefix(k, ".") {
				exported(k, inner, out)
			} else if k != "types" {
				exported(way+" "+k, inner, out)
			}
		}
	}
}

// weakenings names the files by which others are not loaded any more.
func (s *shadowing) weakenings(ctx context.Context, changes []git.Change) (out []agency.Weakening) {
	all := s.all(ctx, changes)
	for _, p := range slices.Sorted(maps.Keys(all)) {
		out = append(out, agency.Weakening{Kind: agency.WeakShadowed, Name: p, Detail: "what loaded " + all[p] + " loads it instead"})
	}
	return out
}
