package node

import (
	"context"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"agency/internal/awareness/symbols"
	"agency/internal/code/imports"
	"agency/internal/regexp"
)

var jsExts = []string{".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx"}

func isJS(name string) bool { return slices.Contains(jsExts, path.Ext(name)) }

var (
	// jsImport is what certainly loads a module by a literal name.
	jsImport = regexp.MustCompile(`(?:\bfrom\s*|\bimport\s*\(?\s*|\brequire\s*\(\s*)["']([^"'\n]+)["']`)
	// jsDynamic loads what only running it tells.
	jsDynamic = regexp.MustCompile(`\b(?:require|import)\s*\(\s*(?:/\*[^*]*\*/\s*)?[^"'\s)/]|[=,(:]\s*require\s*[,;)\n]`)
	// jsReaches are ways to load, run or read files that are named nowhere.
	jsReaches = regexp.MustCompile(`child_process|\bexeca\b|cross-spawn|\bshelljs\b|["']zx["']|\bcluster\b|readdir|opendir|\bglob(?:by|Sync)?\b|fast-glob|tinyglobby|` +
		`\bcontext\s*\(\s*["']\.|import\.meta\.glob|require\.context|\beval\s*\(|new\s+Function\s*\(|["'](?:node:)?vm["']`)
	// jsRequire makes a require of another name.
	jsRequire = regexp.MustCompile(`(\w+)\s*=\s*(?:\w+\.)?createRequire\s*\(`)
	// jsHooks stand around the tests of all files that are loaded with them.
	jsHooks   = regexp.MustCompile(`(?m)^(?:before|after|beforeEach|afterEach|setup|teardown|suiteSetup|suiteTeardown)\s*\(|mochaHooks|mochaGlobal(?:Setup|Teardown)`)
	jsComment = regexp.MustCompile(`(?m)^\s*//.*$`)
)

// jsReader knows how the modules of a checkout are named.
type jsReader struct {
	*imports.Reader
	stems    map[string][]string // files by their name without extension
	packages map[string]string   // folders of the checkout's packages by name
	external map[string]bool     // names of dependencies
	aliases  []alias
}

// alias is an entry of tsconfig's paths, of which at most one * is left out.
type alias struct {
	before, after string
	star          bool
	targets       []string
}

// imported reads the modules of JavaScript and TypeScript. A file uses what a
// string in it names by its last element, however it is loaded: imports, mocks,
// aliases, paths given to other programs. Nil where there is too much to read.
func imported(ctx context.Context, src imports.Source) *imports.Graph {
	r := &jsReader{Reader: imports.NewReader(ctx, src, jsExts...), stems: map[string][]string{}, packages: map[string]string{}, external: map[string]bool{}}
	for _, f := range r.Graph.Code {
		s := r.Graph.Stem(path.Base(f))
		r.stems[s] = append(r.stems[s], f)
		if s == "index" {
			s = path.Base(path.Dir(f))
			r.stems[s] = append(r.stems[s], f)
		}
	}
	for _, f := range src.Files {
		switch base := path.Base(f); {
		case imports.Others(f):
		case base == "package.json":
			r.manifest(f)
		case strings.HasPrefix(base, "tsconfig") && path.Ext(base) == ".json", base == "jsconfig.json":
			r.tsconfig(f)
		}
	}
	if !r.Each(r.file) {
		return nil
	}
	return &r.Graph
}

func (r *jsReader) manifest(f string) {
	var m struct {
		Name                                   string
		Dependencies, DevDependencies          map[string]string
		PeerDependencies, OptionalDependencies map[string]string
	}
	if json.Unmarshal(r.Text(f), &m) != nil {
		return // then its dependencies are unknown, and what imports them may load anything
	}
	if m.Name != "" {
		r.packages[m.Name] = path.Dir(f)
	}
	for _, deps := range []map[string]string{m.Dependencies, m.DevDependencies, m.PeerDependencies, m.OptionalDependencies} {
		for name := range deps {
			r.external[name] = true
			r.external[strings.TrimPrefix(name, "@types/")] = true
		}
	}
}

func (r *jsReader) tsconfig(f string) {
	var c struct {
		CompilerOptions struct {
			BaseURL string              `json:"baseUrl"`
			Paths   map[string][]string `json:"paths"`
		} `json:"compilerOptions"`
	}
	if json.Unmarshal(jsComment.ReplaceAll(r.Text(f), nil), &c) != nil {
		return // what needs it is not resolved
	}
	for key, targets := range c.CompilerOptions.Paths {
		a := alias{}
		a.before, a.after, a.star = strings.Cut(key, "*")
		for _, t := range targets {
			a.targets = append(a.targets, path.Join(path.Dir(f), c.CompilerOptions.BaseURL, t))
		}
		r.aliases = append(r.aliases, a)
	}
}

