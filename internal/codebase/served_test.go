package codebase

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"agency/internal/code/lsp"
)

// servedTree makes a checkout of Python with a server that answers these, by method; what it is
// not asked for here it answers with nothing.
func servedTree(t *testing.T, answers map[string]string) Tree {
	t.Helper()
	all := map[string]string{
		"initialize": `{"capabilities":{"diagnosticProvider":{}}}`, "textDocument/diagnostic": `{"items":[]}`,
		"textDocument/references": `[` + spot("a.py", 0, 4, 9) + `,` + spot("b.py", 1, 0, 5) + `,` + spot("b.py", 0, 14, 19) + `]`,
		"textDocument/rename":     renames(`"file:///r/a.py":[`+edit(0, 4, 9)+`]`, `"file:///r/b.py":[`+edit(1, 0, 5)+`,`+edit(0, 14, 19)+`]`),
		"textDocument/definition": `[` + spot("c.py", 0, 0, 5) + `]`,
	}
	maps.Copy(all, answers)
	k := lsp.NewKeeper(1)
	w := k.Open("/r", func(ctx context.Context, p lsp.Process) (int, error) {
		defer func() { _ = p.Stdin.Close() }()
		defer context.AfterFunc(ctx, func() { _ = p.Stdin.Close() })()
		in, changed := bufio.NewReader(p.Stdin), false
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return 0, nil
			}
			n, _ := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(line, "Content-Length: ")))
			_, _ = in.ReadString('\n')
			body := make([]byte, n)
			if _, err := io.ReadFull(in, body); err != nil {
				return 0, nil
			}
			var m struct {
				ID     json.RawMessage
				Method string
			}
			_ = json.Unmarshal(body, &m)
			if m.Method == "initialized" { // as rust-analyzer tells that it has read all
				said := `{"jsonrpc":"2.0","method":"experimental/serverStatus","params":{"quiescent":true,"health":"ok"}}`
				_, _ = fmt.Fprintf(p.Stdout, "Content-Length: %d\r\n\r\n%s", len(said), said)
			}
			if m.ID == nil {
				if m.Method == "textDocument/didChange" && all["after"] != "" && strings.Contains(string(body), "hi_you") {
					all["textDocument/references"] = all["after"]
				}
				changed = changed || strings.Contains(string(body), "hi_you")
				continue
			}
			answer := all[m.Method]
			if changed && m.Method == "textDocument/diagnostic" && all["wrong"] != "" && strings.Contains(string(body), all["wrong"]) {
				answer = `{"items":[{"severity":1,"message":"no such form","range":{"start":{"line":0,"character":0},"end":{"line":0,"character":1}}}]}`
			}
			if answer == "" {
				answer = "null"
			}
			answer = `{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + answer + `}`
			if _, err := fmt.Fprintf(p.Stdout, "Content-Length: %d\r\n\r\n%s", len(answer), answer); err != nil {
				return 0, nil
			}
		}
	})
	t.Cleanup(w.Close)
	return one().Of(fstest.MapFS{
		"a.py": {Data: []byte("def greet():\n    return 1\n")}, "b.py": {Data: []byte("from a import greet\ngreet()\n")},
		"f.py":         {Data: []byte("class F:\n    def __len__(self):\n        return 1\ndef test_it():\n    pass\n")},
		"e.py":         {Data: []byte("hi_you = 3\n")},
		"m.js":         {Data: []byte("export class M {\n  mark() {}\n}\nuse({ mark: 1 })\n")},
		"t.ts":         {Data: []byte("export type T = { kind: string }\nexport type U = { kind: string }\n")},
		"lib.rs":       {Data: []byte("/// ```\n/// c::made();\n/// ```\npub fn made() {}\n")},
		"r/Cargo.toml": {Data: []byte("[package]\nname = \"c-x\"\n")}, "r/README.md": {Data: []byte("```\nc_x::read();\n```\n")},
		"r/lib.rs": {Data: []byte(crate)},
		"c.py":     {Data: []byte("greet = 2\n")}, "d.py": {Data: []byte("class D:\n    def other(self):\n        return 1\nclass E(D):\n    def other(self):\n        return 2\n")},
	}).Asking(w)
}

