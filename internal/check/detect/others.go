package detect

import (
	"encoding/json"
	"io/fs"
	"path"
	"regexp"
	"slices"

	"agency/internal/ecosystem"
)

// generic are the languages of which only the usual commands and the dependencies
// are known.
var generic = ecosystem.Project{Dependencies: ecosystem.Dependencies{
	Managers: []string{byBundler, byComposer}, Units: otherUnits,
	Folders: []ecosystem.Folder{
		{Manifests: []string{"Gemfile"}, Names: []string{"vendor/bundle"}, Locks: []string{"Gemfile.lock"}},
		{Manifests: []string{"composer.json"}, Names: []string{"vendor"}, Locks: []string{"composer.lock"}, Proof: "autoload.php"},
		{Manifests: []string{"mix.exs"}, Names: []string{"deps", "_build"}, Locks: []string{"mix.lock"}},
	},
	Alone: func(base string) bool { return base == "Gemfile" || base == "composer.json" || base == "mix.exs" },
	Setup: func(_ *ecosystem.Checkout, u ecosystem.Unit, _ bool) string {
		return ecosystem.InDir(u.Dir, map[string]string{
			byBundler: "BUNDLE_PATH=vendor/bundle bundle install", byComposer: "composer install --no-interaction",
		}[u.Manager])
	},
	Reader: func(base string) func([]byte) ecosystem.Versions {
		return map[string]func([]byte) ecosystem.Versions{"composer.lock": composerPackages, "Gemfile.lock": ecosystem.Pairs(gemEntry)}[base]
	},
	Hosts: func(base string, _ []byte) (part []byte, ok bool) { return nil, base == "composer.json" }, // links to homepages
}}

// The package managers, by the names of their programs.
const (
	byBundler  = "bundle"
	byComposer = "composer"
)

var gemEntry = regexp.MustCompile(`(?m)^    ([\w.-]+) \(([^)]+)\)$`)

func otherUnits(c *ecosystem.Checkout) []ecosystem.Unit {
	var out []ecosystem.Unit
	for _, k := range []struct{ manager, manifest, lock, folder string }{
		{byBundler, "Gemfile", "Gemfile.lock", "vendor/bundle"}, {byComposer, "composer.json", "composer.lock", "vendor"},
	} {
		for _, dir := range ecosystem.Topmost(c.With(k.manifest)) {
			out = append(out, ecosystem.Unit{Folder: path.Join(dir, k.folder), Dir: dir, Manager: k.manager, Locks: c.Within(dir, k.lock, k.manifest)})
		}
	}
	return out
}

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

// plain are languages whose usual command is known and whose tests are not
// known by name.
var plain = []struct{ pattern, language, test, lint string }{
	{"Gemfile", "Ruby", "", ""},
	{"composer.json", "PHP", "", ""},
	{"mix.exs", "Elixir", "mix test", ""},
	{"*.sln", "C#", "dotnet test", ""},
	{"*.csproj", "C#", "dotnet test", ""},
	{"Package.swift", "Swift", "swift test", ""},
	{"build.zig", "Zig", "zig build test", ""},
	{"deno.json", "TypeScript", "deno test", "deno lint"},
	{"CMakeLists.txt", "C or C++", "", ""},
}

var makeTarget = regexp.MustCompile(`(?m)^(test|check|lint|vet|build|all)\s*:([^=]|$)`)

// fallback reads repositories of other languages: their usual command, or the
// targets of a Makefile.
func fallback(c *ecosystem.Checkout) []ecosystem.Part {
	var parts []ecosystem.Part
	for _, l := range plain {
		if files, err := fs.Glob(c.FS, l.pattern); err == nil && len(files) > 0 {
			p := ecosystem.Part{Language: l.language, Manifest: files[0], Dir: ".", Test: l.test, Lint: l.lint, Note: ecosystem.ExitCodesOnly}
			switch {
			case l.language == "Ruby" && c.Exists("spec"):
				p.Test = "bundle exec rspec"
			case l.language == "Ruby" && c.Exists("Rakefile"):
				p.Test = "bundle exec rake test"
			case l.language == "PHP" && (c.Exists("phpunit.xml") || c.Exists("phpunit.xml.dist")):
				p.Test = "vendor/bin/phpunit"
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
