package verify

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/changeset"
	"agency/internal/code"
	"agency/internal/ecosystem"
	"agency/internal/git"
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
func (u *usage) matterOf(ctx context.Context, c git.Change) (matter, error) {
	tree := u.base
	if c.Status == 'A' {
		if tree = u.claim; matterOf(c.Path) == ofProduct && languageOf(c.Path) != "" {
			return ofProduct, nil // what nothing tested yet can be what the run is for
		}
		if own, err := u.ownByItsName(ctx, c.Path); err != nil || own {
			return ofProduct, err
		}
	}
	m, err := u.matterIn(ctx, tree, c.Path)
	if err == nil && m == unused && c.Status != 'D' { // it may be used from now on
		m, err = u.matterIn(ctx, u.claim, c.Path)
	}
	if m == unused {
		m = doubtful
	}
	return m, err
}

// ownByItsName tells of a new module that is called by what it does, as
// validate.py: the product's, unless it asserts, or a check runs it.
func (u *usage) ownByItsName(ctx context.Context, p string) (bool, error) {
	lang := languageOf(p)
	if lang == "" || !checking.MatchString(stemOf(p)) || matterOf(path.Join(path.Dir(p), "a"+path.Ext(p))) != ofProduct || inSupport(p) || u.files.planned[p] {
		return false, nil
	}
	named, err := u.files.named(ctx)
	if err != nil || named[p] {
		return false, err
	}
	src, err := u.trees.Text(ctx, u.claim, p)
	return err == nil && src != nil && !asserts(p, src), err
}

// matterIn tells what a file of a tree is of, there. While it is looked for it
// counts as nothing's, so that files that use each other do not decide.
func (u *usage) matterIn(ctx context.Context, tree agency.OID, p string) (m matter, err error) {
	key := string(tree) + "\x00" + p
	if m, known := u.matters[key]; known {
		return m, nil
	}
	u.matters[key] = unused
	switch m = matterOf(p); {
	case m == doubtful:
		m, err = u.settle(ctx, tree, p)
	case m != ofProduct || hasParts(p) || isLock(p):
	case languageOf(p) == "":
		m, err = u.loose(ctx, tree, p)
	default:
		m, err = u.support(ctx, tree, p)
	}
	u.matters[key] = m
	return m, err
}

// settle decides a doubtful path by who mentions it: the product, and no test,
// makes it the product's. A package of Go that the product imports is the
// product's whoever tests it.
func (u *usage) settle(ctx context.Context, tree agency.OID, p string) (matter, error) {
	isGo := path.Ext(p) == ".go"
	names, err := u.namesOf(ctx, tree, p)
	if err != nil {
		return doubtful, err
	}
	files, err := u.trees.Mentions(ctx, tree, names...)
	if err != nil {
		return doubtful, err
	}
	m, read := unused, 0
	for _, file := range files {
		if file == p || languageOf(file) == "" && !isRunner(file) || isGo && path.Dir(file) == path.Dir(p) {
			continue
		}
		whose := matterOf(file)
		if read++; whose == ofProduct && languageOf(file) != "" && read <= len(names)*maxUsers {
			if whose, err = u.userMatter(ctx, tree, file); err != nil {
				return doubtful, err
			}
		}
		switch {
		case whose == ofTests && !isGo:
			return doubtful, nil
		case whose == ofProduct:
			m = ofProduct
		}
	}
	return m, nil
}

// loose decides of a file that is no code, nor of a kind that tests mostly have,
// by the same: where tests alone speak of it, it may be theirs.
func (u *usage) loose(ctx context.Context, tree agency.OID, p string) (matter, error) {
	all, err := u.trees.List(ctx, tree)
	if err != nil {
		return doubtful, err
	}
	if u.asked += 1 + len(all)/manyFiles; u.asked > maxLoose {
		return doubtful, nil
	}
	m, err := u.settle(ctx, tree, p)
	if m != doubtful {
		m = ofProduct
	}
	return m, err
}

