package languages

import (
	"reflect"
	"testing"

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
		e.Source.Tests.Units([]byte("a"))
		for _, p := range e.Source.Files.Parts {
			p.Parts([]byte("a"))
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
