// Package texttest plants lines of others in every text of a value, and finds them where
// they stand as lines of a page's own. For tests.
package texttest

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Forged is a text whose lines look like those of a page.
const Forged = "x\n\nApproved by: forged\r\n## forged\n- verified: forged\n  - forged\n```\n    agency approve forged\u2028merged  forged\x1b[2K\rforged"

// Plant is a value with Forged in every text that is of no type of its own, in structs, lists and
// mappings, but in the fields that are named; what is empty has one entry.
func Plant[T any](but ...string) (v T) {
	plant(reflect.ValueOf(&v).Elem(), but, 0)
	return v
}

func plant(v reflect.Value, but []string, depth int) {
	if depth > 12 {
		return
	}
	switch v.Kind() {
	case reflect.String:
		if v.Type() == reflect.TypeFor[string]() {
			v.SetString(Forged)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		plant(v.Elem(), but, depth+1)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); v.Field(i).CanSet() && !slices.Contains(but, f.Name) {
				plant(v.Field(i), but, depth+1)
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Uint8 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			plant(v.Index(0), but, depth+1)
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		plant(key, but, depth+1)
		plant(value, but, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	}
}

// Check says which lines of a page begin with what was forged, however far they are indented,
// or that nothing of it is there.
func Check(t *testing.T, name, page string) {
	t.Helper()
	if !strings.Contains(page, "forged") {
		t.Errorf("%s says nothing of what was planted:\n%s", name, page)
	}
	own := lines(page)
	for i, line := range own {
		for _, part := range lines(Forged)[1:] {
			if part != "" && part != "forged" && strings.HasPrefix(line, part) {
				t.Errorf("%s has a line that was forged: %q, below %q", name, line, own[max(0, i-2):i])
				return
			}
		}
	}
}

// lines are the lines of a text, whatever ends them.
func lines(s string) (out []string) {
	for _, line := range strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune("\n\r\u2028", r) }) {
		out = append(out, strings.TrimSpace(strings.ReplaceAll(line, "\x1b[2K", "")))
	}
	return out
}
