package verify

import (
	"bytes"
	"context"
	"path"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/ecosystem"
	"agency/internal/git"
	"agency/internal/languages"
)

// Bounds of what is looked at for leftovers.
const (
	largeFile     = 1 << 20 // bytes; a new file above is not written by hand
	maxNewFiles   = 200     // whose content is read
	maxLeftovers  = 1000    // that are named
	sniffedPrefix = 8000    // bytes, as git itself tells binaries from text
)

// leftovers names the new files that the contract does not. Where it declares
// no files at all, only what looks left behind is named: any new file may then
// be the work.
func (j *job) leftovers(ctx context.Context, changes []git.Change) (out []agency.Leftover) {
	was, declared := customsOf(j.trees.List(ctx, j.task.base)), slices.Concat(j.task.Writes, j.task.Expected)
	seen := map[agency.Leftover]bool{}
	read := 0
	for _, c := range changes {
		if c.Status != 'A' || isNamed(c.Path, declared, j.task.Criteria) {
			continue
		}
		left := debris(c.Path, was)
		if left.Why == "" && read < maxNewFiles {
			read++
			left.Why = j.heavy(ctx, c, was)
		}
		if (left.Why != "" || len(declared) > 0) && !seen[left] {
			seen[left] = true
			if len(out) == maxLeftovers {
				return append(out, agency.Leftover{Path: "more new files", Why: "too many to be named"})
			}
			out = append(out, left)
		}
	}
	return out
}

// customs are what a repository had before: its files and their folders, and
// which kinds of files each folder has.
type customs struct{ paths, kinds map[string]bool }

func customsOf(base []git.Entry) customs {
	c := customs{pathsIn(base), map[string]bool{}}
	for _, e := range base {
		c.kinds[kindOf(e.Path)] = true
	}
	return c
}

// pathsIn are files with all folders that they lie in.
func pathsIn(entries []git.Entry) map[string]bool {
	out := map[string]bool{}
	for _, e := range entries {
		for p := e.Path; p != "." && !out[p]; p = path.Dir(p) {
			out[p] = true
		}
	}
	return out
}

// isNamed tells whether a contract speaks of a file.
func isNamed(p string, declared []string, criteria []agency.Criterion) bool {
	if _, _, ok := agency.Overlap([]string{p}, declared, nil); ok {
		return true
	}
	return slices.ContainsFunc(criteria, func(c agency.Criterion) bool {
		if c.Check != nil {
			file := path.Clean(c.Check.File)
			if file == p || strings.HasPrefix(p, file+"/") || strings.Contains(c.Check.Command, p) {
				return true
			}
		}
		return strings.Contains(c.Text, path.Base(p))
	})
}

// heavy tells of a new file whose content nobody has written by hand.
func (j *job) heavy(ctx context.Context, c git.Change, was customs) string {
	name := path.Base(c.Path)
	if isTestData(c.Path) || isAsset(name) || strings.Contains(name, "lock") || was.hasLike(c.Path) {
		return ""
	}
	switch b, ok := j.trees.Content(ctx, c.New, largeFile); {
	case !ok:
		return "over 1 MB"
	case bytes.IndexByte(b[:min(len(b), sniffedPrefix)], 0) >= 0:
		return "a binary"
	}
	return ""
}

// debris tells by its name alone what a file is the remains of. What the
// repository keeps the like of in the same folder is its custom, not debris.
func debris(p string, was customs) agency.Leftover {
	name := path.Base(p)
	dir := ""
	for _, part := range strings.Split(path.Dir(p), "/") {
		dir += part + "/"
		if why := litterOf(part); why != "" && !was.paths[strings.TrimSuffix(dir, "/")] && (!isWord(part) || was.isPart(path.Dir(path.Clean(dir)))) {
			return agency.Leftover{Path: dir, Why: why}
		}
	}
	if r, ok := remainOf(name); ok && (r.always || !isTestData(p) && !was.hasLike(p)) {
		return agency.Leftover{Path: p, Why: r.why}
	}
	if !strings.Contains(p, "/") && isScratch(name) {
		return agency.Leftover{Path: p, Why: "a scratch file"}
	}
	return agency.Leftover{Path: p}
}

// isWord tells of a folder's name that a package may rightly have as well.
func isWord(name string) bool {
	return slices.Contains([]string{"target", "dist", "build", "coverage", "tmp", "temp", "scratch", "venv"}, name)
}

