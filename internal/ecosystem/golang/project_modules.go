package golang

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"agency/internal/ecosystem"
	"agency/internal/regexp"
)

func goParts(c *ecosystem.Checkout, _ func(string) bool) []ecosystem.Part {
	var parts []ecosystem.Part
	for _, g := range findModules(c) {
		pat := g.patterns()
		parts = append(parts, ecosystem.Part{
			Language: "Go", Manifest: path.Join(g.dir, g.manifest()), Dir: g.dir,
			// A single program would be written into the folder: it is linked, and thrown away.
			Test: "go test " + pat, Lint: "go vet " + pat, Build: "go build -o /dev/null " + pat,
		})
	}
	return parts
}

func units(c *ecosystem.Checkout) []ecosystem.Unit {
	var modules []string
	for _, g := range findModules(c) {
		modules = append(modules, g.dir)
	}
	return c.CacheUnit("go", "gomod", modules, "go.mod", "go.sum", "go.work", "go.work.sum")
}

// listLines print the errors of all packages in folders.
func listLines(dirs []goDir) string {
	var line []string
	for _, d := range dirs {
		line = append(line, "(cd "+ecosystem.Quote("./"+d.dir)+" && "+listErrors+" "+d.patterns()+")")
	}
	return strings.Join(line, "; ")
}

// asking leaves out the folders whose modules ask for no other: nothing of theirs can be
// missing. One that cannot be read stays.
func asking(c *ecosystem.Checkout, dirs []goDir) []goDir {
	return slices.DeleteFunc(slices.Clone(dirs), func(d goDir) bool {
		mods := d.uses
		if mods == nil {
			mods = []string{"."}
		}
		return !slices.ContainsFunc(mods, func(m string) bool {
			name := path.Join(d.dir, m, "go.mod")
			f, err := modfile.ParseLax(name, []byte(c.Text(name)), nil)
			return err != nil || f.Module == nil || len(f.Require) > 0
		})
	})
}

// goDir is a folder in which the go command is started.
type goDir struct {
	dir  string   // relative to the repository, "." is its root
	uses []string // modules of a go.work there, relative to dir; nil: a module
}

func (g goDir) manifest() string {
	if g.uses != nil {
		return "go.work"
	}
	return "go.mod"
}

// patterns are the packages of a folder: ./... does not reach the modules of a
// workspace that lie in folders of their own.
func (g goDir) patterns() string {
	if g.uses == nil {
		return "./..."
	}
	var out []string
	for _, u := range g.uses {
		p := "./" + path.Join(u, "...")
		if u == "." {
			p = "./..."
		}
		out = append(out, ecosystem.Quote(p))
	}
	return strings.Join(out, " ")
}

// findModules lists where the go command must be started so that every module
// of the repository is seen once: at a go.work for the modules that it uses, in
// each other module. The root comes first.
func findModules(c *ecosystem.Checkout) []goDir {
	var found []string
	work := map[string][]string{}
	_ = fs.WalkDir(c.FS, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && d != nil && d.IsDir():
			return fs.SkipDir
		case err != nil:
			return nil
		case d.IsDir():
			if name != "." && (goIgnores(d.Name()) || c.Foreign(name)) {
				return fs.SkipDir
			}
			return nil
		case !d.Type().IsRegular():
			return nil
		}
		switch d.Name() {
		case "go.mod":
			found = append(found, path.Dir(name))
		case "go.work":
			work[path.Dir(name)] = workUses(c, name)
		}
		return nil
	})
	return startDirs(found, work)
}

func startDirs(modules []string, work map[string][]string) []goDir {
	var out []goDir
	used := map[string]bool{}
	for dir, uses := range work {
		var inside []string
		for _, u := range uses {
			if m := path.Join(dir, u); slices.Contains(modules, m) {
				used[m] = true
				inside = append(inside, u)
			}
		}
		if len(inside) > 0 {
			out = append(out, goDir{dir: dir, uses: inside})
		}
	}
	for _, m := range modules {
		if !used[m] {
			out = append(out, goDir{dir: m})
		}
	}
	slices.SortFunc(out, func(a, b goDir) int { return ecosystem.ByDepth(a.dir, b.dir) })
	return out[:min(len(out), ecosystem.MaxParts)]
}

