// Package others is what little is known of languages without a folder of their
// own: the usual commands, and how some of them install packages. It stands last in
// the list of languages and leaves out what a language before it knows.
package others

import (
	"encoding/json"
	"io/fs"
	"path"
	"slices"

	"agency/internal/ecosystem"
	"agency/internal/regexp"
)

// Ecosystem gives all of it but for the languages whose manifests are among those
// of the ones before.
func Ecosystem(before []ecosystem.Ecosystem) ecosystem.Ecosystem {
	known := slices.DeleteFunc(languages(), func(l language) bool {
		return slices.ContainsFunc(before, func(e ecosystem.Ecosystem) bool { return slices.Contains(e.Project.Parts.Manifests, l.manifest) })
	})
	return ecosystem.Ecosystem{Name: "others", Project: ecosystem.Project{
		Parts:        ecosystem.Parts{Fallback: true, Find: func(c *ecosystem.Checkout, _ func(string) bool) []ecosystem.Part { return find(c, known) }},
		Dependencies: dependencies(known),
		Programs:     ecosystem.Programs{Toolchain: []string{"dotnet", "mix", "swift", "zig", "deno", "bundle", "composer", "php", "ruby"}},
	}, Launchers: ecosystem.Launchers{Launches: launches}}
}

// launches is how many words of bundle stand before the program that it starts.
func launches(words []string) int {
	if path.Base(words[0]) == "bundle" && len(words) > 1 && words[1] == "exec" {
		return 2
	}
	return 0
}

// language is one that a manifest at the root shows.
type language struct {
	manifest   string // as a pattern
	name       string
	test, lint string
	tests      func(c *ecosystem.Checkout) string // the command where files tell it; nil: test
	folders    []string                           // of installed packages
	lock       string
	proof      string // a file of the folder
	manager    string // of the first folder; empty: none that installs by itself
	setup      string
	read       func([]byte) ecosystem.Versions // of the lockfile
}

func languages() []language {
	return []language{
		{
			manifest: "Gemfile", name: "Ruby", tests: rubyTests, folders: []string{"vendor/bundle"}, lock: "Gemfile.lock",
			manager: "bundle", setup: "BUNDLE_PATH=vendor/bundle bundle install", read: ecosystem.Pairs(gemEntry),
		},
		{
			manifest: "composer.json", name: "PHP", tests: phpTests, folders: []string{"vendor"}, lock: "composer.lock", proof: "autoload.php",
			manager: "composer", setup: "composer install --no-interaction", read: composerPackages,
		},
		{manifest: "mix.exs", name: "Elixir", test: "mix test", folders: []string{"deps", "_build"}, lock: "mix.lock"},
		{manifest: "*.sln", name: "C#", test: "dotnet test"},
		{manifest: "*.csproj", name: "C#", test: "dotnet test"},
		{manifest: "Package.swift", name: "Swift", test: "swift test"},
		{manifest: "build.zig", name: "Zig", test: "zig build test"},
		{manifest: "deno.json", name: "TypeScript", test: "deno test", lint: "deno lint"},
		{manifest: "CMakeLists.txt", name: "C or C++"},
	}
}

func rubyTests(c *ecosystem.Checkout) string {
	switch {
	case c.Exists("spec"):
		return "bundle exec rspec"
	case c.Exists("Rakefile"):
		return "bundle exec rake test"
	}
	return ""
}

func phpTests(c *ecosystem.Checkout) string {
	if c.Exists("phpunit.xml") || c.Exists("phpunit.xml.dist") {
		return "vendor/bin/phpunit"
	}
	return ""
}

var makeTarget = regexp.MustCompile(`(?m)^(test|check|lint|vet|build|all)\s*:([^=]|$)`)

