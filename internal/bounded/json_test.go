package bounded

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

func TestJSON(t *testing.T) {
	var got []string
	doc := `{"a": {"b": ["x", 1, {"c": null}], "a": true}, "": "é", "e": {}, "a": "again"}`
	err := JSON(strings.NewReader(doc), 100, func(at []string, value json.Token) error {
		got = append(got, fmt.Sprintf("%q %v", at, value))
		return nil
	})
	want := `["a" "b" ""] x|["a" "b" ""] 1|["a" "b" "" "c"] <nil>|["a" "a"] true|[""] é|["e"] {|["a"] again`
	if strings.Join(got, "|") != want || err != nil {
		t.Errorf("%s, %v", strings.Join(got, "|"), err)
	}
}

// What a document is made of costs no more than where the walk stands, and what is
// too much of it is said so.
func TestJSONIsBounded(t *testing.T) {
	const size, most = 4 << 20, 500_000
	fill := func(begin, s string) string { return begin + strings.Repeat(s, size/len(s)) }
	for name, tt := range map[string]struct {
		doc   string
		large bool
	}{
		"objects":  {fill("[", `{"":0},`), true},
		"empty":    {fill("[", `{},`), true},
		"depth":    {fill("", "["), true},
		"keys":     {fill("", `{"a":`), true},
		"closed":   {strings.Repeat("[", 2000) + strings.Repeat("]", 2000), true},
		"a string": {`"` + strings.Repeat("x", size) + `"`, false},
	} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		peak := uint64(0)
		n := 0
		err := JSON(strings.NewReader(tt.doc), most, func([]string, json.Token) error {
			if n++; n%50_000 == 1 {
				runtime.GC()
				runtime.ReadMemStats(&after)
				peak = max(peak, after.HeapAlloc)
			}
			return nil
		})
		if errors.Is(err, ErrTooLarge) != tt.large || !tt.large && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if peak > before.HeapAlloc+32<<20 {
			t.Errorf("%s: %d MB are held", name, (peak-before.HeapAlloc)>>20)
		}
	}
}

// The walk takes what is JSON, and no more.
func FuzzJSON(f *testing.F) {
	for _, doc := range []string{`{}`, `[1,]`, `{"a":1}{`, `{"a" 1}`, `[[[`, `nul`, `"\ud800"`, ` {"a":[{"b":1e9}]} `, `{,}`, `1 2`, `{1:2}`, `[1 2]`} {
		f.Add(doc)
	}
	f.Fuzz(func(t *testing.T, doc string) {
		if len(doc) > 500 || strings.Count(doc, "[")+strings.Count(doc, "{") >= maxJSONDepth {
			return
		}
		want := json.Valid([]byte(doc))
		got := JSON(strings.NewReader(doc), 10_000, func([]string, json.Token) error { return nil })
		if want != (got == nil) {
			t.Errorf("%q: %v, and it is JSON: %v", doc, got, want)
		}
	})
}
