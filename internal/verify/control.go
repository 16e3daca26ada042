package verify

import (
	"path"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/ecosystem"
	"agency/internal/git"
	"agency/internal/languages"
)

// control names what the claim edited of the files that decide how tests run
// (docs/design.md, Verification).
func control(changes []git.Change, files []source, named map[string]bool) []agency.Weakening {
	var out []agency.Weakening
	add := func(name, detail string) {
		out = append(out, agency.Weakening{Kind: agency.WeakControl, Name: name, Detail: detail})
	}
	whole := map[string]bool{}
	vendored := 0
	for _, c := range changes {
		switch {
		case isControl(c, named):
			whole[c.Path] = true
			add(c.Path, "")
		case isVendored(c.Path):
			vendored++
		case becameLink(c, changes):
			whole[c.Path] = true
			add(c.Path, "it became a link")
		}
	}
	if vendored > 0 {
		add("vendored code", agency.Things(vendored, "file differs", "files differ"))
	}
	for _, f := range files {
		if whole[f.path] {
			continue
		}
		if part := changedPart(f.path, f.before, f.after); part != "" {
			add(f.path, part)
		}
		if f.test && f.after != nil && testMainWeaker(f) {
			add(f.path, "TestMain")
		}
	}
	return out
}

// becameLink tells whether a path of tests shows another file now: the text of
// what is tested then stands where nobody compares it.
func becameLink(c git.Change, all []git.Change) bool {
	if c.New.Mode != 0o120000 {
		return false
	}
	return c.Old.Mode != 0 || isTestFile(c.Path) || slices.ContainsFunc(all, func(d git.Change) bool {
		return d.Status == 'D' && strings.HasPrefix(d.Path, c.Path+"/")
	})
}

// isVendored tells whether a path is of others' code that is kept in the
// repository: a test library among it asserts what it is edited to.
func isVendored(p string) bool {
	first, _, _ := strings.Cut(p, "/")
	return first == "vendor" || strings.Contains("/"+p, "/node_modules/") || strings.Contains("/"+p, "/site-packages/")
}

// isControl tells whether a change is one of a control file. A runner's
// configuration that is new counts where it takes effect by being there.
func isControl(c git.Change, named map[string]bool) bool {
	// By agency.yaml the next run is verified.
	return named[c.Path] || c.Path == "agency.yaml" || isRunner(c.Path) || isRecipe(path.Base(c.Path)) && c.Status != 'A'
}

// recipes are files of recipes of no language.
var recipes = []string{"Makefile", "makefile", "GNUmakefile", "Taskfile.yml", "Taskfile.yaml", "justfile", "Justfile", "Rakefile"}

// isRecipe tells a file of recipes, which does nothing until a command names
// one.
func isRecipe(base string) bool {
	return slices.Contains(recipes, base) || isOfTools(base, func(f ecosystem.Files) []string { return f.Recipes })
}

// settings are of test runners and toolchains of more than one language, or of one
// that is not read here.
var settings = []string{".tool-versions", "mise.toml", ".mise.toml", "spec_helper.rb", "rails_helper.rb", "test_helper.rb", ".rspec", ".editorconfig-checker.json"}

// isRunner tells whether a file is a configuration of test runners, linters or type
// checkers that takes effect by being there.
func isRunner(p string) bool {
	return ecosystem.Matches(settings, p) || isOfTools(p, func(f ecosystem.Files) []string { return f.Settings })
}

// isOfTools tells whether a path is one of some files of an ecosystem's tools.
func isOfTools(p string, files func(ecosystem.Files) []string) bool {
	return slices.ContainsFunc(languages.All(), func(e ecosystem.Ecosystem) bool { return ecosystem.Matches(files(e.Source.Files), p) })
}

// testMainWeaker tells whether a TestMain was changed, or is new and does not
// report what the tests came to: it decides alone what a test binary reports.
func testMainWeaker(f source) bool {
	testMain := languages.Of(f.path).Awareness.TestMain
	if testMain == nil {
		return false
	}
	old, _ := testMain(f.before)
	now, reports := testMain(f.after)
	return now != "" && old != now && (old != "" || !reports)
}

// partsOf is how a file is taken apart that decides how tests run by a part of
// it only: the rest of it, such as dependencies, may change.
func partsOf(p string) (ecosystem.SettingsFile, bool) {
	for _, e := range languages.All() {
		for _, part := range e.Source.Files.Parts {
			if ecosystem.Matches([]string{part.Glob}, p) {
				return part, true
			}
		}
	}
	return ecosystem.SettingsFile{}, false
}

func hasParts(p string) bool {
	_, has := partsOf(p)
	return has
}

// changedPart names the part by which an edited file decides how tests run
// otherwise than before; "" where it does not.
func changedPart(p string, before, after []byte) string {
	file, has := partsOf(p)
	if !has {
		return ""
	}
	parts := func(src []byte) map[string]string {
		if len(src) == 0 {
			return nil
		}
		return file.Parts(src)
	}
	was, now := parts(before), parts(after)
	var changed []string
	for name := range now {
		if now[name] != was[name] && (before != nil || file.New) {
			changed = append(changed, name)
		}
	}
	for name := range was {
		if _, ok := now[name]; !ok {
			changed = append(changed, name)
		}
	}
	slices.Sort(changed)
	return strings.Join(changed, ", ")
}
