package team

import (
	"context"
	"strings"
	"testing"

	"agency/internal/git"
	"agency/internal/tool"
)

// A verdict on something else than what was to be judged is none.
func TestVerdictsAreOfWhatIsJudged(t *testing.T) {
	for args, want := range map[string]string{
		`{"verdict":"pass","scope":"words","notes":"y"}`:   "",
		`{"verdict":"pass","notes":"y"}`:                   "",
		`{"verdict":"pass","scope":"another","notes":"y"}`: "what you judge is words",
	} {
		res, err := submitVerdict().Run(t.Context(), &tool.Env{Task: tool.Task{Contract: "words"}, History: unchanged{}}, []byte(args))
		if err != nil {
			t.Fatal(err)
		}
		if res.Failed != (want != "") || !strings.Contains(res.Text, want) {
			t.Errorf("%s: %+v", args, res)
		}
	}
}

// unchanged is the history of a checkout in which nothing changed.
type unchanged struct{ tool.History }

func (unchanged) Changed(context.Context) ([]git.Change, error) { return nil, nil }
