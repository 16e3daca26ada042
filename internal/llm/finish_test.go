package llm_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agency/internal/llm"
)

func TestFinishCallsMakesIDsUnique(t *testing.T) {
	req := llm.Request{Messages: []llm.Message{
		{Role: llm.User, Blocks: []llm.Block{llm.Text{Text: "go"}}},
		{Role: llm.Assistant, Blocks: []llm.Block{llm.ToolUse{ID: "call_0", Name: "a"}, llm.ToolUse{ID: "call_0-2", Name: "a"}}},
		{Role: llm.User, Blocks: []llm.Block{llm.ToolResult{ID: "call_0"}, llm.ToolResult{ID: "call_0-2"}}},
	}}
	long := strings.Repeat("x", 60)
	got := llm.FinishCalls(req, []llm.RawCall{
		{ID: "call_0"},
		{ID: "call_0"},
		{},
		{ID: "functions.read:0"},
		{ID: long},
		{ID: long},
	})
	var ids []string
	for _, u := range got {
		ids = append(ids, u.ID)
	}
	want := []string{"call_0-3", "call_0-4", "call_2_3", "functions_read_0", long[:40], long[:38] + "-2"}
	if diff := cmp.Diff(want, ids); diff != "" {
		t.Errorf("ids (-want +got):\n%s", diff)
	}
}

func TestCheckArgs(t *testing.T) {
	for _, tc := range []struct {
		in, args string
		invalid  bool
	}{
		{``, `{}`, false},
		{`null`, `{}`, false},
		{" { \"a\" : 1 }\n", `{"a":1}`, false},
		{`{"a":1`, `"{\"a\":1"`, true},
		{`[1]`, `"[1]"`, true},
		{`"x"`, `"\"x\""`, true},
		{`{"a":1}{"b":2}`, `"{\"a\":1}{\"b\":2}"`, true},
		{"{\"a\": null, // or \"b\"\n\"c\": \"http://d\\\"//\"}// end", `{"a":null,"c":"http://d\"//"}`, false},
		{"{\"a\": // b", `"{\"a\": // b"`, true},
		{"{\x00", `"{\u0000"`, true},
	} {
		args, invalid := llm.CheckArgs(tc.in)
		if string(args) != tc.args || (invalid != "") != tc.invalid {
			t.Errorf("%q: %s, invalid %q; want %s, %v", tc.in, args, invalid, tc.args, tc.invalid)
		}
	}
}

func TestFinishStop(t *testing.T) {
	text, blank, call := llm.Text{Text: "x"}, llm.Text{Text: " \n"}, llm.ToolUse{ID: "i"}
	for _, tc := range []struct {
		said   llm.StopReason
		blocks []llm.Block
		want   llm.StopReason
	}{
		{llm.StopEndTurn, nil, llm.StopEmpty},
		{llm.StopEndTurn, []llm.Block{blank}, llm.StopEmpty},
		{llm.StopEndTurn, []llm.Block{llm.Reasoning{Text: "hm"}}, llm.StopEmpty},
		{llm.StopEndTurn, []llm.Block{text}, llm.StopEndTurn},
		{llm.StopToolUse, []llm.Block{text}, llm.StopEndTurn},
		{llm.StopEndTurn, []llm.Block{text, call}, llm.StopToolUse},
		{llm.StopLength, []llm.Block{call}, llm.StopLength},
		{llm.StopRefusal, nil, llm.StopRefusal},
		{llm.StopPause, []llm.Block{text}, llm.StopPause},
	} {
		if got := llm.FinishStop(tc.said, tc.blocks); got != tc.want {
			t.Errorf("%s with %v: %s, want %s", tc.said, tc.blocks, got, tc.want)
		}
	}
}

var wireName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// FuzzCalls: whatever a model writes, what is kept can be stored and sent
// back to every provider.
func FuzzCalls(f *testing.F) {
	f.Add("call_1", "read_file", `{"path":"a"}`)
	f.Add("", "", "")
	f.Add("\xff", "ünïcode tool name", `{"a":`)
	f.Add("a", "b", `"{\"path\":1}"`)
	f.Fuzz(func(t *testing.T, id, name, args string) {
		calls := llm.FinishCalls(llm.Request{}, []llm.RawCall{{ID: id, Name: name, Args: args}, {ID: id, Name: name, Args: args}})
		if calls[0].ID == calls[1].ID {
			t.Fatalf("one id %q for two calls", calls[0].ID)
		}
		for _, c := range calls {
			if !json.Valid(c.Args) || c.Args[0] != '{' && c.Invalid == "" {
				t.Fatalf("args %q, invalid %q", c.Args, c.Invalid)
			}
			if !wireName.MatchString(c.ID) || !wireName.MatchString(llm.WireName(c.Name)) {
				t.Fatalf("id %q, name %q", c.ID, llm.WireName(c.Name))
			}
			if w := llm.WireArgs(c); !json.Valid(w) || w[0] != '{' {
				t.Fatalf("sent back as %q", w)
			}
			if _, err := json.Marshal(llm.Message{Role: llm.Assistant, Blocks: []llm.Block{c}}); err != nil {
				t.Fatal(err)
			}
		}
	})
}
