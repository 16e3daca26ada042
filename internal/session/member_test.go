package session

import (
	"encoding/json"
	"strings"
	"testing"

	"agency/internal/llm"
	"agency/internal/tool"
)

// A call that failed or was refused is told in one line: what it was, each thing once, and why.
func TestFailedCallInOneLine(t *testing.T) {
	for _, tc := range []struct{ name, args, text, want string }{
		{"edit_file", `{"path": "calc.go"}`, "error: calc.go: old_text does not occur in the file; the nearest place is at line 3:\n3\tx\n", "edit_file: calc.go: old_text does not occur in the file; the nearest place is at line 3: 3 x"},
		{"write_file", `{"path": "../x"}`, "error: path \"../x\" is outside of the repository", `write_file: path "../x" is outside of the repository`},
		{"run_command", `{"command": "` + strings.Repeat("make ", 20) + `"}`, "error: not run", "run_command make make make make make make…: not run"},
		{"nonsense", `{}`, "error: there is no tool", "nonsense: there is no tool"},
	} {
		k := Call{Use: llm.ToolUse{Name: tc.name, Args: json.RawMessage(tc.args)}, Result: tool.Result{Text: tc.text, Failed: true}}
		if got := failedCall(tc.name, k); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}
