package toolset

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/git"
	"agency/internal/llm/llmtest"
	"agency/internal/roster"
	"agency/internal/tool"
	"agency/internal/tool/team"

	"github.com/google/go-cmp/cmp"
	jsonschema "github.com/santhosh-tekuri/jsonschema/v6"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// named are the tools of these names, in the order of All.
func named(names []string) []tool.Tool {
	return slices.DeleteFunc(All(), func(t tool.Tool) bool { return !slices.Contains(names, t.Name) })
}

// world answers for what a test of this package has no sandbox or git for.
type world struct {
	tool.Background // none goes on
	out             tool.Output
}

func (w *world) Command(_ context.Context, line string, timeout time.Duration) (tool.Output, error) {
	if line == "world gone" {
		return tool.Output{}, agency.Errorf(agency.KindTransient, "no sandbox")
	}
	w.out.Text = fmt.Appendf(nil, "%s within %s\n", line, timeout)
	return w.out, nil
}

func (w *world) Cover(ctx context.Context, target string) (agency.Receipt, error) {
	return w.Check(ctx, agency.CheckTest, target)
}

func (w *world) Coverage(context.Context) ([]check.FileCoverage, error) {
	return []check.FileCoverage{
		{Path: "a/x.go", Ran: []check.Lines{{From: 1, To: 3}}, Missed: []check.Lines{{From: 5, To: 5}, {From: 7, To: 9}}},
		{Path: "b/y.go", Ran: []check.Lines{{From: 1, To: 2}}},
	}, nil
}

func (w *world) Check(_ context.Context, kind agency.CheckKind, target string) (agency.Receipt, error) {
	if kind == agency.CheckLint {
		return agency.Receipt{}, agency.Errorf(agency.KindNotFound, "this run has no lint command")
	}
	return agency.Receipt{
		Kind: kind, Command: "go test " + target, ExitCode: 1, Parsed: true, Passed: 2, Failed: 1,
		Tests: []agency.TestResult{{Name: "p.TestA", Status: agency.TestFailed}}, Output: "--- FAIL: TestA\n",
	}, nil
}

func (w *world) Diff(_ context.Context, p string) (string, error) { return "diff of " + p, nil }

func (w *world) Changed(context.Context) ([]git.Change, error) {
	return []git.Change{{Path: "a.txt", Status: 'M'}}, nil
}

func (w *world) Sizes(context.Context) ([]tool.FileSize, error) {
	return []tool.FileSize{
		{Path: "a.txt", Added: 20, Deleted: 5, Lines: 115, Bytes: 3 << 10},
		{Path: "b.bin", Binary: true, Bytes: 12 << 10},
		{Path: "c.txt", Deleted: 7, Gone: true},
	}, nil
}

func (w *world) Log(_ context.Context, p string, n int) (string, error) { return "", nil }

func (w *world) Create(_ context.Context, label string) (tool.Checkpoint, error) {
	return tool.Checkpoint{ID: "cp-1", Label: label}, nil
}

func (w *world) Rollback(_ context.Context, id string) (tool.Checkpoint, error) {
	if id != "cp-1" {
		return tool.Checkpoint{}, agency.Errorf(agency.KindNotFound, "there is no checkpoint %q; there are: cp-1", id)
	}
	return tool.Checkpoint{ID: id, Label: "here"}, nil
}

// nothingDecided is a run whose agents have decided nothing, and decide nothing.
type nothingDecided struct{ tool.Decisions }

func (nothingDecided) List(context.Context, string) ([]agency.SharedDecision, error) { return nil, nil }

func (nothingDecided) Note(context.Context, agency.SharedDecision) (agency.SharedDecision, []agency.AgentID, error) {
	return agency.SharedDecision{}, nil, agency.Errorf(agency.KindTransient, "not now")
}

func env(files *tool.Files) *tool.Env {
	w := &world{}
	if files != nil {
		files.Symbols = engine()
	}
	return &tool.Env{Files: files, Commands: w, Checks: w, History: w, Checkpoints: w, Decisions: nothingDecided{}, Team: sampleCrew(), Task: tool.Task{Criteria: []string{"goal"}}}
}

