package toolset

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"agency/internal/agency"
	"agency/internal/code"
	"agency/internal/code/gotypes"
	"agency/internal/codebase"
	"agency/internal/tool"
)

// engine is that of all tests: grammars are loaded once.
var engine = sync.OnceValue(func() *codebase.Engine {
	return codebase.New(code.New(code.Options{}), func() gotypes.Place { return gotypes.FindPlace(os.Getenv) }, nil)
})

// shop is a workspace with Go and Python in it.
func shop(t *testing.T) (*tool.Files, string) {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":       "module shop\n\ngo 1.22\n",
		"cart/cart.go": "package cart\n\n// Cart holds.\ntype Cart struct{ n int }\n\n// Total sums.\nfunc (c *Cart) Total() int {\n\tsum := c.n\n\tsum++\n\treturn sum\n}\n\nconst token = \"canary-secret\"\n",
		"main.go":      "package main\n\nimport \"shop/cart\"\n\nfunc main() {\n\tprintln((&cart.Cart{}).Total()) // Total\n}\n",
		"tools.py":     "def scale(x):\n    return x\n\n\nprint(scale(1), obj.scale)\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("cart/cart.go", filepath.Join(root, "link.go")); err != nil {
		t.Fatal(err)
	}
	files, err := tool.OpenFiles(root, at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = files.Close() })
	return files, root
}