// namesOf are the words by which other files mention a file: data by its name or
// its folders, up to those that hold code, code without its ending, Go by its
// package.
func (u *usage) namesOf(ctx context.Context, tree agency.OID, p string) ([]string, error) {
	dir, base := path.Base(path.Dir(p)), path.Base(p)
	isCode := languageOf(p) != ""
	switch {
	case path.Ext(p) == ".go":
		return []string{"/" + dir + `"`}, nil
	case isCode:
		base = strings.TrimSuffix(base, path.Ext(base))
	}
	names := []string{base}
	if !isCode && path.Ext(base) == "" { // a plain word
		names = []string{"'" + base + "'", `"` + base + `"`, "/" + base}
	}
	if dir == "." {
		return names, nil
	}
	names = append(names, dir+"/", "'"+dir+"'", `"`+dir+`"`)
	if isCode {
		return names, nil
	}
	entries, err := u.trees.List(ctx, tree)
	if err != nil {
		return nil, err
	}
	for up := path.Dir(path.Dir(p)); up != "." && !slices.ContainsFunc(entries, func(e git.Entry) bool {
		return strings.HasPrefix(e.Path, up+"/") && languageOf(e.Path) != ""
	}); up = path.Dir(up) {
		d := path.Base(up)
		names = append(names, d+"/", "'"+d+"'", `"`+d+`"`)
	}
	return names, nil
}

// support decides of a source that its path makes the product's.
func (u *usage) support(ctx context.Context, tree agency.OID, p string) (matter, error) {
	src, err := u.trees.Text(ctx, tree, p)
	if err != nil || src == nil {
		return ofProduct, err
	}
	if languageOf(p) == golang && u.testsBeside(ctx, tree, p) && !inSupport(p) {
		return u.namesBeside(ctx, tree, p, src)
	}
	m := ofTests
	switch {
	case asserts(p, src), inSupport(p), u.files.planned[p]:
	case onlyData(p, src):
		m = doubtful
	default:
		return ofProduct, nil
	}
	theirs, err := u.onlyOfTests(ctx, tree, p, src)
	if err != nil || !theirs {
		m = ofProduct
	}
	return m, err
}

// onlyOfTests tells whether nothing of the product uses a source, and what uses
// it tests something else.
func (u *usage) onlyOfTests(ctx context.Context, tree agency.OID, p string, src []byte) (bool, error) {
	files, err := u.mentioning(ctx, tree, p)
	if err != nil {
		return false, err
	}
	theirs := false
	if u.files.planned[p] {
		theirs, err = u.testsMore(ctx, tree, namingOf(p, src), p)
	}
	read := 0
	for _, file := range files {
		if err != nil {
			return false, err
		}
		if read++; read > maxUsers {
			return false, nil
		}
		used, more, err := u.useOf(ctx, tree, p, file)
		if err != nil || used == ofProduct {
			return false, err
		}
		theirs = theirs || more
	}
	return theirs, err
}

// useOf tells whose a use of a source in another file is, unused where it is
// none, and whether the file tests something else as well.
func (u *usage) useOf(ctx context.Context, tree agency.OID, p, file string) (whose matter, more bool, err error) {
	text, err := u.trees.Text(ctx, tree, file)
	if err != nil || text == nil {
		return unused, false, err
	}
	n := namingOf(file, text)
	if !n.uses(p) {
		return unused, false, nil
	}
	if whose, err = u.userMatter(ctx, tree, file); err != nil {
		return unused, false, err
	}
	if n.lang == rust {
		if whose, err = u.rustUse(ctx, file, text, stemOf(p), whose); err != nil {
			return unused, false, err
		}
	}
	switch {
	case whose == ofTests && matterOf(file) == ofProduct: // found to be so itself
		more = true
	case whose == ofTests:
		more, err = u.testsMore(ctx, tree, n, p)
	}
	return whose, more, err
}

// userMatter tells whether a file that uses another is of the tests or of the
// product: what only files of tests use is of the tests, too.
func (u *usage) userMatter(ctx context.Context, tree agency.OID, file string) (matter, error) {
	m, err := u.matterIn(ctx, tree, file)
	if m == doubtful {
		m = ofTests
	}
	return m, err
}

var modLine = regexp.MustCompile(`(?m)^[ \t]*(?:pub(?:\([^)]*\))?[ \t]+)?mod[ \t]+\w+[ \t]*;`)

// rustUse is a use in a source of Rust: that a module is declared is none, and
// tests may stand beside what they test.
func (u *usage) rustUse(ctx context.Context, file string, text []byte, stem string, whose matter) (matter, error) {
	spans, err := u.syntax.TestSpans(ctx, file, text)
	if err != nil {
		return unused, code.Skip(err)
	}
	word := regexp.MustCompile(`\b` + regexp.QuoteMeta(stem) + `\b`)
	bare := modLine.ReplaceAllStringFunc(readAs(file).Style.Bare(string(text)), func(s string) string { return strings.Repeat(" ", len(s)) })
	out := unused
	for _, at := range word.FindAllStringIndex(bare, -1) {
		if whose != ofProduct || slices.ContainsFunc(spans, func(s code.Span) bool { return s.Start <= at[0] && at[1] <= s.End }) {
			out = ofTests
			continue
		}
		return ofProduct, nil
	}
	return out, nil
}

