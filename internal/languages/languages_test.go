package languages

import (
	"reflect"
	"slices"
	"testing"
	"testing/fstest"

	"agency/internal/ecosystem"
)

func TestOf(t *testing.T) {
	for p, want := range map[string]ecosystem.Name{
		"a/b.go": ecosystem.Go, "a.pyi": ecosystem.Python, "a.d.ts": ecosystem.Node, "A.kts": ecosystem.JVM, "a.rs": ecosystem.Rust,
		"a.rb": "", "Makefile": "", "go": "",
	} {
		if got := Of(p).Name; got != want {
			t.Errorf("%s: %q, want %q", p, got, want)
		}
	}
}

// An ending is of one ecosystem, and a pattern that is compiled late compiles.
func TestSourcesAreWhole(t *testing.T) {
	seen := map[string]ecosystem.Name{}
	for _, e := range All() {
		for _, ending := range e.Source.Endings {
			if seen[ending] != "" {
				t.Errorf("%s is of %s and of %s", ending, seen[ending], e.Name)
			}
			seen[ending] = e.Name
		}
		compile(reflect.ValueOf(e.Source))
		if marks := e.Source.Forms.Marks; marks != nil {
			marks()
		}
		if units := e.Source.Tests.Units; units != nil {
			units([]byte("a"))
		}
		for _, p := range e.Source.Files.Parts {
			p.Parts([]byte("a"))
		}
	}
}

// A language that registers takes its manifest from the others, so that its
// projects and what they ask to be installed are counted once.
func TestRegisteredLanguageIsCountedOnce(t *testing.T) {
	ruby := ecosystem.Ecosystem{Name: "ruby", Project: ecosystem.Project{
		Parts: ecosystem.Parts{Manifests: []string{"Gemfile"}, Find: func(*ecosystem.Checkout, func(string) bool) []ecosystem.Part {
			return []ecosystem.Part{{Language: "Ruby", Manifest: "Gemfile", Dir: ".", Test: "rake"}}
		}},
		Dependencies: ecosystem.Dependencies{
			Managers: []string{"bundle"},
			Units: func(c *ecosystem.Checkout) []ecosystem.Unit {
				return []ecosystem.Unit{{Folder: "vendor/bundle", Dir: ".", Manager: "bundle"}}
			},
			Folders: []ecosystem.Folder{{Manifests: []string{"Gemfile"}, Names: []string{"vendor/bundle"}}},
		},
	}}
	repo := fstest.MapFS{"Gemfile": {}, "composer.json": {}, "spec/x": {}}
	for _, known := range [][]ecosystem.Ecosystem{nil, {ruby}} {
		var parts, units, folders []string
		for _, e := range withOthers(known...) {
			c := ecosystem.NewCheckout(repo)
			for _, p := range e.Project.Parts.Find(c, nil) {
				parts = append(parts, p.Manifest)
			}
			for _, u := range e.Project.Dependencies.Units(c) {
				units = append(units, u.Manager)
			}
			for _, f := range e.Project.Dependencies.Folders {
				folders = append(folders, f.Names[0])
			}
		}
		if want := []string{"Gemfile", "composer.json"}; !slices.Equal(parts, want) {
			t.Errorf("parts by %q", parts)
		}
		if want := []string{"bundle", "composer"}; !slices.Equal(units, want) {
			t.Errorf("units of %q", units)
		}
		if want := []string{"vendor/bundle", "vendor", "deps"}; !slices.Equal(folders, want) {
			t.Errorf("folders %q", folders)
		}
	}
}

// compile compiles all patterns in a value.
func compile(v reflect.Value) {
	if p, ok := v.Interface().(ecosystem.Pattern); ok {
		p.In("")
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			compile(v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			compile(v.Index(i))
		}
	}
}
