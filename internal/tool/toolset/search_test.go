package toolset

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"agency/internal/tool"
)

func TestSearchAround(t *testing.T) {
	files, root := room(t)
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("p/long.go", "1\nhit a\n3\nhit b\n5\n6\n7\n8\nhit c\nhit d\n")
	write("p/multi.txt", "begin {\r\n  body\r\n} end\r\nx\r\nbegin {\r\n} end\r\n")
	write(tool.OutputDir+"/1.txt", "hit in an output\n")
	write(tool.StagedDir+"/source/x.txt", "hit in a copy\n")
	write(tool.OutputDir+"/2.txt", strings.Repeat("no match here 123456789\n", 300_000)+"hit at the end\n")
	for _, tc := range []struct{ args, want string }{
		{`{"pattern":"hit [abcd]","context":1}`, "p/long.go-1-1\np/long.go:2:hit a\np/long.go-3-3\np/long.go:4:hit b\np/long.go-5-5\n--\np/long.go-8-8\np/long.go:9:hit c\np/long.go:10:hit d\n"},
		{`{"pattern":"hit c","context":20}`, "p/long.go-1-1\np/long.go-2-hit a\np/long.go-3-3\np/long.go-4-hit b\np/long.go-5-5\np/long.go-6-6\np/long.go-7-7\np/long.go-8-8\np/long.go:9:hit c\np/long.go-10-hit d\n"},
		{`{"pattern":"hit","max_results":1,"context":1}`, "p/long.go-1-1\np/long.go:2:hit a\np/long.go-3-3\n[more match; narrow the pattern, the path or the glob]\n"},
		{`{"pattern":"one|hit","files_only":true}`, "a.txt\ncrlf.txt\np/long.go\n"},
		{`{"pattern":"one|hit","files_only":true,"max_results":2}`, "a.txt\ncrlf.txt\n[more match; narrow the pattern, the path or the glob]\n"},
		{`{"pattern":"\\{\\n  body\\n\\}","multiline":true}`, "p/multi.txt:1:begin {\np/multi.txt:2:  body\np/multi.txt:3:} end\n"},
		{`{"pattern":"(?s)begin.*?end","multiline":true,"path":"p"}`, "p/multi.txt:1:begin {\np/multi.txt:2:  body\np/multi.txt:3:} end\np/multi.txt:5:begin {\np/multi.txt:6:} end\n"},
		{`{"pattern":"^x$","multiline":true}`, "p/multi.txt:4:x\n"},
		{`{"pattern":"body\\n","multiline":true,"context":1}`, "p/multi.txt-1-begin {\np/multi.txt:2:  body\np/multi.txt-3-} end\n"},
		{`{"pattern":"begin.*body"}`, "nothing matches\n"},
		// What the harness laid down is found only where it is asked for, as large as it is.
		{`{"pattern":"hit in","path":".agency"}`, "nothing matches\n"},
		{`{"pattern":"hit in","path":".agency/output/1.txt"}`, ".agency/output/1.txt:1:hit in an output\n"},
		{`{"pattern":"^hit at","path":".agency/output/2.txt"}`, ".agency/output/2.txt:300001:hit at the end\n"},
		{`{"pattern":"x","context":21}`, "error: context is 0 to 20"},
	} {
		if got := run(t, files, "search_files", tc.args).Text; got != tc.want {
			t.Errorf("%s:\n%s\nwant\n%s", tc.args, got, tc.want)
		}
	}
	write("p/span.txt", "from\n"+strings.Repeat("between\n", 50)+"to\n")
	got := call(t, files, "search_files", `{"pattern":"(?s)from.*to","multiline":true}`)
	if !strings.HasSuffix(got, "p/span.txt:20:between\n[... 32 more lines of the match]\n") {
		t.Error(got)
	}
}

// A read that breaks off says where to go on, and nothing in it is cut out, whatever the
// letters of the file are.
func TestReadFileGoesOn(t *testing.T) {
	files, root := room(t)
	text := strings.Repeat(strings.Repeat("\xe9a", 50)+"\n", 2000)
	if err := os.WriteFile(filepath.Join(root, "latin.txt"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	got := call(t, files, "read_file", `{"path":"latin.txt"}`)
	if len(got) > tool.MaxResult || !utf8.ValidString(got) || strings.Contains(got, "left out") || !strings.Contains(got, "; go on with offset ") {
		t.Errorf("%d bytes, ends %q", len(got), got[len(got)-100:])
	}
}
