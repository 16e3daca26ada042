package gemini

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agency/internal/llm"
)

func TestSchema(t *testing.T) {
	for name, tc := range map[string]struct{ in, want string }{
		"plain": {
			`{"$schema":"x","type":"object","additionalProperties":false,"properties":{"n":{"type":"integer","minimum":1,"exclusiveMaximum":9},"path":{"type":"string","description":"a file","minLength":1}},"required":["path","gone"]}`,
			`{"type":"OBJECT","properties":{"n":{"type":"INTEGER","minimum":1},"path":{"type":"STRING","description":"a file","minLength":1}},"required":["path"]}`,
		},
		"references": {
			`{"type":"object","properties":{"c":{"$ref":"#/$defs/C","description":"own"}},"$defs":{"C":{"type":"object","properties":{"next":{"$ref":"#/$defs/D"}}},"D":{"type":"boolean"}}}`,
			`{"type":"OBJECT","properties":{"c":{"type":"OBJECT","description":"own","properties":{"next":{"type":"BOOLEAN"}}}}}`,
		},
		"null and choices": {
			`{"type":"object","properties":{"a":{"type":["string","null"]},"b":{"oneOf":[{"type":"string"},{"type":"null"}]},"c":{"type":["string","integer"]},"d":{"const":"x"},"e":{"enum":[1,2],"type":"integer"},"f":{}}}`,
			`{"type":"OBJECT","properties":{"a":{"type":"STRING","nullable":true},"b":{"type":"STRING","nullable":true},"c":{"anyOf":[{"type":"STRING"},{"type":"INTEGER"}]},"d":{"type":"STRING","enum":["x"]},"e":{"type":"INTEGER","description":"One of [1,2]."},"f":{"type":"STRING"}}}`,
		},
		"lists": {
			`{"type":"object","properties":{"l":{"type":"array","items":{"type":"string","format":"uri"},"minItems":1},"m":{"type":"array"}}}`,
			`{"type":"OBJECT","properties":{"l":{"type":"ARRAY","items":{"type":"STRING"},"minItems":1},"m":{"type":"ARRAY","items":{"type":"STRING"}}}}`,
		},
	} {
		got, err := json.Marshal(translate(json.RawMessage(tc.in)))
		if diff := cmp.Diff(tc.want, string(got)); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

// A schema that refers to itself ends.
func TestSchemaRecursion(t *testing.T) {
	in := `{"$ref":"#/$defs/N","$defs":{"N":{"type":"object","properties":{"left":{"$ref":"#/$defs/N"},"right":{"$ref":"#/$defs/N"}}}}}`
	if got := translate(json.RawMessage(in)); got == nil || got.Type != "OBJECT" {
		t.Errorf("%+v", got)
	}
}

// An object without properties is refused by the wire: such a tool has no
// parameters.
func TestToolWithoutParameters(t *testing.T) {
	got := string(new(llm.Memo).Encode([]llm.Tool{{Name: "f", Description: "d", Schema: json.RawMessage(`{"type":"object","properties":{}}`)}}, declare))
	if want := `[{"name":"f","description":"d"}]`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
