package shell

import (
	"fmt"
	"strings"
	"testing"

	"agency/internal/tool"
)

// A plan is the last call's, and says how far it is.
func TestTodo(t *testing.T) {
	for _, tc := range []struct{ args, want string }{
		{`{"items":[{"text":"read it","done":true},{"text":" write\nit "},{"text":"test it","done":false}]}`, "1 of 3 done; next: write it"},
		{`{"items":[{"text":"a","done":true}]}`, "1 of 1 done"},
		{`{"items":[]}`, "no plan"},
		{`{"items":[{"text":" "}]}`, "error: step 1: the text is 1 to 300 letters"},
		{fmt.Sprintf(`{"items":[%s{"text":"x"}]}`, strings.Repeat(`{"text":"x"},`, mostSteps)), "error: a plan has at most 50 steps"},
	} {
		res, err := todo().Run(t.Context(), &tool.Env{}, []byte(tc.args))
		if err != nil || res.Text != tc.want {
			t.Errorf("%s: %q, %v, want %q", tc.args, res.Text, err, tc.want)
		}
		if plan, ok := res.Effect.(tool.Todo); ok == res.Failed || ok && plan.Line() != tc.want {
			t.Errorf("%s: %+v", tc.args, res.Effect)
		}
	}
}
