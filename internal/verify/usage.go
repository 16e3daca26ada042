package verify

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/changeset"
	"agency/internal/code"
	"agency/internal/ecosystem"
	"agency/internal/git"
	"agency/internal/regexp"
)

// What a path does not tell of a file, those tell that use it: what only tests
// use and is not what they test belongs to them, whatever its folder is called.
// The base decides where the file was there: a claim could add a use.

// Bounds of looking for who uses what.
const (
	maxUsers  = 200  // files that are read for one
	maxLoose  = 100  // files of no known kind that are asked about; more are in doubt
	manyFiles = 2000 // of a tree, each of which makes asking cost as much again
)

// usage finds out what files are of by who uses them, and keeps what it has found.
type usage struct {
	trees       *changeset.Trees
	files       *commandFiles
	syntax      *code.Engine
	base, claim agency.OID
	matters     map[string]matter // by tree and path
	asked       int               // files of no known kind that were asked about
}

// matterOf tells what a changed file is of.
func (u *usage) matterOf(ctx context.Context, c git.Change) matter {
	tree := u.base
	if c.Status == 'A' {
		tree = u.claim
		// What nothing tested yet can be what the run is for.
		if matterOf(c.Path) == ofProduct && languageOf(c.Path) != "" || u.ownByItsName(ctx, c.Path) {
			return ofProduct
		}
	}
	m := u.matterIn(ctx, tree, c.Path)
	if m == unused && c.Status != 'D' { // it may be used from now on
		m = u.matterIn(ctx, u.claim, c.Path)
	}
	if m == unused {
		m = doubtful
	}
	return m
}

// ownByItsName tells of a new module that is called by what it does, as
// validate.py: the product's, unless it asserts, or a check runs it.
func (u *usage) ownByItsName(ctx context.Context, p string) bool {
	if languageOf(p) == "" || !checking.MatchString(stemOf(p)) || matterOf(path.Join(path.Dir(p), "a"+path.Ext(p))) != ofProduct || inSupport(p) ||
		u.files.planned[p] || u.files.named(ctx)[p] {
		return false
	}
	src := u.trees.Text(ctx, u.claim, p)
	return src != nil && !asserts(p, src)
}

// matterIn tells what a file of a tree is of, there. While it is looked for it
// counts as nothing's, so that files that use each other do not decide.
func (u *usage) matterIn(ctx context.Context, tree agency.OID, p string) matter {
	key := string(tree) + "\x00" + p
	if m, known := u.matters[key]; known {
		return m
	}
	u.matters[key] = unused
	m := matterOf(p)
	switch {
	case m == doubtful:
		m = u.settle(ctx, tree, p)
	case m != ofProduct || hasParts(p) || isLock(p):
	case languageOf(p) == "":
		m = u.loose(ctx, tree, p)
	default:
		m = u.support(ctx, tree, p)
	}
	u.matters[key] = m
	return m
}

// settle decides a doubtful path by who mentions it: the product, and no test,
// makes it the product's. A package that the product imports, as in Go, is the
// product's whoever tests it.
func (u *usage) settle(ctx context.Context, tree agency.OID, p string) matter {
	packaged := isPackaged(p)
	names := u.namesOf(ctx, tree, p)
	m, read := unused, 0
	for _, file := range u.trees.Mentions(ctx, tree, names...) {
		if file == p || languageOf(file) == "" && !isRunner(file) || packaged && path.Dir(file) == path.Dir(p) {
			continue
		}
		whose := matterOf(file)
		if read++; whose == ofProduct && languageOf(file) != "" && read <= len(names)*maxUsers {
			whose = u.userMatter(ctx, tree, file)
		}
		switch {
		case whose == ofTests && !packaged:
			return doubtful
		case whose == ofProduct:
			m = ofProduct
		}
	}
	return m
}

// loose decides of a file that is no code, nor of a kind that tests mostly have,
// by the same: where tests alone speak of it, it may be theirs.
func (u *usage) loose(ctx context.Context, tree agency.OID, p string) matter {
	u.asked += 1 + len(u.trees.List(ctx, tree))/manyFiles
	if u.asked > maxLoose || u.settle(ctx, tree, p) == doubtful {
		return doubtful
	}
	return ofProduct
}

