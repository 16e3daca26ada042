package acts

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"agency/internal/git"
	"agency/internal/regexp"
)

// A hook that nobody touched runs what it names: `sh scripts/check.sh` in a hook of
// git, `node install.js` in a script of installation. So what they name by its path
// acts, too, and what that names in turn.

// Bounds of the search for what others run.
const (
	maxRun      = 200      // files that are followed
	maxRunSize  = 64 << 10 // bytes of one
	maxRunDepth = 2        // files that run one another
)

var (
	runWord = regexp.MustCompile(`[\w@%+=:,.~/-]+`)
	// runVariable is a folder that is known when it is run, as a rule the root or
	// the text's own.
	runVariable = regexp.MustCompile(`\$\{?\w+\}?|%~?\w+%?`)
	// runLine is what of a list of hooks is a command; the rest of it says to which
	// files a hook is applied.
	runLine = regexp.MustCompile(`(?m)^[\s-]*(?:entry|run|args)\s*:(.*)$`)
	// installScript are the scripts that a package manager runs at installation.
	installScript = regexp.MustCompile(`^scripts\.(?:pre|post)?(?:install|prepare|prepublish)$`)
)

// runner is a file whose text names what is run.
type runner struct {
	path  string
	first string // the file that acts by itself
	depth int
}

// behind names changed files that files which act run by their paths.
func (f *finder) behind(ctx context.Context, changes []git.Change) error {
	changed := map[string]bool{}
	for _, c := range changes {
		if c.Status != 'D' && c.New.Mode != modeLink && c.New.Mode != modeModule {
			changed[c.Path] = true
		}
	}
	files, queue := map[string]git.Entry{}, []runner{}
	for _, e := range f.entries {
		if e.Mode == modeLink || e.Mode == modeModule {
			continue
		}
		files[e.Path] = e
		if of, _ := f.of(e.Path); of != nil && (of.runs || path.Base(e.Path) == "package.json") {
			queue = append(queue, runner{path: e.Path, first: e.Path})
		}
	}
	seen := map[string]bool{}
	for n := 0; len(queue) > 0 && len(changed) > 0; n++ {
		r := queue[0]
		queue = queue[1:]
		if seen[r.path] || f.late() {
			continue
		}
		if seen[r.path] = true; n >= maxRun {
			f.skipped++
			continue
		}
		b, err := f.blobs.Content(ctx, files[r.path].ID, maxRunSize)
		if git.IsTooLong(err) {
			continue // data, or a program: what is run is read by people
		}
		if err != nil {
			return err
		}
		for _, named := range slices.Sorted(maps.Keys(runs(r, string(b), files))) {
			if changed[named] {
				f.add(named, "is run by "+shorten(r.first), false)
			}
			if r.depth+1 < maxRunDepth {
				queue = append(queue, runner{named, r.first, r.depth + 1})
			}
		}
	}
	return nil
}

// runs are the files of a tree that a text names as what it runs: by their paths
// from the root or from the text's own folder.
func runs(r runner, text string, files map[string]git.Entry) map[string]bool {
	switch base := path.Base(r.path); {
	case r.depth > 0:
		text = uncommented(text)
	case base == "package.json":
		var scripts []string
		_ = readJSON(text, func(keys []string, value string) { // what cannot be read is named as such elsewhere
			if k, ok := joined(keys); ok && installScript.MatchString(k) {
				scripts = append(scripts, value)
			}
		})
		text = strings.Join(scripts, "\n")
	case strings.HasPrefix(base, ".pre-commit"):
		var lines []string
		for _, m := range runLine.FindAllStringSubmatch(text, -1) {
			lines = append(lines, m[1])
		}
		text = strings.Join(lines, "\n")
	default:
		text = uncommented(text)
	}
	out := map[string]bool{}
	for _, word := range runWord.FindAllString(runVariable.ReplaceAllString(text, ""), -1) {
		word = strings.TrimPrefix(word[strings.LastIndexByte(word, '=')+1:], "/")
		if word == "" || word == "." || len(word) > maxPath {
			continue
		}
		for _, dir := range []string{".", path.Dir(r.path)} {
			at := path.Join(dir, word)
			for _, p := range []string{at, at + ".js", at + ".mjs", at + ".cjs", at + "/index.js"} { // as node finds them
				if p == at && !strings.ContainsAny(word, "./") {
					continue // a word as any other: `npm test` runs no file of that name
				}
				if _, ok := files[p]; ok && p != r.path {
					out[p] = true
				}
			}
		}
	}
	return out
}

// uncommented leaves out the lines that are comments.
func uncommented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if t := strings.TrimSpace(line); !strings.HasPrefix(t, "#") && !strings.HasPrefix(t, "//") {
			b.WriteString(line)
		}
	}
	return b.String()
}