func run(t testing.TB, files *tool.Files, name, args string) tool.Result {
	t.Helper()
	tools := named([]string{name})
	if len(tools) != 1 {
		t.Fatalf("no tool %s", name)
	}
	res, err := tools[0].Run(t.Context(), env(files), json.RawMessage(args))
	if err != nil {
		t.Fatalf("%s %s: %v", name, args, err)
	}
	return res
}

func call(t testing.TB, files *tool.Files, name, args string) string {
	t.Helper()
	res := run(t, files, name, args)
	if res.Failed {
		t.Errorf("%s %s: %s", name, args, res.Text)
	}
	return res.Text
}

// Every tool of a role exists, and every tool is some role's.
func TestToolsAndRoles(t *testing.T) {
	offered := map[string]bool{}
	for _, r := range roster.Roles() {
		for _, name := range r.Tools() {
			offered[name] = true
		}
	}
	var names []string
	for _, tl := range All() {
		names = append(names, tl.Name)
		if !offered[tl.Name] {
			t.Errorf("no role is offered %s", tl.Name)
		}
		delete(offered, tl.Name)
		if len(tl.Description) < 80 {
			t.Errorf("%s is hardly described", tl.Name)
		}
	}
	if len(offered) > 0 {
		t.Errorf("roles are offered tools that do not exist: %v", offered)
	}
	if !slices.IsSorted(names) {
		t.Errorf("not sorted: %v", names)
	}
}

// What a model is shown is a visible diff.
func TestSchemas(t *testing.T) {
	var b strings.Builder
	for _, tl := range All() {
		_, form, _ := strings.Cut(tl.Malformed("").Text, "The right form: ")
		fmt.Fprintf(&b, "%s\n%s\n\n", form, tl.Schema)
		var doc any
		if err := json.Unmarshal(tl.Schema, &doc); err != nil {
			t.Fatal(err)
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource(tl.Name, doc); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Compile(tl.Name); err != nil {
			t.Errorf("%s: %v", tl.Name, err)
		}
		if m := doc.(map[string]any); m["type"] != "object" || bytes.Contains(tl.Schema, []byte(`"additionalProperties":false`)) { // that is told by who calls with others, and paid with each request
			t.Errorf("%s: schema %s", tl.Name, tl.Schema)
		}
	}
	const file = "testdata/schemas.txt"
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("schemas changed, run with -update if that is meant:\n%s", diff)
	}
}

// A call that is not of the right form says what is wrong and what is right.
func TestStrictArguments(t *testing.T) {
	files, _ := room(t)
	for _, tc := range []struct{ tool, args, want string }{
		{"read_file", `{}`, `argument "path" is missing`},
		{"read_file", ``, `argument "path" is missing`},
		{"read_file", `{"path":1}`, `argument "path" is a number, not a string`},
		{"read_file", `{"path":null}`, `argument "path" is null`},
		{"read_file", `{"path":"a.txt","lines":3}`, `unknown argument "lines"`},
		{"read_file", `{"Path":"a.txt"}`, `unknown argument "Path"`},
		{"read_file", `{"path":"a.txt","path":"b"}`, `argument "path" occurs twice`},
		{"read_file", `{"path":"a.txt","offset":"3"}`, `argument "offset" is a string, not an integer`},
		{"read_file", `{"path":"a.txt","offset":1.5}`, `argument "offset" is a number 1.5, not an integer`},
		{"read_file", `["a.txt"]`, "the arguments are not a JSON object"},
		{"read_file", `{"path":"a.txt"`, "the arguments are not valid JSON"},
		{"edit_file", `{"path":"a.txt","old_text":"a","new_text":"b","replace_all":"yes"}`, `argument "replace_all" is a string, not a boolean`},
		{"signal_complete", `{"evidence":3}`, `argument "evidence" is neither a text nor a list`},
		{"signal_complete", `{"evidence":[{"criterion":"goal","kind":"wish","ref":"x"}]}`, `entry 1 of evidence: kind "wish" is none of test, command, file`},
		{"signal_complete", `{"evidence":[{"criterion":"goal","kind":"test"}]}`, `entry 1 of evidence: argument "ref" is missing`},
		{"request_human_input", `{"question":"x","options":"a"}`, `argument "options" is a string, not a list`},
	} {
		res := run(t, files, tc.tool, tc.args)
		if !res.Failed || !res.Refused || !strings.HasPrefix(res.Text, "error: "+tc.want) {
			t.Errorf("%s %s: %+v, want %s", tc.tool, tc.args, res, tc.want)
		}
		if !strings.Contains(res.Text, "The right form: "+tc.tool+` {"`) {
			t.Errorf("%s %s does not show the right form: %s", tc.tool, tc.args, res.Text)
		}
	}
}

