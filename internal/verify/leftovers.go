package verify

import (
	"bytes"
	"context"
	"path"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/git"
)

// Bounds of what is looked at for leftovers.
const (
	largeFile     = 1 << 20 // bytes; a new file above is not written by hand
	maxNewFiles   = 200     // whose content is read
	sniffedPrefix = 8000    // bytes, as git itself tells binaries from text
)

// leftovers names the new files that the contract does not. Where it declares
// no files at all, only what looks left behind is named: any new file may then
// be the work.
func (j *job) leftovers(ctx context.Context, changes []git.Change) ([]agency.Leftover, error) {
	base, err := j.tree(ctx, j.task.base)
	if err != nil {
		return nil, err
	}
	declared := slices.Concat(j.task.Writes, j.task.Expected)
	var out []agency.Leftover
	read := 0
	for _, c := range changes {
		if c.Status != 'A' || isNamed(c.Path, declared, j.task.Criteria) {
			continue
		}
		left := debris(c.Path, base)
		if left.Why == "" && read < maxNewFiles {
			read++
			if left.Why, err = j.heavy(ctx, c, base); err != nil {
				return nil, err
			}
		}
		if (left.Why != "" || len(declared) > 0) && !slices.Contains(out, left) {
			out = append(out, left)
		}
	}
	return out, nil
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
func (j *job) heavy(ctx context.Context, c git.Change, base []git.Entry) (string, error) {
	name := path.Base(c.Path)
	if isTestData(c.Path) || isAsset(name) || strings.Contains(name, "lock") || hasLike(base, c.Path) {
		return "", nil
	}
	b, err := j.text(ctx, c.New.Mode, c.New.ID, largeFile)
	switch {
	case err != nil && !git.IsTooLong(err):
		return "", err
	case bytes.IndexByte(b[:min(len(b), sniffedPrefix)], 0) >= 0:
		return "a binary", nil
	case err != nil:
		return "over 1 MB", nil
	}
	return "", nil
}

// debris tells by its name alone what a file is the remains of. What the
// repository keeps the like of in the same folder is its custom, not debris.
func debris(p string, base []git.Entry) agency.Leftover {
	name := path.Base(p)
	dir := ""
	for _, part := range strings.Split(path.Dir(p), "/") {
		dir += part + "/"
		if why := litter[part]; why != "" && !hasFile(base, strings.TrimSuffix(dir, "/")) && (!isWord(part) || isPart(base, path.Dir(path.Clean(dir)))) {
			return agency.Leftover{Path: dir, Why: why}
		}
	}
	for _, r := range remains {
		if ok, err := path.Match(r.glob, name); ok && err == nil {
			if !r.always && (isTestData(p) || hasLike(base, p)) {
				break
			}
			return agency.Leftover{Path: p, Why: r.why}
		}
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
func isPart(base []git.Entry, dir string) bool {
	if dir == "." {
		return true
	}
	return slices.ContainsFunc([]string{"go.mod", "package.json", "Cargo.toml", "pyproject.toml", "setup.py", "pom.xml", "build.gradle", "build.gradle.kts"}, func(m string) bool {
		p := path.Join(dir, m)
		return slices.ContainsFunc(base, func(e git.Entry) bool { return e.Path == p })
	})
}

// litter are folders that tools and agents make beside the work.
var litter = map[string]string{
	"__pycache__": "a build's output", ".pytest_cache": "a tool's cache", ".mypy_cache": "a tool's cache", ".ruff_cache": "a tool's cache",
	"node_modules": "installed packages", ".venv": "installed packages", "venv": "installed packages",
	"target": "a build's output", "dist": "a build's output", "build": "a build's output",
	"coverage": "a report of coverage", "htmlcov": "a report of coverage", ".nyc_output": "a report of coverage",
	"tmp": "a scratch folder", "temp": "a scratch folder", "tmp_dir": "a scratch folder", "scratch": "a scratch folder",
	".idea": "an editor's file", ".vscode": "an editor's file",
}

// remains are names of files that nobody writes as work. Those that are not
// always so may be what tests compare with, or a custom of the repository.
var remains = []struct {
	glob, why string
	always    bool
}{
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
	{"*.pyc", "a build's output", false},
	{"*.class", "a build's output", false},
	{"*.[ao]", "a build's output", false},
	{"*.so", "a build's output", false},
	{"*.exe", "a build's output", false},
	{"*.prof", "a profile", false},
	{"*.out", "a command's output", false},
	{".coverage", "a report of coverage", false},
	{"lcov.info", "a report of coverage", false},
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
	switch strings.ToLower(path.Ext(name)) {
	case ".png", ".jpg", ".jpeg", ".gif", ".webp", ".ico", ".svg", ".woff", ".woff2", ".ttf", ".otf", ".pdf", ".mp3", ".mp4", ".wasm":
		return true
	}
	return false
}

// hasLike tells whether the folder of a path has a file of its kind.
func hasLike(base []git.Entry, p string) bool {
	ext := path.Ext(p)
	return ext != "" && slices.ContainsFunc(base, func(e git.Entry) bool {
		return path.Ext(e.Path) == ext && path.Dir(e.Path) == path.Dir(p)
	})
}

// judgeLeftovers names what the contract does not. What looks left behind fails
// the claim the first time only, and not where the claim itself names it as made
// on purpose; then the merge gate shows it.
func (f facts) judgeLeftovers(v *agency.Verdict, r *report) {
	v.Leftovers = f.leftovers
	var fresh, kept []string
	for _, l := range f.leftovers {
		switch {
		case l.Why == "":
		case slices.Contains(f.LeftBefore, l.Path), slices.Contains(f.ClaimInfo.Outputs.FilesCreated, l.Path):
			kept = append(kept, l.String())
		default:
			fresh = append(fresh, l.String())
		}
	}
	lines(r.fail, "left behind: %s: remove it, or name it in files_created if it belongs to the work", fresh)
	lines(r.note, "left behind: %s: the merge gate names it", kept)
}
