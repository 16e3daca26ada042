package text

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// InLines is a copy of a value in which every text is one line of at most so many runes,
// in the fields of structs, in lists and in mappings, but for the fields that are named:
// so no text that others wrote, of a field that is added later either, makes lines
// of a page that the value is shown on.
func InLines[T any](v T, most int, but ...string) T {
	out := inLines(reflect.ValueOf(&v).Elem(), most, but)
	return out.Interface().(T)
}

func inLines(v reflect.Value, most int, but []string) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	switch v.Kind() {
	case reflect.String:
		out.SetString(OneLine(v.String(), most))
	case reflect.Pointer:
		if !v.IsNil() {
			out.Set(reflect.New(v.Type().Elem()))
			out.Elem().Set(inLines(v.Elem(), most, but))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if out.Field(i).CanSet() && !slices.Contains(but, f.Name) {
				out.Field(i).Set(inLines(v.Field(i), most, but))
			} else if f.Anonymous { // of a type that others do not see, its fields are seen
				copyOf(out.Field(i), most, but)
			}
		}
	case reflect.Slice:
		if !v.IsNil() && v.Type().Elem().Kind() != reflect.Uint8 {
			out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
			for i := range v.Len() {
				out.Index(i).Set(inLines(v.Index(i), most, but))
			}
		}
	case reflect.Map:
		if !v.IsNil() {
			out.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
			for _, key := range v.MapKeys() {
				out.SetMapIndex(inLines(key, most, but), inLines(v.MapIndex(key), most, but))
			}
		}
	}
	return out
}

// copyOf does the same in place for what is embedded.
func copyOf(v reflect.Value, most int, but []string) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		switch {
		case f.Anonymous && !v.Field(i).CanSet():
			copyOf(v.Field(i), most, but)
		case v.Field(i).CanSet() && !slices.Contains(but, f.Name):
			v.Field(i).Set(inLines(v.Field(i), most, but))
		}
	}
}

// mostQuoted bounds the lines of what others wrote at length.
const mostQuoted = 60

// Quote is what others wrote at length, each line marked as theirs, without empty lines
// after one another.
func Quote(s string) string {
	var lines []string
	for line := range strings.SplitSeq(s, "\n") {
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		line = OneLine(line, 1000)
		if line == "" && (len(lines) == 0 || lines[len(lines)-1] == ">") {
			continue
		}
		lines = append(lines, strings.TrimRight("> "+indent[:min(len(indent), 16)]+line, " "))
	}
	if last := len(lines) - 1; last >= 0 && lines[last] == ">" {
		lines = lines[:last]
	}
	if more := len(lines) - mostQuoted; more > 0 {
		lines = append(lines[:mostQuoted], "> "+LeftOut(fmt.Sprintf("%d lines", more)))
	}
	return strings.Join(lines, "\n")
}