// find gives the languages of a repository with their usual commands, or the targets
// of a Makefile.
func find(c *ecosystem.Checkout, known []language) []ecosystem.Part {
	var parts []ecosystem.Part
	for _, l := range known {
		if files, err := fs.Glob(c.FS, l.manifest); err == nil && len(files) > 0 {
			p := ecosystem.Part{Language: l.name, Manifest: files[0], Dir: ".", Test: l.test, Lint: l.lint, Note: ecosystem.ExitCodesOnly}
			if l.tests != nil {
				p.Test = l.tests(c)
			}
			parts = append(parts, p)
		}
	}
	if slices.ContainsFunc(parts, func(p ecosystem.Part) bool { return p.Test != "" }) {
		return parts
	}
	for _, name := range []string{"GNUmakefile", "makefile", "Makefile"} {
		targets := map[string]bool{}
		for _, m := range makeTarget.FindAllStringSubmatch(c.Text(name), -1) {
			targets[m[1]] = true
		}
		p := ecosystem.Part{Language: "make", Manifest: name, Dir: ".", Note: ecosystem.ExitCodesOnly}
		for _, t := range []struct {
			names []string
			line  *string
		}{{[]string{"test", "check"}, &p.Test}, {[]string{"lint", "vet"}, &p.Lint}, {[]string{"build", "all"}, &p.Build}} {
			if i := slices.IndexFunc(t.names, func(n string) bool { return targets[n] }); i >= 0 {
				*t.line = "make " + t.names[i]
			}
		}
		if p.Test+p.Lint+p.Build != "" {
			return append(parts, p)
		}
	}
	return parts
}

// dependencies are how packages of these languages are installed.
func dependencies(known []language) ecosystem.Dependencies {
	d := ecosystem.Dependencies{
		Units:      func(c *ecosystem.Checkout) []ecosystem.Unit { return units(c, known) },
		Hosts:      func(base string, _ []byte) (part []byte, ok bool) { return nil, base == "composer.json" }, // links to homepages
		ManifestOf: map[string]string{},
		Installs:   ecosystem.InstallWords(map[string][]string{"bundle": {"install", ""}, "composer": {"install"}, "mix": {"deps.get"}}),
	}
	alone, setups, readers := map[string]bool{}, map[string]string{}, map[string]func([]byte) ecosystem.Versions{}
	for _, l := range known {
		if l.lock == "" {
			continue
		}
		d.Folders = append(d.Folders, ecosystem.Folder{Manifests: []string{l.manifest}, Names: l.folders, Locks: []string{l.lock}, Proof: l.proof})
		if alone[l.manifest] = true; l.manager != "" {
			d.Managers = append(d.Managers, l.manager)
			setups[l.manager], readers[l.lock], d.ManifestOf[l.lock] = l.setup, l.read, l.manifest
		}
	}
	d.Alone = func(base string) bool { return alone[base] }
	d.Setup = func(_ *ecosystem.Checkout, u ecosystem.Unit, _ bool) string {
		return ecosystem.InDir(u.Dir, setups[u.Manager])
	}
	d.Reader = func(base string) func([]byte) ecosystem.Versions { return readers[base] }
	return d
}

func units(c *ecosystem.Checkout, known []language) (out []ecosystem.Unit) {
	for _, l := range known {
		if l.manager == "" {
			continue
		}
		for _, dir := range ecosystem.Topmost(c.With(l.manifest)) {
			out = append(out, ecosystem.Unit{Folder: path.Join(dir, l.folders[0]), Dir: dir, Manager: l.manager, Locks: c.Within(dir, l.lock, l.manifest)})
		}
	}
	return out
}

var gemEntry = regexp.MustCompile(`(?m)^    ([\w.-]+) \(([^)]+)\)$`)

func composerPackages(b []byte) ecosystem.Versions {
	out := ecosystem.NewVersions()
	var name, version string // of one package, whichever stands first
	out.Walk(b, func(at []string, value json.Token) {
		text, ok := value.(string)
		if !ok || len(at) != 3 || at[0] != "packages" && at[0] != "packages-dev" {
			return
		}
		switch at[2] {
		case "name":
			if name != "" { // that had no version
				out.Add(name, "")
			}
			name = text
		case "version":
			version = text
		}
		if name != "" && version != "" {
			out.Add(name, version)
			name, version = "", ""
		}
	})
	if name != "" {
		out.Add(name, "")
	}
	return out
}