func read(t *testing.T, root, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestSymbolsAreFound(t *testing.T) {
	files, _ := shop(t)
	for _, tc := range []struct{ name, args, want string }{
		{"outline", `{"path":"cart"}`, "cart/cart.go\n  4-4 class type Cart struct\n    4-4 field n int\n    7-11 method func (c *Cart) Total() int\n  13-13 constant const token = \"canary-secret\"\ncertainty: syntax (names are not resolved)"},
		{"outline", `{"path":"tools.py","depth":1}`, "tools.py\n  1-2 function def scale(x)\ncertainty: syntax (names are not resolved)"},
		{"symbol_search", `{"name":"Total","kind":"method"}`, "cart/cart.go\n    7-11 method func (c *Cart) Total() int\ncertainty: syntax (names are not resolved)"},
		{"symbol_search", `{"name":"Tot"}`, "nothing has exactly that name; these have it in theirs:\ncart/cart.go\n    7-11 method func (c *Cart) Total() int\ncertainty: syntax (names are not resolved)"},
		{"query_codebase", `{"query":"what sums the cart","max_results":1}`, "cart/cart.go:6-6 // Total sums.\ncertainty: text"},
		{"get_symbol_references", `{"symbol_name":"Cart.Total","file_path":"cart/cart.go"}`, "cart/cart.go:7: [definition] func (c *Cart) Total() int {\nmain.go:6: [in main] println((&cart.Cart{}).Total()) // Total\ncertainty: types"},
		{"get_symbol_references", `{"symbol_name":"scale","file_path":"tools.py"}`, "tools.py:1: [definition] def scale(x):\ntools.py:5: print(scale(1), obj.scale)\nmay be of something else, 1:\ntools.py:5: print(scale(1), obj.scale)\ncertainty: syntax (names are not resolved)"},
	} {
		if got := call(t, files, tc.name, tc.args); got != tc.want {
			t.Errorf("%s %s:\n%s\nwant\n%s", tc.name, tc.args, got, tc.want)
		}
	}
}

func TestEditsBySymbols(t *testing.T) {
	files, root := shop(t)
	res := run(t, files, "rename_symbol", `{"symbol_name":"Total","file_path":"cart/cart.go","new_name":"Sum"}`)
	if res.Failed || res.Wrote != "cart/cart.go" || len(res.AlsoWrote) != 1 || res.AlsoWrote[0] != "main.go" {
		t.Errorf("%+v", res)
	}
	if main := read(t, root, "main.go"); !strings.Contains(main, ".Sum()) // Total") {
		t.Error(main)
	}
	for _, want := range []string{"at 2 places", "the old name still stands in text", "main.go:6: println((&cart.Cart{}).Sum()) // Total", "certainty: types"} {
		if !strings.Contains(res.Text, want) {
			t.Errorf("no %q in\n%s", want, res.Text)
		}
	}
	got := call(t, files, "smart_edit", `{"symbol_name":"Sum","file_path":"link.go","new_content":"func (c *Cart) Sum(by int) int {\n\tn := c.n\n\tn += by\n\treturn n\n}"}`)
	if !strings.Contains(got, "what this breaks, mend it too:\nmain.go:6:") {
		t.Error(got)
	}
	if cart := read(t, root, "cart/cart.go"); !strings.Contains(cart, "// Total sums.\nfunc (c *Cart) Sum(by int)") {
		t.Error(cart)
	}
	got = call(t, files, "extract_function", `{"file_path":"cart/cart.go","start_line":9,"end_line":9,"function_name":"more"}`)
	if !strings.Contains(read(t, root, "cart/cart.go"), "n = more(by, n)") && !strings.Contains(read(t, root, "cart/cart.go"), "n = more(n, by)") {
		t.Error(got, read(t, root, "cart/cart.go"))
	}
	for _, name := range []string{"cart/cart.go", "main.go"} {
		if i, err := os.Stat(filepath.Join(root, name)); err != nil || i.Mode().Perm() != 0o640 {
			t.Errorf("%s: %v, %v", name, i.Mode(), err)
		}
	}
}

// What may not be written is not, and then nothing is: neither a file that the guard keeps
// nor one in which a secret would be overwritten by its mark.
func TestSymbolEditsAreGuarded(t *testing.T) {
	files, root := shop(t)
	before := read(t, root, "cart/cart.go") + read(t, root, "main.go")
	files.SetGuard(func(_ context.Context, rel string) error {
		if rel == "main.go" {
			return agency.Errorf(agency.KindDenied, "%s is kept", rel)
		}
		return nil
	})
	if res := run(t, files, "rename_symbol", `{"symbol_name":"Total","file_path":"cart/cart.go","new_name":"Sum"}`); !res.Refused || !strings.Contains(res.Text, "main.go is kept") {
		t.Errorf("%+v", res)
	}
	e := env(files)
	e.Redact = func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("canary-secret"), []byte(agency.Redacted)) }
	args, err := json.Marshal(map[string]string{"symbol_name": "token", "file_path": "cart/cart.go", "new_content": "const token = \"" + agency.Redacted + "\" + \"x\""})
	if err != nil {
		t.Fatal(err)
	}
	res, err := named([]string{"smart_edit"})[0].Run(t.Context(), e, args)
	if err != nil || !res.Refused {
		t.Errorf("%+v, %v", res, err)
	}
	for _, name := range []string{"outline", "symbol_search", "get_symbol_references"} {
		res, err := named([]string{name})[0].Run(t.Context(), e, json.RawMessage(map[string]string{
			"outline": `{"path":"cart/cart.go"}`, "symbol_search": `{"name":"token"}`, "get_symbol_references": `{"symbol_name":"token","file_path":"cart/cart.go"}`,
		}[name]))
		if err != nil || res.Failed || strings.Contains(res.Text, "canary") || !strings.Contains(res.Text, agency.Redacted) {
			t.Errorf("%s: %+v, %v", name, res, err)
		}
	}
	for _, path := range []string{"../secret.go", "/etc/passwd", ".git/config"} {
		for _, tl := range []string{"smart_edit", "rename_symbol"} {
			args, err := json.Marshal(map[string]string{"symbol_name": "x", "file_path": path, "new_content": "y", "new_name": "z"})
			if err != nil {
				t.Fatal(err)
			}
			var all map[string]string
			if err := json.Unmarshal(args, &all); err != nil {
				t.Fatal(err)
			}
			delete(all, map[string]string{"smart_edit": "new_name", "rename_symbol": "new_content"}[tl])
			if args, err = json.Marshal(all); err != nil {
				t.Fatal(err)
			}
			if res := run(t, files, tl, string(args)); !res.Refused {
				t.Errorf("%s %s: %+v", tl, path, res)
			}
		}
	}
	if after := read(t, root, "cart/cart.go") + read(t, root, "main.go"); after != before {
		t.Error(after)
	}
}

// A text that is no syntax is refused with its place, and the file stays.
func TestSmartEditChecksSyntax(t *testing.T) {
	files, root := shop(t)
	before := read(t, root, "cart/cart.go")
	res := run(t, files, "smart_edit", `{"symbol_name":"Total","file_path":"cart/cart.go","new_content":"func (c *Cart) Total() int {\n\treturn (\n}"}`)
	if !res.Failed || !strings.Contains(res.Text, "line 3 of new_content") || read(t, root, "cart/cart.go") != before {
		t.Errorf("%+v", res)
	}
}