// An optional argument that is null is not there: models that fill in every
// name of a schema could do nothing else. What it would change stays as it was.
func TestNullIsAbsent(t *testing.T) {
	files, _ := room(t)
	got := call(t, files, "read_file", `{"path":"a.txt","offset":null,"limit":1}`)
	if want := call(t, files, "read_file", `{"path":"a.txt","limit":1}`); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	c, err := team.ReadDraft(json.RawMessage(`{"id":"a","title":"t","description":"d","assigned_role":"scaffolder","type":null,"writes":null,"estimated_complexity":null,
		"priority":null,"expected_outputs":null,"acceptance_criteria":[{"id":"c","text":"x","check":null},{"id":"d","text":"y","check":{"test":"T","command":null}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	want, err := team.ReadDraft(json.RawMessage(`{"id":"a","title":"t","description":"d","assigned_role":"scaffolder",
		"acceptance_criteria":[{"id":"c","text":"x"},{"id":"d","text":"y","check":{"test":"T"}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Errorf("with nulls (-want +got):\n%s", diff)
	}
}

func TestReadFile(t *testing.T) {
	files, root := room(t)
	picture := llmtest.PNG(4, 3)
	for name, data := range map[string][]byte{"picture.txt": picture, "wide.png": llmtest.PNG(8001, 1)} {
		if err := os.WriteFile(filepath.Join(root, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "long.txt"), []byte(strings.Repeat("line\n", 5000)+strings.Repeat("x", 9000)), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "latin.txt"), []byte("caf\xe9\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ args, want string }{
		{`{"path":"a.txt"}`, "1\tone\n2\ttwo\n3\tthree\n"},
		{`{"path":"` + at + `/a.txt","offset":2,"limit":1}`, "2\ttwo\n[lines 2 to 2 of 3 shown; go on with offset 3]\n"},
		{`{"path":"a.txt","offset":3}`, "3\tthree\n[lines 3 to 3 of 3 shown]\n"},
		{`{"path":"a.txt","offset":9}`, "error: offset 9 is behind the end: the file has 3 lines"},
		{`{"path":"crlf.txt"}`, "1\tone\n2\ttwo\n"},
		{`{"path":"empty.txt"}`, "(the file is empty)"},
		{`{"path":"bin.dat"}`, "error: bin.dat is a binary file of 3 bytes, and no picture"},
		{`{"path":"none"}`, "error: none does not exist"},
		{`{"path":"sub"}`, "error: sub is a folder; list_directory shows what is in it"},
		{`{"path":"latin.txt"}`, "1\tcaf�\n"},
		{`{"path":"../secret"}`, `error: path "../secret" leads out of the repository`},
	} {
		if got := run(t, files, "read_file", tc.args).Text; got != tc.want {
			t.Errorf("%s:\n%q\nwant\n%q", tc.args, got, tc.want)
		}
	}
	if res := run(t, files, "read_file", `{"path":"picture.txt"}`); len(res.Shows) != 1 || res.Text != "picture.txt: a PNG picture, 4 × 3 pixels, "+strconv.Itoa(len(picture))+" bytes" {
		t.Errorf("%+v", res)
	}
	if res := run(t, files, "read_file", `{"path":"wide.png"}`); !res.Failed || res.Shows != nil || !strings.Contains(res.Text, "8001 × 1 pixels, and the most of a side that a model sees is 8000") {
		t.Errorf("%+v", res)
	}
	got := call(t, files, "read_file", `{"path":"long.txt"}`)
	if !strings.Contains(got, "go on with offset 2001]") || len(got) > tool.MaxResult {
		t.Errorf("a long file ends in %q", got[len(got)-100:])
	}
	if got := call(t, files, "read_file", `{"path":"long.txt","offset":5001}`); !strings.Contains(got, "[... 7000 bytes more]") {
		t.Errorf("a long line: %q", got)
	}
}

func TestListAndSearch(t *testing.T) {
	files, _ := room(t)
	list := call(t, files, "list_directory", `{"path":".","depth":2}`)
	for _, want := range []string{"a.txt  14 bytes\n", "sub/\n  b.go  25 bytes\n", "in -> a.txt\n"} {
		if !strings.Contains(list, want) {
			t.Errorf("no %q in\n%s", want, list)
		}
	}
	if strings.Contains(list, ".git") && strings.Contains(list, "config") {
		t.Errorf("the list shows .git:\n%s", list)
	}
	for _, tc := range []struct{ args, want string }{
		{`{"pattern":"t[wh]"}`, "a.txt:2:two\na.txt:3:three\ncrlf.txt:2:two\n"},
		{`{"pattern":"^func B"}`, "sub/b.go:3:func B() {}\n"},
		{`{"pattern":"two$","glob":"*.txt"}`, "a.txt:2:two\ncrlf.txt:2:two\n"},
		{`{"pattern":"func","glob":"sub/**"}`, "sub/b.go:3:func B() {}\n"},
		{`{"pattern":"func","path":"sub/b.go"}`, "sub/b.go:3:func B() {}\n"},
		{`{"pattern":"o","max_results":1}`, "a.txt:1:one\n[more match; narrow the pattern, the path or the glob]\n"},
		{`{"pattern":"core"}`, "nothing matches\n"},
		{`{"pattern":"outside"}`, "nothing matches\n"},
		{`{"pattern":"("}`, "error: the pattern is no regular expression of RE2: missing closing ): `(`"},
		{`{"pattern":"x","glob":"[a"}`, `error: the glob "[a" is not understood: want *, **, ?, [a-z] and {a,b}`},
		{`{"pattern":"x","path":"none"}`, "error: none does not exist"},
	} {
		if got := run(t, files, "search_files", tc.args).Text; got != tc.want {
			t.Errorf("%s:\n%q\nwant\n%q", tc.args, got, tc.want)
		}
	}
}

func TestWriteAndDelete(t *testing.T) {
	files, root := room(t)
	for _, tc := range []struct{ tool, args, want string }{
		{"write_file", `{"path":"new/deep/x.txt","content":"a\nb"}`, "created new/deep/x.txt (2 lines, 3 bytes)"},
		{"write_file", `{"path":"a.txt","content":""}`, "replaced a.txt (0 lines, 0 bytes)"},
		{"write_file", `{"path":"sub","content":"x"}`, "error: sub is a folder"},
		{"write_file", `{"path":"a.txt/x","content":"x"}`, "error: a.txt/x: not a directory"},
		{"write_file", `{"path":".git/hooks/post-commit","content":"x"}`, `error: path ".git/hooks/post-commit" is inside of .git, which is not yours to read or write`},
		{"delete_file", `{"path":"new/deep/x.txt"}`, "deleted new/deep/x.txt"},
		{"delete_file", `{"path":"sub"}`, "error: sub is a folder; delete its files one by one, or use run_command"},
		{"delete_file", `{"path":"none"}`, "error: none does not exist"},
		{"delete_file", `{"path":"out/x"}`, `error: path "out" leads out of the repository`},
	} {
		if got := run(t, files, tc.tool, tc.args).Text; got != tc.want {
			t.Errorf("%s %s: %q, want %q", tc.tool, tc.args, got, tc.want)
		}
	}
	if b, err := os.ReadFile(filepath.Join(root, "..", "secret")); err != nil || string(b) != "outside\n" {
		t.Errorf("outside: %q, %v", b, err)
	}
}

func TestRunAndChecks(t *testing.T) {
	files, _ := room(t)
	if got := call(t, files, "run_command", `{"command":"ls","timeout_seconds":5}`); got != "exit code 0\nls within 5s\n" {
		t.Errorf("run_command: %q", got)
	}
	got := call(t, files, "run_tests", `{"target":"./p"}`)
	if !strings.HasPrefix(got, "exit code 1\npassed 2, failed 1, skipped 0\n") || !strings.Contains(got, "p.TestA") {
		t.Errorf("run_tests: %q", got)
	}
	if res := run(t, files, "run_lint", `{}`); res.Text != "error: this run has no lint command" {
		t.Errorf("run_lint: %q", res.Text)
	}
	if got := call(t, files, "get_git_diff", `{"path":"gone.go"}`); got != "diff of gone.go" {
		t.Errorf("get_git_diff: %q", got)
	}
	if got := call(t, files, "get_git_log", ``); got != "no commits" {
		t.Errorf("get_git_log: %q", got)
	}
	if got := call(t, files, "create_checkpoint", `{"label":" a  b "}`); got != "checkpoint_id: cp-1 (a b)" {
		t.Errorf("create_checkpoint: %q", got)
	}
	if res := run(t, files, "rollback_checkpoint", `{"checkpoint_id":"cp-9"}`); !strings.HasPrefix(res.Text, `error: there is no checkpoint "cp-9"`) {
		t.Errorf("rollback_checkpoint: %q", res.Text)
	}
}

// What only the host can mend is an error of Go.
func TestWorldGone(t *testing.T) {
	files, _ := room(t)
	_, err := named([]string{"run_command"})[0].Run(t.Context(), env(files), json.RawMessage(`{"command":"world gone"}`))
	if agency.KindOf(err) != agency.KindTransient {
		t.Errorf("got %v", err)
	}
	if _, err := tool.Answer(errors.New("odd")); err == nil {
		t.Error("an error without a kind is told to the model")
	}
}

func TestEndings(t *testing.T) {
	files, _ := room(t)
	res := run(t, files, "signal_complete", `{"evidence":[{"criterion":"goal","kind":"file","ref":"./sub/../a.txt"},{"criterion":"goal","kind":"test","ref":" TestA "}],"files_created":["`+at+`/a.txt"],"outputs":"All of it."}`)
	want := tool.Complete{
		Summary:  "All of it.",
		Evidence: []agency.Evidence{{Criterion: "goal", Kind: agency.CheckFile, Ref: "a.txt"}, {Criterion: "goal", Kind: agency.CheckTest, Ref: "TestA"}},
		Outputs:  agency.Outputs{FilesCreated: []string{"a.txt"}},
	}
	if diff := cmp.Diff(tool.Effect(want), res.Effect); diff != "" {
		t.Errorf("%+v\n%s", res, diff)
	}
	res = run(t, files, "signal_complete", `{"evidence":"All tests pass."}`)
	if c, ok := res.Effect.(tool.Complete); !ok || c.Summary != "All tests pass." {
		t.Errorf("%+v", res)
	}
	for args, want := range map[string]string{
		`{"evidence":[]}`:   "error: evidence is empty",
		`{"evidence":"  "}`: "error: evidence is empty",
		`{"evidence":[{"criterion":"other","kind":"test","ref":"T"}]}`:   `error: evidence names criterion "other", which the contract does not have; it has: goal`,
		`{"evidence":[{"criterion":"goal","kind":"file","ref":"gone"}]}`: "error: evidence for goal: gone does not exist",
		`{"evidence":"x","files_created":["../../etc/passwd"]}`:          `error: path "../../etc/passwd" leads out of the repository`,
	} {
		if res := run(t, files, "signal_complete", args); !strings.HasPrefix(res.Text, want) || res.Effect != nil {
			t.Errorf("%s: %+v", args, res)
		}
	}
	res = run(t, files, "request_human_input", `{"question":" Which? ","options":["a","b"]}`)
	if q, ok := res.Effect.(tool.Question); !ok || q.Text != "Which?" || len(q.Options) != 2 {
		t.Errorf("%+v", res)
	}
	res = run(t, files, "signal_blocked", `{"reason":"r","attempted":""}`)
	if b, ok := res.Effect.(tool.Blocked); !ok || b.Reason != "r" {
		t.Errorf("%+v", res)
	}
}

func TestCap(t *testing.T) {
	long := strings.Repeat("a line of text\n", 10_000)
	got := tool.Cap(long, 1000)
	if len(got) > 1100 || !strings.HasPrefix(got, "a line of text\n") || !strings.HasSuffix(got, "a line of text\n") || !strings.Contains(got, "left out") {
		t.Errorf("%d bytes: %q", len(got), got)
	}
	if got := tool.Cap("short\xff", 100); got != "short�" {
		t.Errorf("%q", got)
	}
	if got := tool.Cap(strings.Repeat("é", 1000), 101); !utf8.ValidString(got) {
		t.Errorf("half a rune: %q", got)
	}
}

func FuzzArguments(f *testing.F) {
	files, _ := room(f)
	for _, s := range []string{`{}`, `{"path":"a.txt"}`, `{"path":"a.txt","limit":-1}`, `{"evidence":[{"criterion":"goal","kind":"test","ref":"x"}]}`, `{"pattern":"(a*)*b","glob":"{"}`, `[`, `{"a":{"a":{}}}`} {
		f.Add(s)
	}
	tools := All()
	f.Fuzz(func(t *testing.T, raw string) {
		for _, tl := range tools {
			if tl.Name == "write_file" || tl.Name == "delete_file" {
				continue // they would change what the next input finds
			}
			res, err := tl.Run(t.Context(), env(files), json.RawMessage(raw))
			if err != nil {
				continue
			}
			if res.Failed != strings.HasPrefix(res.Text, "error: ") && !strings.HasPrefix(tl.Name, "read_") && tl.Name != "search_files" {
				t.Errorf("%s %q: %+v", tl.Name, raw, res)
			}
			if !utf8.ValidString(res.Text) {
				t.Errorf("%s %q: not UTF-8", tl.Name, raw)
			}
		}
	})
}

func TestCoverageTools(t *testing.T) {
	files, err := tool.OpenFiles(t.TempDir(), at)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = files.Close() }()
	for _, tt := range []struct{ tool, args, want string }{
		{"get_coverage_report", `{}`, "coverage 55%: 5 of 9 lines\n  42%  3 of 7 lines  a/x.go\n 100%  2 of 2 lines  b/y.go\n"},
		{"get_coverage_report", `{"path": "b/"}`, "coverage 100%: 2 of 2 lines\n 100%  2 of 2 lines  b/y.go\n"},
		{"list_uncovered_lines", `{"path": "./a"}`, "a/x.go: 5, 7-9\n"},
		{"list_uncovered_lines", `{"path": "b"}`, "the tests reach every line\n"},
		{"list_uncovered_lines", `{"path": "c"}`, "no file of \"c\" was measured\n"},
		{"list_uncovered_lines", `{"path": "` + at + `/a/x.go"}`, "a/x.go: 5, 7-9\n"}, // as agents see it
		{"get_coverage_report", `{"path": "` + at + `"}`, "coverage 55%: 5 of 9 lines\n  42%  3 of 7 lines  a/x.go\n 100%  2 of 2 lines  b/y.go\n"},
		{"get_coverage_report", `{"path": "../x"}`, "error: path \"../x\" leads out of the repository"},
	} {
		if got := run(t, files, tt.tool, tt.args); got.Text != tt.want {
			t.Errorf("%s %s: %q", tt.tool, tt.args, got.Text)
		}
	}
}