// goIgnores tells the folders that the go command leaves out of ./..., and
// those that hold others' code.
func goIgnores(name string) bool {
	return name == "vendor" || name == "testdata" || name == "node_modules" ||
		strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
}

var (
	workBlock = regexp.MustCompile(`(?ms)^\s*use\s*\((.*?)\)`)
	workLine  = regexp.MustCompile(`(?m)^\s*use\s+([^\s(]+)`)
	goComment = regexp.MustCompile(`//[^\n]*`)
)

// workUses are the folders that a go.work uses inside of the repository.
func workUses(c *ecosystem.Checkout, name string) []string {
	text := goComment.ReplaceAllString(c.Text(name), "")
	var out []string
	add := func(word string) {
		dir := path.Clean(strings.Trim(word, "\"`"))
		if dir != "" && fs.ValidPath(path.Join(path.Dir(name), dir)) && !slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	for _, m := range workBlock.FindAllStringSubmatch(text, -1) {
		for _, w := range strings.Fields(m[1]) {
			add(w)
		}
	}
	for _, m := range workLine.FindAllStringSubmatch(workBlock.ReplaceAllString(text, ""), -1) {
		add(m[1])
	}
	return out
}

var goReplace = regexp.MustCompile(`=>\s+(\.\.?/\S*|\.\.?)`)

// tested tells whether a part has tests that its command runs.
func tested(c *ecosystem.Checkout, p ecosystem.Part) bool {
	found := false
	_ = fs.WalkDir(c.FS, p.Dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case found:
			return fs.SkipAll
		case err != nil && d == nil, err == nil && d.IsDir() && name != p.Dir && goIgnores(d.Name()):
			return fs.SkipDir
		}
		found = strings.HasSuffix(name, "_test.go")
		return nil
	})
	return found
}

// listErrors prints every error of the packages that builds and tests of a
// folder need, their dependencies' too.
const listErrors = `go list -e -deps -test -f '{{with .Error}}{{.}}{{end}}{{range .DepsErrors}}{{.}}{{"\n"}}{{end}}'`

var (
	downloading = regexp.MustCompile(`^go: downloading (\S+) (v\S+)`)
	lookupOff   = regexp.MustCompile(`([A-Za-z0-9][\w.~/-]*\.[\w.~/-]+)@(v[0-9][^\s:,]*)\S* .*GOPROXY=off`)
	cacheLocked = regexp.MustCompile(`/cache/download/(\S+)/@v/(v[^\s/]+)\.[a-z]+: read-only file system`)
)

var upperCase = regexp.MustCompile(`![a-z]`) // how the cache writes a capital

// enteredModules are those of a repository in which commands start.
func enteredModules(c *ecosystem.Checkout, starts []string) []goDir {
	all := findModules(c)
	return slices.DeleteFunc(slices.Clone(all), func(g goDir) bool {
		return !slices.ContainsFunc(starts, func(dir string) bool { return nearestModule(all, dir) == g.dir })
	})
}

// nearestModule is the folder of the module or workspace that a folder lies in.
func nearestModule(all []goDir, dir string) string {
	best := "\x00"
	for _, g := range all {
		inside := g.uses == nil && ecosystem.Below(dir, g.dir) || dir == g.dir || slices.ContainsFunc(g.uses, func(u string) bool { return ecosystem.Below(dir, path.Join(g.dir, u)) })
		if inside && (best == "\x00" || len(g.dir) > len(best) || best == ".") {
			best = g.dir
		}
	}
	return best
}

// missingIn finds the modules that the go command would have fetched.
func missingIn(output string) []string {
	var out []string
	for line := range strings.Lines(output) {
		for _, form := range []*regexp.Regexp{downloading, lookupOff, cacheLocked} {
			m := form.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			name := upperCase.ReplaceAllStringFunc(m[1], func(s string) string { return strings.ToUpper(s[1:]) }) + "@" + m[2]
			if !slices.Contains(out, name) {
				out = append(out, name)
			}
			break
		}
	}
	slices.Sort(out)
	return out
}

func downloadCommand(dirs []goDir) string {
	line := ""
	for _, d := range dirs {
		mods := d.uses
		if mods == nil {
			mods = []string{"."}
		}
		for _, m := range mods {
			line = ecosystem.JoinLines(line, ecosystem.InDir(path.Join(d.dir, m), "go mod download"))
		}
	}
	return line
}