// namesOf are the words by which other files mention a file: data by its name or
// its folders, up to those that hold code, code without its ending or, as in Go, by
// its package.
func (u *usage) namesOf(ctx context.Context, tree agency.OID, p string) []string {
	dir, base := path.Base(path.Dir(p)), path.Base(p)
	isCode := languageOf(p) != ""
	switch {
	case isPackaged(p):
		return []string{packageName(p)}
	case isCode:
		base = strings.TrimSuffix(base, path.Ext(base))
	}
	names := []string{base}
	if !isCode && path.Ext(base) == "" { // a plain word
		names = []string{"'" + base + "'", `"` + base + `"`, "/" + base}
	}
	if dir == "." {
		return names
	}
	folder := func(d string) { names = append(names, d+"/", "'"+d+"'", `"`+d+`"`) }
	if folder(dir); isCode {
		return names
	}
	entries := u.trees.List(ctx, tree)
	for up := path.Dir(path.Dir(p)); up != "." && !slices.ContainsFunc(entries, func(e git.Entry) bool {
		return strings.HasPrefix(e.Path, up+"/") && languageOf(e.Path) != ""
	}); up = path.Dir(up) {
		folder(path.Base(up))
	}
	return names
}

// support decides of a source that its path makes the product's.
func (u *usage) support(ctx context.Context, tree agency.OID, p string) matter {
	src := u.trees.Text(ctx, tree, p)
	if src == nil {
		return ofProduct
	}
	if isPackaged(p) && !inSupport(p) && slices.ContainsFunc(u.packageOf(ctx, tree, p), isTestFile) {
		return u.namesBeside(ctx, tree, p, src)
	}
	m := ofTests
	switch {
	case asserts(p, src), inSupport(p), u.files.planned[p]:
	case onlyData(p, src):
		m = doubtful
	default:
		return ofProduct
	}
	if !u.onlyOfTests(ctx, tree, p, src) {
		m = ofProduct
	}
	return m
}

// onlyOfTests tells whether nothing of the product uses a source, and what uses
// it tests something else.
func (u *usage) onlyOfTests(ctx context.Context, tree agency.OID, p string, src []byte) bool {
	theirs := u.files.planned[p] && u.testsMore(ctx, tree, namingOf(p, src), p)
	for read, file := range u.mentioning(ctx, tree, p) {
		if read == maxUsers {
			return false
		}
		used, more := u.useOf(ctx, tree, p, file)
		if used == ofProduct {
			return false
		}
		theirs = theirs || more
	}
	return theirs
}

// useOf tells whose a use of a source in another file is, unused where it is
// none, and whether the file tests something else as well.
func (u *usage) useOf(ctx context.Context, tree agency.OID, p, file string) (whose matter, more bool) {
	text := u.trees.Text(ctx, tree, file)
	if text == nil {
		return unused, false
	}
	n := namingOf(file, text)
	if !n.uses(p) {
		return unused, false
	}
	whose = u.userMatter(ctx, tree, file)
	if readAs(file).Tests.Beside {
		whose = u.useBeside(ctx, file, text, stemOf(p), whose)
	}
	// What was found to be of the tests by its use tests something else itself.
	return whose, whose == ofTests && (matterOf(file) == ofProduct || u.testsMore(ctx, tree, n, p))
}

// userMatter tells whether a file that uses another is of the tests or of the
// product: what only files of tests use is of the tests, too.
func (u *usage) userMatter(ctx context.Context, tree agency.OID, file string) matter {
	if m := u.matterIn(ctx, tree, file); m != doubtful {
		return m
	}
	return ofTests
}

var modLine = regexp.MustCompile(`(?m)^[ \t]*(?:pub(?:\([^)]*\))?[ \t]+)?mod[ \t]+\w+[ \t]*;`)

// useBeside is a use in a source with tests beside what they test, as in Rust: that
// a module is declared is none.
func (u *usage) useBeside(ctx context.Context, file string, text []byte, stem string, whose matter) matter {
	spans, err := u.syntax.TestSpans(ctx, file, text)
	if err != nil {
		u.trees.Fail(code.Skip(err))
		return unused
	}
	word := regexp.MustCompile(`\b` + regexp.QuoteMeta(stem) + `\b`)
	bare := modLine.ReplaceAllStringFunc(readAs(file).Style.Bare(string(text)), func(s string) string { return strings.Repeat(" ", len(s)) })
	out := unused
	for _, at := range word.FindAllStringIndex(bare, -1) {
		if whose == ofProduct && !slices.ContainsFunc(spans, func(s code.Span) bool { return s.Start <= at[0] && at[1] <= s.End }) {
			return ofProduct
		}
		out = ofTests
	}
	return out
}

