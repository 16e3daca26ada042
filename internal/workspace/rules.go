package workspace

import (
	"context"
	"errors"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"agency/internal/agency"
	"agency/internal/git"
)

// rules reads what of the base decides how snapshots are taken: what is ignored,
// filtered, recoded, or a submodule.
type rules struct {
	*repository
	factsMu sync.Mutex // taken last
	facts   *baseFacts
}

// translateIgnore rewrites the patterns of the ignore file in folder dir ("."
// is the root) so that they mean the same in one file at the root
// (gitignore(5)): a pattern without an inner slash matches at any depth below
// dir, one with a slash is anchored at dir.
func translateIgnore(dir, text string) string {
	var b strings.Builder
	text = strings.TrimPrefix(text, "\ufeff")
	if dir == "." {
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		return text
	}
	prefix := "/" + escapeGlob(dir) + "/"
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		line = trimTrailing(strings.TrimSuffix(line, "\r"))
		if line == "" || line[0] == '#' {
			continue
		}
		if rest, ok := strings.CutPrefix(line, "!"); ok {
			b.WriteByte('!')
			line = rest
		}
		if line == "" || line == "/" {
			// "!" alone or "/" alone match nothing; keep the file's order plain
			b.WriteString("/\n")
			continue
		}
		b.WriteString(prefix)
		switch body := strings.TrimSuffix(line, "/"); {
		case strings.HasPrefix(line, "/"):
			b.WriteString(line[1:])
		case strings.Contains(body, "/"):
			b.WriteString(line)
		default:
			b.WriteString("**/" + line)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// trimTrailing drops spaces at the end that no backslash keeps.
func trimTrailing(s string) string {
	end := len(s)
	for end > 0 && s[end-1] == ' ' {
		slashes := 0
		for i := end - 2; i >= 0 && s[i] == '\\'; i-- {
			slashes++
		}
		if slashes%2 == 1 {
			break
		}
		end--
	}
	return s[:end]
}

var globEscaper = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)

// escapeGlob makes a folder's name match itself only.
func escapeGlob(s string) string { return globEscaper.Replace(s) }

// baseFacts is what of the base decides how snapshots are taken.
type baseFacts struct {
	ignores  map[string]agency.OID // .gitignore files by path
	gitlinks []string
	files    map[string]bool
	excludes string   // file with the translated ignore rules
	ignored  []string // files that the base tracks although it ignores them
	listed   bool     // ignored is filled in

	modules    []module // submodules that are checked out
	attributes []string // the texts of the rules of attributes
}

// base reads the facts once.
func (r *rules) base(ctx context.Context) (*baseFacts, error) {
	r.factsMu.Lock()
	defer r.factsMu.Unlock()
	if r.facts != nil {
		return r.facts, nil
	}
	entries, err := r.dir.Objects().Tree(ctx, r.baseTree)
	if err != nil {
		return nil, err
	}
	f := &baseFacts{
		ignores: map[string]agency.OID{}, files: make(map[string]bool, len(entries)),
		excludes: filepath.Join(r.dir.GitDir, "ignore"), // where git on a foreign work tree may read
	}
	var links []git.Entry
	for _, e := range entries {
		f.files[e.Path] = true
		switch {
		case e.Mode == git.ModeGitlink:
			links = append(links, e)
			f.gitlinks = append(f.gitlinks, e.Path)
		case path.Base(e.Path) == ".gitignore" && e.Mode != git.ModeSymlink:
			f.ignores[e.Path] = e.ID
		}
	}
	if f.modules, err = r.modules(ctx, "", links); err != nil {
		return nil, err
	}
	if f.attributes, err = r.attributeTexts(ctx, entries); err != nil {
		return nil, err
	}
	if err := r.settleEncodings(f); err != nil {
		return nil, err
	}
	text, err := r.translated(ctx, f)
	if err != nil {
		return nil, err
	}
	if err := git.WriteFile(f.excludes, []byte(text)); err != nil {
		return nil, err
	}
	r.facts = f
	return f, nil
}

// Aside sets folders aside that stand for what is installed: nothing in them
// becomes part of a snapshot, whatever the base's rules say. It tells those in
// which the base has something: they are part of the tree, and stay it.
func (r *rules) Aside(ctx context.Context, folders []string) (part []string, err error) {
	base, err := r.base(ctx)
	if err != nil || len(folders) == 0 {
		return nil, err
	}
	for p := range base.files {
		for _, f := range folders {
			if (p == f || strings.HasPrefix(p, f+"/")) && !slices.Contains(part, f) {
				part = append(part, f)
			}
		}
	}
	r.factsMu.Lock()
	defer r.factsMu.Unlock()
	text, err := r.translated(ctx, base)
	if err != nil {
		return nil, err
	}
	aside := ""
	for _, f := range folders {
		if !slices.Contains(part, f) {
			aside += "/" + escapeGlob(f) + "/\n"
		}
	}
	// The second is read where the ignore files of a checkout are the base's.
	return part, errors.Join(git.WriteFile(base.excludes, []byte(text+aside)),
		git.WriteFile(filepath.Join(r.dir.GitDir, "info", "exclude"), []byte(r.info.Settings.Excludes+aside)))
}

// ownFolders are what the harness itself lays down in a checkout: a contract's staged
// context, and what commands wrote that is too long to be shown. They are never part of
// a snapshot, whatever a repository's own rules say.
const ownFolders = "/.agency/task-context/\n/.agency/output/\n"

// translated writes the user's own ignore rules and those of every .gitignore
// of the base as one list anchored at the root: what comes later wins, as the
// deeper file does in git.
func (r *rules) translated(ctx context.Context, f *baseFacts) (string, error) {
	files := slices.SortedFunc(maps.Keys(f.ignores), func(a, b string) int {
		if d := strings.Count(a, "/") - strings.Count(b, "/"); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	var b strings.Builder
	b.WriteString(r.info.Settings.Excludes)
	for _, p := range files {
		text, err := r.dir.Objects().Content(ctx, f.ignores[p], maxRules)
		if err != nil {
			return "", err
		}
		b.WriteString(translateIgnore(path.Dir(p), string(text)))
	}
	b.WriteString(ownFolders)
	return b.String(), nil
}

// baseIndex is the private directory with an index that holds the base.
func (r *rules) baseIndex(ctx context.Context) (git.Dir, error) {
	index := filepath.Join(r.info.dir(), "index", "base")
	d := r.dir.WithWorkTree("", index)
	if _, err := os.Stat(index); err == nil {
		return d, nil
	}
	if err := os.MkdirAll(filepath.Dir(index), 0o700); err != nil {
		return d, git.Disk(err)
	}
	return d, d.Index().ReadTree(ctx, r.baseTree)
}

// ignoredOfBase lists, once, the files that the base tracks although its own
// rules ignore them: those stay tracked even after having been away.
func (r *rules) ignoredOfBase(ctx context.Context, base *baseFacts) ([]string, error) {
	r.factsMu.Lock()
	defer r.factsMu.Unlock()
	if base.listed {
		return base.ignored, nil
	}
	d, err := r.baseIndex(ctx)
	if err != nil {
		return nil, err
	}
	base.ignored, err = d.Index().TrackedIgnored(ctx, base.excludes)
	base.listed = err == nil
	return base.ignored, err
}
