package verify

import (
	"context"
	"path"
	"regexp"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/code"
	"agency/internal/git"
)

// What a path does not tell of a file, those tell that use it: what only tests
// use and is not what they test belongs to them, whatever its folder is called.
// The base decides where the file was there: a claim could add a use.

// Bounds of looking for who uses what.
const (
	maxUsers = 200 // files that are read for one
	maxLoose = 100 // files of no known kind that are asked about; more are in doubt
)

// lookup is what one verification has found out of files and who uses them.
type lookup struct {
	matters   map[string]matter                   // by tree and path
	asked     int                                 // files of no known kind that were asked about
	read      map[agency.OID][]byte               // texts of the change, by their blob
	entries   map[agency.OID]map[string]git.Entry // of trees, by path
	mentioned map[string][]string                 // files that hold a text, by tree and text
	scripts   map[string]bool                     // files that the plan's own commands name
	places    map[string]string                   // changed files by which others are not loaded any more, with those
}

// matterOf tells what a changed file is of.
func (j *job) matterOf(ctx context.Context, c git.Change) (matter, error) {
	tree := j.task.base
	if c.Status == 'A' {
		if tree = j.task.claim; matterOf(c.Path) == ofProduct && languageOf(c.Path) != "" {
			return ofProduct, nil // what nothing tested yet can be what the run is for
		}
		if own, err := j.ownByItsName(ctx, c.Path); err != nil || own {
			return ofProduct, err
		}
	}
	m, err := j.matterIn(ctx, tree, c.Path)
	if err == nil && m == unused && c.Status != 'D' { // it may be used from now on
		m, err = j.matterIn(ctx, j.task.claim, c.Path)
	}
	if m == unused {
		m = doubtful
	}
	return m, err
}

// ownByItsName tells of a new module that is called by what it does, as
// validate.py: the product's, unless it asserts, or a check runs it.
func (j *job) ownByItsName(ctx context.Context, p string) (bool, error) {
	lang := languageOf(p)
	if lang == "" || !checking.MatchString(stemOf(p)) || matterOf(path.Join(path.Dir(p), "a"+path.Ext(p))) != ofProduct || inSupport(p) || j.planned(p) {
		return false, nil
	}
	named, err := j.namedFiles(ctx)
	if err != nil || named[p] {
		return false, err
	}
	src, err := j.textIn(ctx, j.task.claim, p)
	return err == nil && src != nil && !asserts(lang, src), err
}

// matterIn tells what a file of a tree is of, there. While it is looked for it
// counts as nothing's, so that files that use each other do not decide.
func (j *job) matterIn(ctx context.Context, tree agency.OID, p string) (m matter, err error) {
	key := string(tree) + "\x00" + p
	if m, known := j.matters[key]; known {
		return m, nil
	}
	if j.matters == nil {
		j.matters = map[string]matter{}
	}
	j.matters[key] = unused
	switch m = matterOf(p); {
	case m == doubtful:
		m, err = j.settle(ctx, tree, p)
	case m != ofProduct || hasParts(p) || isLock(p):
	case languageOf(p) == "":
		m, err = j.loose(ctx, tree, p)
	default:
		m, err = j.support(ctx, tree, p)
	}
	j.matters[key] = m
	return m, err
}

// settle decides a doubtful path by who mentions it: the product, and no test,
// makes it the product's. A package of Go that the product imports is the
// product's whoever tests it.
func (j *job) settle(ctx context.Context, tree agency.OID, p string) (matter, error) {
	isGo := path.Ext(p) == ".go"
	mentioned := false
	names, err := j.namesOf(ctx, tree, p)
	if err != nil {
		return doubtful, err
	}
	for _, w := range names {
		files, err := j.mentions(ctx, tree, w)
		if err != nil {
			return doubtful, err
		}
		read := 0
		for _, file := range files {
			if file == p || languageOf(file) == "" && !isRunner(file) || isGo && path.Dir(file) == path.Dir(p) {
				continue
			}
			whose := matterOf(file)
			if read++; whose == ofProduct && languageOf(file) != "" && read <= maxUsers {
				if whose, err = j.userMatter(ctx, tree, file); err != nil {
					return doubtful, err
				}
			}
			switch {
			case whose == ofTests && !isGo:
				return doubtful, nil
			case whose == ofProduct:
				mentioned = true
			}
		}
	}
	if mentioned {
		return ofProduct, nil
	}
	return unused, nil
}

// loose decides of a file that is no code, nor of a kind that tests mostly have,
// by the same: where tests alone speak of it, it may be theirs.
func (j *job) loose(ctx context.Context, tree agency.OID, p string) (matter, error) {
	if j.asked++; j.asked > maxLoose {
		return doubtful, nil
	}
	m, err := j.settle(ctx, tree, p)
	if m != doubtful {
		m = ofProduct
	}
	return m, err
}

