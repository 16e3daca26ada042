package ecosystem

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"agency/internal/awareness/symbols"
	"agency/internal/bounded"
	"agency/internal/regexp"
	"agency/internal/testreport"

	"mvdan.cc/sh/v3/syntax"
)

// Call is a call of a runner whose output is the line's own.
type Call struct {
	Dir        string   // working folder, relative to the checkout; UnknownDir where nobody can tell
	Loop       bool     // it may run more than once
	Redirected bool     // something of what it prints goes elsewhere
	Text       string   // as it stands in its line, with its assignments
	From       int      // where, in bytes
	Words      []string // as they are written
	Args       []Word   // where they stand
	At         int      // index of the word that names the runner
	Script     string   // the package script through which it is called, else empty
	Inner      []string // then the words of the runner in the script
	Buried     bool     // the script hands no arguments on to the runner
}

// UnknownDir is the folder of a call after a cd that cannot be read.
const UnknownDir = "?"

// Word is where a word stands in a line, in bytes.
type Word struct {
	From, To int
	Quoted   bool // no shell expands a pattern in it
}

// Edit replaces a part of a line.
type Edit struct {
	From, To int
	Text     string
}

// Insert puts text into a line.
func Insert(at int, text string) Edit { return Edit{at, at, text} }

// Before puts text before a call, behind its assignments.
func (c Call) Before(text string) Edit { return Insert(c.Args[0].From, text) }

// After puts text behind a word of a call.
func (c Call) After(word int, text string) Edit { return Insert(c.Args[word].To, text) }

// AtEnd puts text behind a call.
func (c Call) AtEnd(text string) Edit { return c.After(len(c.Args)-1, text) }

// Dropped removes words of a call.
func (c Call) Dropped(words []int) []Edit {
	var out []Edit
	for _, i := range words {
		out = append(out, Edit{c.Args[i-1].To, c.Args[i].To, ""})
	}
	return out
}

// Tool are the words of the runner itself.
func (c Call) Tool() []string {
	if c.Script != "" {
		return slices.Concat(c.Inner, c.Words[c.At+1:])
	}
	return c.Words[c.At:]
}

// PathWords are the words behind one by which a call says what it runs: of
// everything that is no option, nor the value of one, what is there in the
// repository or a pattern of it.
func (c Call) PathWords(behind int, repo Repo) []int {
	var out []int
	for i := behind + 1; i < len(c.Words); i++ {
		w := c.Words[i]
		file, _, _ := strings.Cut(w, "::") // of pytest's FILE::TEST
		switch {
		case w == "--":
			return out
		case optionValue[w]:
			i++
		case strings.HasPrefix(w, "-") || w == "run":
		case repo.FS == nil || strings.ContainsAny(w, "*?") || repo.Has(path.Join(c.Dir, file)):
			out = append(out, i)
		}
	}
	return out
}

// optionValue are the options of all runners that take the next word.
var optionValue = symbols.Words(`-c --config --rootdir --confcutdir -r --require --import --loader --experimental-loader -p -k -m -o -n -W -X
		--project --projects --setupFilesAfterEnv --maxWorkers -w --reporter -R --reporters --timeout -t --testTimeout --env --test-reporter
		--test-reporter-destination --env-file --ui -u --extension --ignore --cov --cov-report --cov-config --maxfail --durations --tb --pool --root --dir
		-s --package --features --target --profile --manifest-path --ignore-glob --deselect --opts --test-name-pattern --testNamePattern -g --grep
		--coverageDirectory --outputFile --tsconfig --log-file -l --log-level`)

// Configs are the texts of the files of these names, or patterns, in the folder of
// a call and above.
func (c Call) Configs(repo Repo, patterns ...string) string {
	var b strings.Builder
	for d := c.Dir; repo.FS != nil; d = path.Dir(d) {
		for _, p := range patterns {
			names, err := fs.Glob(repo.FS, path.Join(EscapeGlob(d), p))
			for _, n := range names {
				b.WriteString("\n" + string(repo.Text(n)))
			}
			if err != nil {
				return ""
			}
		}
		if d == "." {
			break
		}
	}
	return b.String()
}

// ReadReporter is the Read of a runner that writes JUnit XML, or what
// testreport.ReadEvents reads.
func ReadReporter(r Report) (complete, ok bool) {
	return testreport.ReadReporter(r.Doc, r.At, r.Tests, nil), true
}

// HasWord tells whether one of names is among words, alone or with a value.
func HasWord(words []string, names ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool {
		return slices.ContainsFunc(names, func(n string) bool {
			return w == n || strings.HasPrefix(n, "--") && strings.HasPrefix(w, n+"=")
		})
	})
}

// Quote makes one word of shell.
func Quote(s string) string {
	q, err := syntax.Quote(s, syntax.LangPOSIX)
	if err != nil { // a NUL, or a character that POSIX cannot quote
		return "'" + strings.ReplaceAll(strings.ReplaceAll(s, "\x00", ""), "'", `'\''`) + "'"
	}
	return q
}

// WordText is what a word of shell says as it is written: nothing of it that only a
// shell would know.
func WordText(w *syntax.Word) string {
	var b strings.Builder
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			b.WriteString(p.Value)
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			for _, q := range p.Parts {
				if l, ok := q.(*syntax.Lit); ok {
					b.WriteString(l.Value)
				}
			}
		}
	}
	return b.String()
}

// QuoteAll makes words of shell.
func QuoteAll(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = Quote(w)
	}
	return strings.Join(out, " ")
}

