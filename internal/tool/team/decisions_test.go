package team

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/tool"
)

// book has one decision, of somebody else.
type book struct{ noted []agency.SharedDecision }

func theirs() agency.SharedDecision {
	return agency.SharedDecision{Key: "id", Value: "uuid", Why: "no clash", Version: 3, By: "ada"}
}

func (b *book) Note(_ context.Context, d agency.SharedDecision) (agency.SharedDecision, []agency.AgentID, error) {
	if now := theirs(); d.Key == now.Key && d.Version != now.Version {
		return now, nil, agency.Errorf(agency.KindConflict, "id is decided already, as version 3 by ada")
	}
	b.noted = append(b.noted, d)
	d.Version++
	return d, []agency.AgentID{"ada", "cy"}[:len(d.Concerns)], nil
}

func (b *book) List(_ context.Context, begins string) (out []agency.SharedDecision, err error) {
	if begins == "many" {
		for i := range maxListed + 2 {
			out = append(out, agency.SharedDecision{Key: fmt.Sprintf("many/%d", i), Value: "v", Why: "w", Version: 1, By: "ada"})
		}
	} else if strings.HasPrefix("id", begins) {
		out = append(out, theirs())
	}
	return out, nil
}

func TestNoteDecision(t *testing.T) {
	long := strings.Repeat("x", maxDecisionText+1)
	for name, tc := range map[string]struct {
		args, want      string
		failed, refused bool
	}{
		"a new one":        {`{"key":"api/errors","value":"typed","why":"callers look"}`, "decided: api/errors is version 1. Nobody at work is concerned", false, false},
		"told":             {`{"key":"api","value":"v","why":"w","concerns":["a/","b.go"]}`, "read before the next turn of ada, cy.", false, false},
		"changed":          {`{"key":"id","value":"number","why":"short","version":3}`, "decided: id is version 4.", false, false},
		"taken":            {`{"key":"id","value":"number","why":"short"}`, "id, version 3, by ada: uuid\n\nwhy: no clash\n</data-", true, false},
		"no key":           {`{"key":"","value":"v","why":"w"}`, "want 1 to 128 letters", true, true},
		"a key of lines":   {`{"key":"a\nb","value":"v","why":"w"}`, "want 1 to 128 letters", true, true},
		"no reason":        {`{"key":"a","value":"v","why":" "}`, `"value" or "why" is empty`, true, true},
		"too long":         {`{"key":"a","value":"` + long + `","why":"w"}`, "longer than 4096 bytes", true, true},
		"an odd version":   {`{"key":"a","value":"v","why":"w","version":-1}`, "version is -1", true, true},
		"too many files":   {`{"key":"a","value":"v","why":"w","concerns":["f"` + strings.Repeat(`,"f"`, maxConcerns) + `]}`, "concerns has 51 entries", true, true},
		"not in here":      {`{"key":"a","value":"v","why":"w","concerns":["../x"]}`, "leaves the repository", true, true},
		"no path":          {`{"key":"a","value":"v","why":"w","concerns":["` + long + `"]}`, "longer than 4096 bytes", true, true},
		"an unknown field": {`{"key":"a","value":"v","why":"w","by":"me"}`, "by", true, true},
	} {
		b := &book{}
		res, err := noteDecision().Run(t.Context(), &tool.Env{Decisions: b}, []byte(tc.args))
		if err != nil || !strings.Contains(res.Text, tc.want) || res.Failed != tc.failed || res.Refused != tc.refused || tc.failed == (len(b.noted) > 0) {
			t.Errorf("%s: %+v, %v, noted %d", name, res, err, len(b.noted))
		}
	}
}

func TestReadDecisions(t *testing.T) {
	for args, want := range map[string]string{
		`{}`:                "id, version 3, by ada: uuid\n\nwhy: no clash\n</data-",
		`{"prefix":"i"}`:    "name=\"decision id\">\nid, version 3",
		`{"prefix":"x"}`:    "nothing is decided under ",
		`{"prefix":"many"}`: "and 2 more; name a longer prefix",
	} {
		res, err := readDecisions().Run(t.Context(), &tool.Env{Decisions: &book{}}, []byte(args))
		if err != nil || res.Failed || !strings.Contains(res.Text, want) {
			t.Errorf("%s: %+v, %v", args, res, err)
		}
	}
}