// isPart tells of a folder in which builds are started: the repository itself,
// or one with a manifest of its own.
func (c customs) isPart(dir string) bool {
	if dir == "." {
		return true
	}
	return slices.ContainsFunc(languages.All(), func(e ecosystem.Ecosystem) bool {
		return slices.ContainsFunc(e.Source.Files.Manifests, func(m string) bool { return c.paths[path.Join(dir, m)] })
	})
}

// litterOf tells what a folder is by its name that tools and agents make beside
// the work.
func litterOf(name string) string {
	for _, e := range languages.All() {
		if why := e.Source.Files.Litter[name]; why != "" {
			return why
		}
	}
	return litter[name]
}

// litter are such of no language.
var litter = map[string]string{
	"target": "a build's output", "dist": "a build's output", "build": "a build's output",
	"coverage": "a report of coverage",
	"tmp":      "a scratch folder", "temp": "a scratch folder", "tmp_dir": "a scratch folder", "scratch": "a scratch folder",
	".idea": "an editor's file", ".vscode": "an editor's file",
}

// remain is a name of files that nobody writes as work. Those that are not always
// so may be what tests compare with, or a custom of the repository.
type remain struct {
	glob, why string
	always    bool
}

// remainOf is the one by which a file is called.
func remainOf(name string) (remain, bool) {
	for _, r := range remains {
		if ecosystem.Matches([]string{r.glob}, name) {
			return r, true
		}
	}
	for _, e := range languages.All() {
		for glob, why := range e.Source.Files.Remains {
			if ecosystem.Matches([]string{glob}, name) {
				return remain{why: why}, true
			}
		}
	}
	return remain{}, false
}

// remains are such of no language.
var remains = []remain{
	{"*.orig", "a backup", true},
	{"*.rej", "a patch that did not apply", true},
	{"*.sw[op]", "an editor's file", true},
	{"*~", "an editor's backup", true},
	{"#*#", "an editor's file", true},
	{".#*", "an editor's file", true},
	{".DS_Store", "an editor's file", true},
	{"Thumbs.db", "an editor's file", true},
	{"nohup.out", "a log", true},
	{"core", "a core dump", false},
	{"core.[0-9]*", "a core dump", false},
	{"*.bak", "a backup", false},
	{"*.old", "a backup", false},
	{"*.tmp", "a scratch file", false},
	{"*.log", "a log", false},
	{"*.[ao]", "a build's output", false},
	{"*.so", "a build's output", false},
	{"*.exe", "a build's output", false},
	{"*.out", "a command's output", false},
}

// isScratch tells of a file in the repository's root that was written to try
// something.
func isScratch(name string) bool {
	stem, _, _ := strings.Cut(name, ".")
	word, _, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(stem), "-", "_"), "_")
	switch word {
	case "scratch", "repro", "reproduce", "tmp", "temp":
		return true
	case "debug":
		return languageOf(name) == "" || word != strings.ToLower(stem)
	}
	return false
}

// isAsset tells of binaries that are written to be kept.
func isAsset(name string) bool {
	return slices.Contains([]string{
		".png", ".jpg", ".jpeg", ".gif", ".webp", ".ico", ".svg", ".woff", ".woff2", ".ttf", ".otf", ".pdf", ".mp3", ".mp4", ".wasm",
	}, strings.ToLower(path.Ext(name)))
}

// hasLike tells whether the folder of a path has a file of its kind.
func (c customs) hasLike(p string) bool { return path.Ext(p) != "" && c.kinds[kindOf(p)] }

func kindOf(p string) string { return path.Dir(p) + "/*" + path.Ext(p) }

// judgeLeftovers names what the contract does not. What looks left behind fails
// the claim the first time only, and not where the claim itself names it as made
// on purpose; then the merge gate shows it.
func (j judgement) judgeLeftovers() {
	j.v.Leftovers = j.leftovers
	var fresh, kept []string
	for _, l := range j.leftovers {
		switch {
		case l.Why == "":
		case slices.Contains(j.LeftBefore, l.Path), slices.Contains(j.ClaimInfo.Outputs.FilesCreated, l.Path):
			kept = append(kept, l.String())
		default:
			fresh = append(fresh, l.String())
		}
	}
	lines(j.r.fail, "left behind: %s: remove it, or name it in files_created if it belongs to the work", fresh)
	lines(j.r.note, "left behind: %s: the merge gate names it", kept)
}