// testsMore tells whether a source speaks of more of the product than this file.
func (u *usage) testsMore(ctx context.Context, tree agency.OID, n naming, p string) (bool, error) {
	entries, err := u.trees.List(ctx, tree)
	if err != nil {
		return false, err
	}
	if n.lang == rust && otherPath(n, p) || n.lang == javascript && slices.ContainsFunc(n.loads, func(l ecosystem.ImportedModule) bool { return l.Exact && l.Path == "." }) {
		return true, nil
	}
	for _, e := range entries {
		if languageOf(e.Path) == "" || e.Path == p || e.Path == n.from || matterOf(e.Path) != ofProduct || inSupport(e.Path) {
			continue
		}
		dir := path.Dir(e.Path)
		switch base := stemOf(e.Path); {
		case path.Ext(e.Path) == ".go":
			if dir != path.Dir(p) && (n.lang == golang && dir == path.Dir(n.from) || n.uses(e.Path)) {
				return true, nil
			}
		case moduleOf(e.Path) != bareModule(e.Path) && strings.HasPrefix(p, dir+"/"): // the package around it
		case base == "lib", base == "main", base == stemOf(p):
		case n.words[base]:
			return true, nil
		}
	}
	return false, nil
}

var cratePath = regexp.MustCompile(`\b([a-z_]\w*)::(?:(\w+)|\{([^}]*)\})`)

// otherPath tells whether a source of Rust names something of a crate besides a
// module.
func otherPath(n naming, p string) bool {
	stem := stemOf(p)
	for _, m := range cratePath.FindAllStringSubmatch(n.text, -1) {
		switch m[1] {
		case "std", "core", "alloc", stem:
			continue
		}
		for _, w := range strings.Split(m[2]+m[3], ",") {
			if w = strings.TrimSpace(w); w != "" && w != stem && !strings.HasPrefix(w, stem+"::") {
				return true
			}
		}
	}
	return false
}

// mentioning are the sources that may use a file.
func (u *usage) mentioning(ctx context.Context, tree agency.OID, p string) ([]string, error) {
	w := stemOf(p)
	if path.Ext(p) == ".go" {
		w = "/" + path.Base(path.Dir(p)) + `"`
	}
	files, err := u.trees.Mentions(ctx, tree, w)
	return slices.DeleteFunc(slices.Clone(files), func(f string) bool {
		return f == p || languageOf(f) == "" || path.Ext(p) == ".go" && path.Dir(f) == path.Dir(p)
	}), err
}

// testsBeside tells whether a package of Go has tests of its own.
func (u *usage) testsBeside(ctx context.Context, tree agency.OID, p string) bool {
	files, err := u.packageOf(ctx, tree, p)
	return err == nil && slices.ContainsFunc(files, isTestFile)
}

// packageOf are the other files of Go in the folder of one.
func (u *usage) packageOf(ctx context.Context, tree agency.OID, p string) (out []string, err error) {
	entries, err := u.trees.List(ctx, tree)
	for _, e := range entries {
		if path.Ext(e.Path) == ".go" && path.Dir(e.Path) == path.Dir(p) && e.Path != p {
			out = append(out, e.Path)
		}
	}
	return out, err
}

// namesBeside decides of a file of Go that stands among what is tested, with
// tests beside it: its names are used without an import.
func (u *usage) namesBeside(ctx context.Context, tree agency.OID, p string, src []byte) (matter, error) {
	m := doubtful
	switch {
	case asserts(p, src):
		m = ofTests
	case !onlyData(p, src):
		return ofProduct, nil
	}
	files, err := u.packageOf(ctx, tree, p)
	if err != nil {
		return ofProduct, err
	}
	if slices.IndexFunc(files, func(f string) bool { return !isTestFile(f) }) < 0 {
		return ofProduct, nil // it is what they test
	}
	users, err := u.trees.Mentions(ctx, tree, "/"+path.Base(path.Dir(p))+`"`)
	if err != nil {
		return ofProduct, err
	}
	form := topNames(src)
	if form == nil {
		return ofProduct, nil
	}
	theirs := false
	for i, f := range slices.Concat(files, users) {
		text, err := u.trees.Text(ctx, tree, f)
		if err != nil || i > maxUsers {
			return ofProduct, err
		}
		if path.Ext(f) != ".go" || f == p || !form.MatchString(readAs(f).Style.Bare(string(text))) {
			continue
		}
		whose, err := u.userMatter(ctx, tree, f)
		if err != nil || whose == ofProduct {
			return ofProduct, err
		}
		theirs = theirs || whose == ofTests
	}
	if !theirs {
		m = ofProduct
	}
	return m, nil
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