// testsMore tells whether a source speaks of more of the product than this file.
func (u *usage) testsMore(ctx context.Context, tree agency.OID, n naming, p string) bool {
	if n.lang == ecosystem.Rust && otherPath(n, p) || n.lang == ecosystem.Node && slices.ContainsFunc(n.loads, func(l ecosystem.ImportedModule) bool { return l.Exact && l.Path == "." }) {
		return true
	}
	return slices.ContainsFunc(u.trees.List(ctx, tree), func(e git.Entry) bool {
		if languageOf(e.Path) == "" || e.Path == p || e.Path == n.from || matterOf(e.Path) != ofProduct || inSupport(e.Path) {
			return false
		}
		dir := path.Dir(e.Path)
		switch base := stemOf(e.Path); {
		case isPackaged(e.Path):
			return dir != path.Dir(p) && (isPackaged(n.from) && dir == path.Dir(n.from) || n.uses(e.Path))
		case moduleOf(e.Path) != bareModule(e.Path) && strings.HasPrefix(p, dir+"/"): // the package around it
			return false
		default:
			return base != "lib" && base != "main" && base != stemOf(p) && n.words[base]
		}
	})
}

var cratePath = regexp.MustCompile(`\b([a-z_]\w*)::(?:(\w+)|\{([^}]*)\})`)

// otherPath tells whether a source of Rust names something of a crate besides a
// module.
func otherPath(n naming, p string) bool {
	stem := stemOf(p)
	for _, m := range cratePath.FindAllStringSubmatch(n.text, -1) {
		if slices.Contains([]string{"std", "core", "alloc", stem}, m[1]) {
			continue
		}
		for w := range strings.SplitSeq(m[2]+m[3], ",") {
			if w = strings.TrimSpace(w); w != "" && w != stem && !strings.HasPrefix(w, stem+"::") {
				return true
			}
		}
	}
	return false
}

// isPackaged tells of a source that is used with its package alone, the folder that
// it stands in: within it, names are used without an import.
func isPackaged(p string) bool { return readAs(p).Names.By == ecosystem.ByFolder }

// packageName is how an import ends by which such a package is used.
func packageName(p string) string { return "/" + path.Base(path.Dir(p)) + `"` }

// mentioning are the sources that may use a file.
func (u *usage) mentioning(ctx context.Context, tree agency.OID, p string) []string {
	w := stemOf(p)
	if isPackaged(p) {
		w = packageName(p)
	}
	return slices.DeleteFunc(slices.Clone(u.trees.Mentions(ctx, tree, w)), func(f string) bool {
		return f == p || languageOf(f) == "" || isPackaged(p) && path.Dir(f) == path.Dir(p)
	})
}

// packageOf are the other files of a package.
func (u *usage) packageOf(ctx context.Context, tree agency.OID, p string) (out []string) {
	for _, e := range u.trees.List(ctx, tree) {
		if isPackaged(e.Path) && path.Dir(e.Path) == path.Dir(p) && e.Path != p {
			out = append(out, e.Path)
		}
	}
	return out
}

// namesBeside decides of a file of Go that stands among what is tested, with
// tests beside it: its names are used without an import.
func (u *usage) namesBeside(ctx context.Context, tree agency.OID, p string, src []byte) matter {
	m := doubtful
	switch {
	case asserts(p, src):
		m = ofTests
	case !onlyData(p, src):
		return ofProduct
	}
	files := u.packageOf(ctx, tree, p)
	form := topNames(src)
	if form == nil || !slices.ContainsFunc(files, func(f string) bool { return !isTestFile(f) }) {
		return ofProduct // it is what they test
	}
	theirs := false
	for i, f := range slices.Concat(files, u.trees.Mentions(ctx, tree, packageName(p))) {
		if i > maxUsers {
			return ofProduct
		}
		if !isPackaged(f) || f == p || !form.MatchString(readAs(f).Style.Bare(string(u.trees.Text(ctx, tree, f)))) {
			continue
		}
		whose := u.userMatter(ctx, tree, f)
		if whose == ofProduct {
			return ofProduct
		}
		theirs = theirs || whose == ofTests
	}
	if !theirs {
		m = ofProduct
	}
	return m
}

// topNames finds the names that a source of Go declares for its package; nil
// where it declares none.
func topNames(src []byte) *regexp.Regexp {
	file, err := parser.ParseFile(token.NewFileSet(), "", src, parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	var names []string
	add := func(id *ast.Ident) {
		if id.Name != "_" && id.Name != "init" {
			names = append(names, regexp.QuoteMeta(id.Name))
		}
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				add(d.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.ValueSpec:
					for _, id := range s.Names {
						add(id)
					}
				case *ast.TypeSpec:
					add(s.Name)
				}
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	return regexp.MustCompile(`\b(?:` + strings.Join(names, "|") + `)\b`)
}