// Under are files as a call in a folder names them.
func Under(dir string, names []string) []string {
	var out []string
	for _, f := range names {
		if rel, err := filepath.Rel(dir, f); err == nil {
			out = append(out, filepath.ToSlash(rel))
		}
	}
	return out
}

// Measure is what coverage a command is asked for: of everything, whatever that
// costs, or of a few files in passing, where it costs next to nothing.
type Measure struct {
	All   bool
	Files []string // relative to the repository
}

// Wanted tells whether any is.
func (m Measure) Wanted() bool { return m.All || len(m.Files) > 0 }

// Of are the files of these kinds as a call in a folder names them.
func (m Measure) Of(dir string, exts ...string) []string {
	if dir == UnknownDir {
		return nil
	}
	return Under(dir, slices.DeleteFunc(slices.Clone(m.Files), func(f string) bool {
		return !slices.Contains(exts, path.Ext(f)) || strings.ContainsAny(f, "\n*?[]{}()!,")
	}))
}

// Hits tells whether the change can affect a file.
func (a Affected) Hits(f string) bool {
	_, ok := slices.BinarySearch(a.Hit, f)
	return ok
}

// Ignoring has a runner leave out by an option the files of tests that are not
// affected: whatever else it finds by its own rules runs. The options stand behind a
// word of the call.
func (a Affected) Ignoring(c Call, behind int, option string) ([]Edit, bool) {
	var out []string
	for _, f := range Under(c.Dir, a.Code) {
		full := path.Join(c.Dir, f)
		if a.Hits(full) || strings.HasPrefix(f, "../") || strings.ContainsAny(f, "*?[]{}()!") || a.Keep != nil && a.Keep(full) {
			continue
		}
		if base := path.Base(f); base != "conftest.py" && base != "__init__.py" && testName.MatchString(f) {
			out = append(out, option+Quote(f))
		}
	}
	if len(out) == 0 {
		return nil, false
	}
	return []Edit{c.After(behind, " "+strings.Join(out, " "))}, true
}

// testName is what the paths of files look like that runners take for tests.
var testName = regexp.MustCompile(`(?i)(?:^|[/._-])(?:tests?|specs?|__tests__)(?:[/._-]|$)`)

// Bounds of what is read of a repository.
const (
	MaxManifest = 1 << 20 // bytes of a file that decides how tests run
	maxBelow    = 2000    // files of a folder that are named
)

// Text is what is in a file, nil where there is none.
func (f Repo) Text(name string) []byte {
	if f.FS == nil {
		return nil
	}
	info, err := fs.Stat(f.FS, path.Clean(name))
	if err != nil || !info.Mode().IsRegular() || info.Size() > MaxManifest {
		return nil
	}
	b, err := fs.ReadFile(f.FS, path.Clean(name))
	if err != nil {
		return nil
	}
	return b
}

// Has tells whether a file or folder is there.
func (f Repo) Has(name string) bool {
	if f.FS == nil {
		return strings.ContainsAny(name, "/.")
	}
	_, err := fs.Stat(f.FS, name)
	return err == nil
}

// HasFolder tells whether a folder is there.
func (f Repo) HasFolder(name string) bool {
	if f.FS == nil {
		return path.Ext(name) == ""
	}
	info, err := fs.Stat(f.FS, name)
	return err == nil && info.IsDir()
}

// Below lists the files of a folder that want takes, relative to base, without
// those of others' code.
func (f Repo) Below(base, dir string, want func(string) bool) []string {
	if f.FS == nil {
		return nil
	}
	var out []string
	_ = fs.WalkDir(f.FS, path.Join(base, dir), func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && d != nil && d.IsDir(), err == nil && d.IsDir() && OthersFolder(d.Name()):
			return fs.SkipDir
		case err != nil || d.IsDir() || len(out) >= maxBelow:
			return nil
		}
		rel := p
		if base != "." {
			rel = strings.TrimPrefix(p, base+"/")
		}
		if want(rel) {
			out = append(out, rel)
		}
		return nil
	})
	return out
}

// OthersFolder tells the folders that hold others' code.
func OthersFolder(name string) bool {
	return slices.Contains([]string{".git", "node_modules", "vendor", ".venv", "site-packages"}, name)
}

// InOthersFolder tells whether a file lies in one.
func InOthersFolder(name string) bool {
	return slices.ContainsFunc(strings.Split(path.Dir(name), "/"), OthersFolder)
}

var globMeta = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)

// EscapeGlob is a pattern of fs.Glob for a path as it stands.
func EscapeGlob(s string) string { return globMeta.Replace(s) }

// maxWalked bounds a walk: files and folders of a checkout.
const maxWalked = 250_000

// Head reads at most limit bytes of a regular file; nothing where there is
// none, or where its path leaves the checkout.
func Head(root *os.Root, name string, limit int64) []byte {
	b, err := bounded.Head(root, name, limit)
	if err != nil {
		return nil
	}
	return b
}

// WalkCheckout visits the regular files of a checkout, without following
// links and without the folders that hold others' code.
func WalkCheckout(root *os.Root, visit func(name string, d fs.DirEntry) error) error {
	n := 0
	return fs.WalkDir(bounded.FS(root), ".", func(name string, d fs.DirEntry, err error) error {
		switch n++; {
		case n > maxWalked:
			return fs.SkipAll
		case err != nil && d != nil && d.IsDir():
			return fs.SkipDir
		case err != nil:
			return nil
		case d.IsDir():
			if name != "." && OthersFolder(d.Name()) {
				return fs.SkipDir
			}
			return nil
		case !d.Type().IsRegular():
			return nil
		}
		return visit(name, d)
	})
}
