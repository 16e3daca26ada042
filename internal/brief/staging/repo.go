package staging

import (
	"bytes"
	"context"
	"io/fs"
	"path"
	"slices"
	"strings"

	"agency/internal/regexp"
)

const (
	maxFiles    = 20_000
	maxFileSize = 256 << 10
	// maxRead is how much of a repository is read at most, in bytes.
	maxRead = 16 << 20
)

// repo is the text files of a repository.
type repo struct {
	paths []string // sorted
	files map[string]*file
	dirs  map[string][]string // Go files without tests by folder
	bases map[string][]string // files by their own name
}

type file struct {
	text    string
	imports []string // as written
}

// skipped are folders that hold nothing of the repository's own making.
func skipped(name string) bool {
	switch name {
	case ".git", ".agency", "node_modules", "vendor", ".venv", "venv", "target", "dist", "build", "__pycache__", ".tox", ".idea", "third_party", "testdata":
		return true
	}
	return false
}

// read reads the sources of a repository, the nearest to the root first where
// there are too many.
func read(ctx context.Context, fsys fs.FS) (*repo, error) {
	r := &repo{files: map[string]*file{}}
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && d != nil && d.IsDir():
			return fs.SkipDir // a folder that cannot be read hides nothing else
		case err != nil:
			return nil
		case d.IsDir() && p != "." && skipped(strings.ToLower(d.Name())):
			return fs.SkipDir
		case d.IsDir() || !d.Type().IsRegular() || !isText(p):
			return nil
		}
		if info, err := d.Info(); err == nil && info.Size() <= maxFileSize && info.Size() > 0 {
			r.paths = append(r.paths, p)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(r.paths, func(a, b string) int {
		if d := strings.Count(a, "/") - strings.Count(b, "/"); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	r.paths = r.paths[:min(len(r.paths), maxFiles)]
	return r, r.load(ctx, fsys)
}

func (r *repo) load(ctx context.Context, fsys fs.FS) error {
	left := maxRead
	kept := r.paths[:0]
	for _, p := range r.paths {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if left <= 0 {
			break
		}
		data, err := fs.ReadFile(fsys, p)
		if err != nil || bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0 {
			continue // gone meanwhile, or no text
		}
		left -= len(data)
		r.files[p] = &file{text: string(data), imports: imports(p, string(data))}
		kept = append(kept, p)
	}
	r.paths = kept
	slices.Sort(r.paths)
	r.index()
	return nil
}

// index is what imports are looked up in.
func (r *repo) index() {
	r.dirs, r.bases = map[string][]string{}, map[string][]string{}
	for _, p := range r.paths {
		r.bases[baseName(p)] = append(r.bases[baseName(p)], p)
		if strings.HasSuffix(p, ".go") && !isTest(p) {
			r.dirs[path.Dir(p)] = append(r.dirs[path.Dir(p)], p)
		}
	}
}

func isText(p string) bool {
	switch strings.ToLower(path.Ext(p)) {
	case ".png", ".jpg", ".jpeg", ".gif", ".ico", ".pdf", ".zip", ".gz", ".xz", ".tar", ".jar", ".so", ".a", ".o", ".exe", ".woff",
		".woff2", ".ttf", ".mp3", ".mp4", ".wasm", ".sum", ".lock", ".svg", ".map", ".snap", ".csv", ".tsv", ".bin", ".db", ".min.js":
		return false
	}
	base := baseName(p)
	return base != "package-lock.json" && base != "pnpm-lock.yaml" && !strings.HasSuffix(base, ".min.js") && !strings.HasSuffix(base, ".pb.go")
}

func isProse(p string) bool {
	switch strings.ToLower(path.Ext(p)) {
	case ".md", ".rst", ".txt", ".adoc":
		return true
	}
	return false
}

var testName = regexp.MustCompile(`(?i)(^|/)(tests?|__tests__|spec)/|(^|/)test_[^/]+\.py$|_test\.[a-z]+$|[._-](test|spec)\.[a-z]+$|(^|/)[^/]*Tests?\.(java|kt|cs)$`)

func isTest(p string) bool { return testName.MatchString(p) }

func baseName(p string) string { return path.Base(p) }

// stem is a file's name without what marks it as a test or a language.
func stem(p string) string {
	s := strings.TrimSuffix(baseName(p), path.Ext(p))
	for _, end := range []string{"_test", ".test", ".spec", "-test", "Test", "Tests", "_spec"} {
		s = strings.TrimSuffix(s, end)
	}
	return strings.ToLower(strings.TrimPrefix(s, "test_"))
}

var importForms = map[string][]*regexp.Regexp{
	".go":   {regexp.MustCompile(`(?m)^\s*(?:import\s+)?(?:[A-Za-z_.][A-Za-z0-9_]*\s+)?"([^"\s]+)"\s*$`)},
	".py":   {regexp.MustCompile(`(?m)^\s*from\s+([.\w]+)\s+import`), regexp.MustCompile(`(?m)^\s*import\s+([\w.]+)`)},
	".js":   {regexp.MustCompile(`(?:from\s*|require\(\s*|import\(\s*|import\s+)["']([^"']+)["']`)},
	".rs":   {regexp.MustCompile(`(?m)^\s*(?:pub\s+)?(?:use\s+(?:crate|super|self)::|mod\s+)([\w:]+)`)},
	".java": {regexp.MustCompile(`(?m)^\s*import\s+(?:static\s+)?([\w.]+)`)},
}

func importForm(p string) []*regexp.Regexp {
	switch ext := strings.ToLower(path.Ext(p)); ext {
	case ".ts", ".tsx", ".jsx", ".mjs", ".cjs":
		return importForms[".js"]
	case ".kt":
		return importForms[".java"]
	default:
		return importForms[ext]
	}
}

// imports are the names that a file imports, as they are written.
func imports(p, text string) []string {
	head := text[:min(len(text), 16<<10)] // imports stand first
	var out []string
	for _, re := range importForm(p) {
		for _, m := range re.FindAllStringSubmatch(head, 64) {
			out = append(out, m[1])
		}
	}
	return out
}

// resolve are the files of the repository that an import of a file means.
func (r *repo) resolve(from, name string) []string {
	switch ext := strings.ToLower(path.Ext(from)); ext {
	case ".go":
		return r.folder(name)
	case ".py":
		return r.module(path.Dir(from), name)
	case ".rs":
		return r.tails("/"+strings.ReplaceAll(name, "::", "/"), ".rs", "/mod.rs")
	case ".java", ".kt":
		return r.tails("/"+strings.ReplaceAll(name, ".", "/"), ext)
	}
	if !strings.HasPrefix(name, ".") {
		return nil
	}
	at := path.Join(path.Dir(from), name)
	var out []string
	for _, end := range []string{"", ".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs", "/index.ts", "/index.tsx", "/index.js"} {
		if r.files[at+end] != nil {
			out = append(out, at+end)
		}
	}
	if base, ok := strings.CutSuffix(at, ".js"); ok && r.files[base+".ts"] != nil {
		out = append(out, base+".ts") // how TypeScript names its own modules
	}
	return out
}

// folder are the Go files of the package whose path ends an import's.
func (r *repo) folder(name string) []string {
	parts := strings.Split(name, "/")
	for i := range parts {
		if out := r.dirs[strings.Join(parts[i:], "/")]; len(out) > 0 {
			return out
		}
	}
	return nil
}

// module are the files of a Python module, also a relative one.
func (r *repo) module(dir, name string) []string {
	up := len(name) - len(strings.TrimLeft(name, "."))
	rest := strings.ReplaceAll(strings.TrimLeft(name, "."), ".", "/")
	if up > 0 {
		for range up - 1 {
			dir = path.Dir(dir)
		}
		at := path.Join(dir, rest)
		return slices.DeleteFunc([]string{at + ".py", at + "/__init__.py"}, func(p string) bool { return r.files[p] == nil })
	}
	return r.tails("/"+rest, ".py", "/__init__.py")
}

// tails are the files whose path ends in a name with one of the endings; the
// name may have parts at its end that no file has.
func (r *repo) tails(name string, ends ...string) (out []string) {
	for try := name; try != "" && try != "/" && try != "."; try = path.Dir(try) {
		for _, end := range ends {
			for _, p := range r.bases[baseName(try+end)] {
				if strings.HasSuffix("/"+p, try+end) {
					out = append(out, p)
				}
			}
		}
		if len(out) > 0 || strings.Count(try, "/") <= 1 {
			return out[:min(len(out), 8)]
		}
	}
	return nil
}
