package quality_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"agency/internal/quality"
)

// A file that an agent makes to be slow to look through costs no more than its size: what
// takes seconds here took minutes, or hours, where a rule read a function once a call in it.
func TestFilesMadeToBeSlow(t *testing.T) {
	for name, f := range map[string]quality.File{
		"calls in a function":     file("a.js", "function g(req){\n"+strings.Repeat("fs.readFile(req.query.a)\n", 20000)+"}\n"),
		"calls in calls":          file("b.js", strings.Repeat("fs.a(b,", 30000)+"1"+strings.Repeat(")", 30000)+"\n"),
		"brackets in a function":  file("c.js", "function f(){ x = "+strings.Repeat("(", 20000)+"1"+strings.Repeat(")", 20000)+"}\n"),
		"conditions":              file("d.js", "function f(){"+strings.Repeat("if(a){", 30000)+strings.Repeat("}", 30000)+"}\n"),
		"functions in functions":  file("e.js", strings.Repeat("function f(){", 20000)+strings.Repeat("}", 20000)+"\n"),
		"arrows in arrows":        file("f.js", strings.Repeat("const f = () => {", 20000)+strings.Repeat("}", 20000)+"\n"),
		"functions without a doc": file("g.py", "def a():\n  'x'\n"+strings.Repeat("def b(): pass\n", 30000)),
		"writes of a global":      file("h.py", "def a():\n  global n\n"+strings.Repeat("  n += 1\n", 30000)),
		"paths in a function":     file("i.go", "package p\nfunc h(r *http.Request) {\n"+strings.Repeat("os.Open(r.URL.Path)\n", 25000)+"}\n"),
		"writes of goroutines":    file("j.go", "package p\nfunc h() {\nn := 0\nfor {\ngo func() {\n"+strings.Repeat("n++\n", 100000)+"}()\n}\n}\n"),
		"one line many times":     file("l.go", "package p\nfunc h() {\n"+strings.Repeat("the.same(line, again, and, again)\n", 14000)+"}\n"),
		"a sum":                   file("k.go", "package p\nfunc h() {\nx := 1"+strings.Repeat("+y", 200000)+"\n}\n"),
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if _, err := quality.Analyze(ctx, syntax, []quality.File{f}); err != nil {
				t.Error(err)
			}
			quality.Copies([]quality.File{f}, nil)
			if ctx.Err() != nil {
				t.Error("it took over a minute")
			}
		})
	}
}