// namesOf are the words by which other files mention a file: data by its name or
// its folders, up to those that hold code, code without its ending, Go by its
// package.
func (j *job) namesOf(ctx context.Context, tree agency.OID, p string) ([]string, error) {
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
	entries, err := j.tree(ctx, tree)
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
func (j *job) support(ctx context.Context, tree agency.OID, p string) (matter, error) {
	src, err := j.textIn(ctx, tree, p)
	if err != nil || src == nil {
		return ofProduct, err
	}
	if languageOf(p) == golang && j.testsBeside(ctx, tree, p) && !inSupport(p) {
		return j.namesBeside(ctx, tree, p, src)
	}
	m := ofTests
	switch {
	case asserts(languageOf(p), src), inSupport(p), j.planned(p):
	case onlyData(p, src):
		m = doubtful
	default:
		return ofProduct, nil
	}
	theirs, err := j.onlyOfTests(ctx, tree, p, src)
	if err != nil || !theirs {
		m = ofProduct
	}
	return m, err
}

// onlyOfTests tells whether nothing of the product uses a source, and what uses
// it tests something else.
func (j *job) onlyOfTests(ctx context.Context, tree agency.OID, p string, src []byte) (bool, error) {
	files, err := j.mentioning(ctx, tree, p)
	if err != nil {
		return false, err
	}
	theirs := false
	if j.planned(p) {
		theirs, err = j.testsMore(ctx, tree, namingOf(p, src), p)
	}
	read := 0
	for _, file := range files {
		if err != nil {
			return false, err
		}
		if read++; read > maxUsers {
			return false, nil
		}
		used, more, err := j.useOf(ctx, tree, p, file)
		if err != nil || used == ofProduct {
			return false, err
		}
		theirs = theirs || more
	}
	return theirs, err
}

// useOf tells whose a use of a source in another file is, unused where it is
// none, and whether the file tests something else as well.
func (j *job) useOf(ctx context.Context, tree agency.OID, p, file string) (whose matter, more bool, err error) {
	text, err := j.textIn(ctx, tree, file)
	if err != nil || text == nil {
		return unused, false, err
	}
	n := namingOf(file, text)
	if !n.uses(p) {
		return unused, false, nil
	}
	if whose, err = j.userMatter(ctx, tree, file); err != nil {
		return unused, false, err
	}
	if n.lang == rust {
		if whose, err = j.rustUse(ctx, file, text, stemOf(p), whose); err != nil {
			return unused, false, err
		}
	}
	switch {
	case whose == ofTests && matterOf(file) == ofProduct: // found to be so itself
		more = true
	case whose == ofTests:
		more, err = j.testsMore(ctx, tree, n, p)
	}
	return whose, more, err
}

// userMatter is what a file is of that uses another: what belongs to tests makes
// theirs what it uses.
func (j *job) userMatter(ctx context.Context, tree agency.OID, file string) (matter, error) {
	m, err := j.matterIn(ctx, tree, file)
	if m == doubtful {
		m = ofTests
	}
	return m, err
}

var modLine = regexp.MustCompile(`(?m)^[ \t]*(?:pub(?:\([^)]*\))?[ \t]+)?mod[ \t]+\w+[ \t]*;`)

// rustUse is a use in a source of Rust: that a module is declared is none, and
// tests may stand beside what they test.
func (j *job) rustUse(ctx context.Context, file string, text []byte, stem string, whose matter) (matter, error) {
	spans, err := j.v.o.Syntax.TestSpans(ctx, file, text)
	if err != nil {
		return unused, skipped(err)
	}
	word := regexp.MustCompile(`\b` + regexp.QuoteMeta(stem) + `\b`)
	bare := modLine.ReplaceAllStringFunc(bareText(rust, text), func(s string) string { return strings.Repeat(" ", len(s)) })
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
func (j *job) testsMore(ctx context.Context, tree agency.OID, n naming, p string) (bool, error) {
	entries, err := j.tree(ctx, tree)
	if err != nil {
		return false, err
	}
	if n.lang == rust && otherPath(n, p) || n.lang == javascript && slices.ContainsFunc(n.loads, func(l loaded) bool { return l.exact && l.path == "." }) {
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
func (j *job) mentioning(ctx context.Context, tree agency.OID, p string) ([]string, error) {
	w := stemOf(p)
	if path.Ext(p) == ".go" {
		w = "/" + path.Base(path.Dir(p)) + `"`
	}
	files, err := j.mentions(ctx, tree, w)
	return slices.DeleteFunc(slices.Clone(files), func(f string) bool {
		return f == p || languageOf(f) == "" || path.Ext(p) == ".go" && path.Dir(f) == path.Dir(p)
	}), err
}

// textIn is the text of a file of a tree; nil where there is none, or more than
// is looked at.
func (j *job) textIn(ctx context.Context, tree agency.OID, p string) ([]byte, error) {
	e, err := j.entryOf(ctx, tree, p)
	if err != nil {
		return nil, err
	}
	if text, ok := j.read[e.ID]; ok {
		return text, nil
	}
	text, err := j.text(ctx, e.Mode, e.ID, maxSourceSize)
	if git.IsTooLong(err) {
		return nil, nil
	}
	return text, err
}

// entryOf is a file of a tree; of mode 0 where there is none.
func (j *job) entryOf(ctx context.Context, tree agency.OID, p string) (git.Entry, error) {
	if at := j.entries[tree]; at != nil {
		return at[p], nil
	}
	entries, err := j.tree(ctx, tree)
	if err != nil {
		return git.Entry{}, err
	}
	at := make(map[string]git.Entry, len(entries))
	for _, e := range entries {
		at[e.Path] = e
	}
	if j.entries == nil {
		j.entries = map[agency.OID]map[string]git.Entry{}
	}
	j.entries[tree] = at
	return at[p], nil
}

// mentions are the files of a tree that hold a text, looked for once.
func (j *job) mentions(ctx context.Context, tree agency.OID, text string) ([]string, error) {
	key := string(tree) + "\x00" + text
	if files, ok := j.mentioned[key]; ok {
		return files, nil
	}
	files, err := j.run.Dir().Mentions(ctx, tree, text)
	if err == nil {
		if j.mentioned == nil {
			j.mentioned = map[string][]string{}
		}
		j.mentioned[key] = files
	}
	return files, err
}