var crate = strings.ReplaceAll(`/// +++
/// use c_x::sown;
/// sown();
/// +++
pub fn sown() {}
/// +++
/// std::kept(); "".said();
/// assert_eq!(c_x::text(), "text");
/// +++
pub fn kept() {}
pub fn said() {}
pub fn text() {}
mod apart;
#[doc = include_str!("README.md")]
pub fn read() {}
`, "+++", "```")

func spot(file string, line, from, to int) string {
	return fmt.Sprintf(`{"uri":"file:///r/%s","range":{"start":{"line":%d,"character":%d},"end":{"line":%d,"character":%d}}}`, file, line, from, line, to)
}

func edit(line, from, to int) string {
	return fmt.Sprintf(`{"range":{"start":{"line":%d,"character":%d},"end":{"line":%d,"character":%d}},"newText":"hi_you"}`, line, from, line, to)
}

func renames(files ...string) string { return `{"changes":{` + strings.Join(files, ",") + `}}` }

const after = "after"

var moved = `[` + spot("a.py", 0, 4, 10) + `,` + spot("b.py", 1, 0, 6) + `,` + spot("b.py", 0, 14, 20) + `]`

// A server's answer is by types; what it has no answer for is not sure.
func TestServedReferences(t *testing.T) {
	for file, want := range map[string]string{"node_modules/lib.d.py": "", "gone.py": "gone.py, which is not read"} {
		more := map[string]string{"textDocument/references": `[` + spot("a.py", 0, 4, 9) + `,` + spot(file, 9, 1, 6) + `]`}
		u, err := servedTree(t, more).References(t.Context(), "greet", "a.py")
		if err != nil || u.Certainty == Types != (want == "") || !strings.Contains(u.Note, want) {
			t.Errorf("%s: %+v, %v", file, u, err)
		}
	}
	u, err := servedTree(t, nil).References(t.Context(), "greet", "a.py")
	if err != nil || u.Certainty != Types || len(u.Places) != 3 || len(u.Unsure) != 0 || !u.Places[0].Defines {
		t.Errorf("%+v, %v", u, err)
	}
	u, err = servedTree(t, map[string]string{"textDocument/definition": "[]"}).References(t.Context(), "greet", "a.py")
	if err != nil || u.Certainty != Types || len(u.Unsure) != 1 || u.Unsure[0].Path != "c.py" {
		t.Errorf("%+v, %v", u, err)
	}
	// One that does not know the definition is of no use: by syntax, and why.
	u, err = servedTree(t, map[string]string{"textDocument/references": "null"}).References(t.Context(), "greet", "a.py")
	if err != nil || u.Certainty != Syntax || !strings.Contains(u.Note, "does not know greet") {
		t.Errorf("%+v, %v", u, err)
	}
}

