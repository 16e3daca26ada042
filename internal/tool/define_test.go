package tool

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A list or an object that comes as a string is what its JSON says; what is no
// such JSON, or is wanted as a text, is left alone.
func TestNestedInAString(t *testing.T) {
	type inner struct {
		Name string `json:"name"`
	}
	type args struct {
		Text string   `json:"text"`
		List []string `json:"list,omitempty"`
		One  *inner   `json:"one,omitempty"`
	}
	s := shapeOf[args]()
	for raw, want := range map[string]args{
		`{"text":"[1]","list":"[\"a\",\"b\"]"}`:        {Text: "[1]", List: []string{"a", "b"}},
		`{"text":"x","one":" {\"name\":\"n\"}\n"}`:     {Text: "x", One: &inner{"n"}},
		`{"text":"x","list":null,"one":{"name":"[]"}}`: {Text: "x", One: &inner{"[]"}},
	} {
		var got args
		if err := s.Decode(json.RawMessage(raw), &got); err != nil {
			t.Errorf("%s: %v", raw, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", raw, diff)
		}
	}
	for raw, want := range map[string]string{
		`{"text":"x","list":"a"}`:                 `argument "list" is a string, not a list`,
		`{"text":"x","list":"{}"}`:                `argument "list" is a string, not a list`,
		`{"text":"x","one":"{\"name\":\"n\""}`:    `argument "one" is a string, not an object`,
		`{"text":"x","one":"{\"nome\":\"n\"}"}`:   `unknown field "nome" (did you mean name?)`,
		`{"text":["x"],"one":"{\"name\":\"n\"}"}`: `argument "text" is a list, not a string`,
	} {
		var got args
		if err := s.Decode(json.RawMessage(raw), &got); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", raw, err, want)
		}
	}
}
