package detect

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/sandbox"
)

// listErrors prints every error of the packages that builds and tests of a
// folder need, their dependencies' too.
const listErrors = `go list -e -deps -test -f '{{with .Error}}{{.}}{{end}}{{range .DepsErrors}}{{.}}{{"\n"}}{{end}}'`

// The ways in which the go command tells that it would fetch a module: before it
// tries, when it may not ask, and when the read-only cache refuses.
var (
	downloading = regexp.MustCompile(`^go: downloading (\S+) (v\S+)`)
	lookupOff   = regexp.MustCompile(`([A-Za-z0-9][\w.~/-]*\.[\w.~/-]+)@(v[0-9][^\s:,]*)\S* .*GOPROXY=off`)
	cacheLocked = regexp.MustCompile(`/cache/download/(\S+)/@v/(v[^\s/]+)\.[a-z]+: read-only file system`)
	upperCase   = regexp.MustCompile(`![a-z]`) // how the cache writes a capital
)

// maxNamed is how many missing modules an error names.
const maxNamed = 8

// MissingModules refuses a base whose modules are not all in the module cache:
// the sandbox has no network to fetch them with. The module graph is read by
// the go command inside of the sandbox, on a checkout of the base. A base that
// is broken in other ways passes: mending it may be the goal.
// Only modules that the commands enter are looked at.
func MissingModules(ctx context.Context, run check.Runner, spec sandbox.Spec, repo fs.FS, cmds check.Commands) error {
	dirs := enteredModules(repo, cmds)
	if len(dirs) == 0 {
		return nil
	}
	var line []string
	for _, d := range dirs {
		line = append(line, "(cd "+shellWord("./"+d.dir)+" && "+listErrors+" "+d.patterns()+")")
	}
	spec.Argv = []string{"/bin/sh", "-c", strings.Join(line, "; ")}
	res, err := run.Run(ctx, spec)
	if err != nil {
		return fmt.Errorf("modules of the base: %w", err)
	}
	if res.Cause == sandbox.CauseCancelled {
		return context.Cause(ctx)
	}
	missing := missingIn(string(res.Output))
	if len(missing) == 0 {
		return nil
	}
	named := strings.Join(missing[:min(len(missing), maxNamed)], ", ")
	if len(missing) > maxNamed {
		named += fmt.Sprintf(" and %d more", len(missing)-maxNamed)
	}
	return agency.Errorf(agency.KindInvalid, "not in the module cache, and the sandbox has no network: %s", named).
		WithMend("%s", downloadCommand(dirs))
}

// enteredModules are those of a repository in which a command is started.
func enteredModules(repo fs.FS, cmds check.Commands) []goDir {
	all, starts := findModules(repo), check.Starts(cmds, repo)
	return slices.DeleteFunc(slices.Clone(all), func(g goDir) bool {
		return !slices.ContainsFunc(starts, func(s check.Start) bool { return nearestModule(all, s.Dir) == g.dir })
	})
}

// nearestModule is the folder of the module or workspace that a folder lies in.
func nearestModule(all []goDir, dir string) string {
	best := "\x00"
	for _, g := range all {
		inside := g.uses == nil && below(dir, g.dir) || dir == g.dir || slices.ContainsFunc(g.uses, func(u string) bool { return below(dir, path.Join(g.dir, u)) })
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
	var parts []string
	for _, d := range dirs {
		mods := []string{d.dir}
		if d.uses != nil {
			mods = nil
			for _, u := range d.uses {
				mods = append(mods, path.Join(d.dir, u))
			}
		}
		for _, m := range mods {
			if m == "." {
				parts = append(parts, "go mod download")
			} else {
				parts = append(parts, "(cd "+shellWord(m)+" && go mod download)")
			}
		}
	}
	return strings.Join(parts, " && ")
}