// A renaming is that of all references, or none: what a server leaves out, adds or cannot
// tell refuses it.
func TestServedRename(t *testing.T) {
	c, err := servedTree(t, map[string]string{after: moved}).Rename(t.Context(), "greet", "a.py", "hi_you")
	if err != nil || c.Certainty != Types || c.Places != 3 || len(c.Files) != 2 || string(c.Files[1].After) != "from a import hi_you\nhi_you()\n" {
		t.Fatalf("%+v, %v", c, err)
	}
	for name, f := range map[string]struct {
		answers map[string]string
		want    string
	}{
		"leaves out":   {map[string]string{"textDocument/rename": renames(`"file:///r/a.py":[` + edit(0, 4, 9) + `]`)}, "leave out"},
		"adds":         {map[string]string{"textDocument/rename": renames(`"file:///r/a.py":[` + edit(0, 4, 9) + `,` + edit(1, 4, 10) + `]`)}, "more than the name"},
		"outside":      {map[string]string{"textDocument/rename": renames(`"file:///etc/passwd":[` + edit(0, 4, 9) + `]`)}, "outside"},
		"others' code": {map[string]string{"textDocument/rename": renames(`"file:///r/node_modules/x.py":[` + edit(0, 0, 0) + `]`)}, "outside"},
		"overlaps":     {map[string]string{"textDocument/rename": renames(`"file:///r/a.py":[`+edit(0, 4, 9)+`,`+edit(0, 3, 9)+`]`, `"file:///r/b.py":[`+edit(1, 0, 5)+`,`+edit(0, 14, 19)+`]`)}, "overlap"},
		"cannot tell":  {map[string]string{"textDocument/definition": "[]"}, "cannot tell"},
		"captures":     {map[string]string{after: strings.TrimSuffix(moved, "]") + `,` + spot("e.py", 0, 0, 6) + `]`}, "there is another hi_you"},
		"breaks":       {map[string]string{after: moved, "wrong": "c.py"}, "c.py:1 would have an error: no such form"},
		"is captured":  {map[string]string{after: `[` + spot("a.py", 0, 4, 10) + `]`}, "something else"},
	} {
		_, err := servedTree(t, f.answers).Rename(t.Context(), "greet", "a.py", "hi_you")
		if err == nil || !strings.Contains(err.Error(), f.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, symbol := range []string{"F.__len__", "test_it"} {
		if _, err := servedTree(t, nil).Rename(t.Context(), symbol, "f.py", "hi_you"); err == nil || !strings.Contains(err.Error(), "called by its name") {
			t.Error(symbol, err)
		}
	}
	// Members that belong together by their names alone, and what stands in comments.
	for _, f := range []struct{ file, symbol, at, other, want string }{
		{"m.js", "M.mark", spot("m.js", 1, 2, 6), spot("m.js", 3, 6, 10), "m.js:4: use({ mark: 1 })"},
		{"t.ts", "T.kind", spot("t.ts", 0, 18, 22), spot("t.ts", 1, 18, 22), "t.ts:2: export type U"},
		{"lib.rs", "made", spot("lib.rs", 3, 7, 11), "", "lib.rs:2: /// c::made();"},
	} {
		answers := map[string]string{"textDocument/references": `[` + f.at + `]`, "textDocument/definition": `[` + f.other + `]`}
		if _, err := servedTree(t, answers).Rename(t.Context(), f.symbol, f.file, "hi_you"); err == nil || !strings.Contains(err.Error(), f.want) {
			t.Errorf("%s: %v", f.symbol, err)
		}
	}
	none := map[string]string{"textDocument/references": `[` + spot("d.py", 1, 8, 13) + `]`, "textDocument/definition": `[` + spot("d.py", 4, 8, 13) + `]`}
	if _, err := servedTree(t, none).Rename(t.Context(), "D.other", "d.py", "hi_you"); err == nil || !strings.Contains(err.Error(), "class with bases") {
		t.Error(err)
	}
}

// What a test in a comment of Rust names is renamed with it where it can be nothing else.
func TestServedRenameInTestsOfComments(t *testing.T) {
	at := func(line, from, to int) string { return `[` + spot("r/lib.rs", line, from, to) + `]` }
	c, err := servedTree(t, map[string]string{
		"textDocument/references": at(4, 7, 11), "textDocument/rename": renames(`"file:///r/r/lib.rs":[` + edit(4, 7, 11) + `]`), after: at(4, 7, 13),
	}).Rename(t.Context(), "sown", "r/lib.rs", "hi_you")
	if err != nil || c.Places != 3 || len(c.Files) != 1 || string(c.Files[0].After) != strings.ReplaceAll(crate, "sown", "hi_you") {
		t.Errorf("%+v, %v", c, err)
	}
	for symbol, f := range map[string]struct {
		line int
		want string
	}{
		"kept": {9, "r/lib.rs:7: /// std::kept()"}, "said": {10, "r/lib.rs:7: /// std::kept()"}, "text": {11, "r/lib.rs:8: /// assert_eq!"},
		"apart": {12, "move the file"}, "read": {14, "r/README.md:2 is in a test of the crate's documentation"},
	} {
		col := strings.Index(strings.Split(crate, "\n")[f.line], symbol)
		answers := map[string]string{"textDocument/references": at(f.line, col, col+len(symbol))}
		if _, err := servedTree(t, answers).Rename(t.Context(), symbol, "r/lib.rs", "hi_you"); err == nil || !strings.Contains(err.Error(), f.want) {
			t.Errorf("%s: %v", symbol, err)
		}
	}
}