func (r *jsReader) file(file, text string) {
	if jsDynamic.MatchString(text) || jsReaches.MatchString(text) {
		r.Wild(file)
	}
	for _, m := range jsRequire.FindAllStringSubmatch(text, -1) {
		if m[1] != "require" {
			r.Wild(file)
		}
	}
	if jsHooks.MatchString(text) {
		r.Hook(file)
	}
	for _, m := range jsImport.FindAllStringSubmatch(text, -1) {
		if !r.module(file, m[1]) {
			r.Wild(file)
		}
	}
	for line := range strings.Lines(text) {
		literals(line, func(s string) { r.literal(file, s) })
	}
}

// literals are all texts of a line that can stand between quotes: also those
// between two strings, for nothing here knows where one begins.
func literals(line string, visit func(string)) {
	for _, q := range []byte{'"', '\'', '`'} {
		from := -1
		for i := range len(line) {
			if line[i] != q {
				continue
			}
			if from >= 0 && i-from > 1 && i-from < 300 {
				visit(line[from+1 : i])
			}
			from = i
		}
	}
}

// module resolves the name of an import; false where it may be any file.
func (r *jsReader) module(file, name string) bool {
	name, _, _ = strings.Cut(name, "?")
	if strings.HasPrefix(name, ".") {
		at := path.Join(path.Dir(file), name)
		if found := r.resolve(at); len(found) > 0 {
			r.Use(file, found...)
			return true
		}
		return r.Tracked[at] // data: its change runs everything
	}
	found := r.aliased(file, name)
	if strings.HasPrefix(name, "/") || strings.HasPrefix(name, "#") {
		return found || len(r.stems[r.Graph.Stem(path.Base(name))]) > 0
	}
	bare := name
	if parts := strings.SplitN(name, "/", 3); len(parts) > 1 {
		bare = parts[0]
		if strings.HasPrefix(name, "@") {
			bare += "/" + parts[1]
		}
	}
	if dir, ok := r.packages[bare]; ok {
		for _, f := range r.Graph.Code {
			if dir == "." || strings.HasPrefix(f, dir+"/") {
				r.Use(file, f)
			}
		}
		return true
	}
	return found || r.external[bare] || strings.HasPrefix(name, "node:") || strings.HasPrefix(name, "bun:") || builtinModules[bare] ||
		len(r.stems[r.Graph.Stem(path.Base(name))]) > 0
}

// resolve are all the files that a path can mean, so that one that is added
// beside another counts.
func (r *jsReader) resolve(at string) []string {
	var found []string
	add := func(f string) {
		if r.Tracked[f] && isJS(f) {
			found = append(found, f)
		}
	}
	add(at)
	for _, ext := range jsExts {
		add(at + ext)
		add(path.Join(at, "index"+ext))
		if isJS(at) {
			add(strings.TrimSuffix(at, path.Ext(at)) + ext)
		}
	}
	add(at + ".d.ts")
	if r.Tracked[path.Join(at, "package.json")] {
		for _, f := range r.Graph.Code {
			if at == "." || strings.HasPrefix(f, at+"/") {
				add(f)
			}
		}
	}
	return found
}

func (r *jsReader) aliased(file, name string) bool {
	found := false
	for _, a := range r.aliases {
		middle, ok := strings.CutPrefix(name, a.before)
		if ok && a.star {
			middle, ok = strings.CutSuffix(middle, a.after)
		} else if ok {
			ok = middle == ""
		}
		for _, t := range a.targets {
			if !ok {
				break
			}
			if hit := r.resolve(path.Clean(strings.Replace(t, "*", middle, 1))); len(hit) > 0 {
				r.Use(file, hit...)
				found = true
			}
		}
	}
	return found
}

// literal notes the files that a string can name.
func (r *jsReader) literal(file, s string) {
	s, _, _ = strings.Cut(s, "?")
	if strings.HasPrefix(s, ".") {
		if found := r.resolve(path.Join(path.Dir(file), s)); len(found) > 0 {
			r.Use(file, found...)
			return
		}
	}
	if !strings.ContainsAny(s, " \t") {
		r.Use(file, r.stems[r.Graph.Stem(path.Base(s))]...)
		return
	}
	for w := range strings.FieldsSeq(s) { // a command line
		if w = strings.Trim(w, "\"'`()[]{},;:"); strings.Contains(w, "/") || isJS(w) {
			r.Use(file, r.stems[r.Graph.Stem(path.Base(w))]...)
		}
	}
}

// builtinModules are the modules of node that need no prefix.
var builtinModules = symbols.Words(`assert async_hooks buffer child_process cluster console constants crypto dgram diagnostics_channel dns domain events
		fs http http2 https inspector module net os path perf_hooks process punycode querystring readline repl stream string_decoder sys timers tls
		trace_events tty url util v8 vm wasi worker_threads zlib`)

// decidesTests tells a file that decides how tests of JavaScript run.
func decidesTests(f string) bool {
	base := path.Base(f)
	return strings.HasPrefix(base, ".") || strings.Contains(base, ".config.") || strings.Contains(base, ".setup.") || strings.Contains(base, ".workspace.") ||
		strings.Contains("/"+f, "/__mocks__/") || strings.HasPrefix(base, "jest-preset") || strings.HasPrefix(base, "setupTests")
}
