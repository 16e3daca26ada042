package agency

import (
	"encoding/json"
	"slices"
)

// Inputs are what a contract is given to work with, by name: any values of JSON, kept
// as they were written.
type Inputs map[string]json.RawMessage

// DependenciesInput is the input that lists contracts that it depends on; they are
// among its DependsOn, too.
const DependenciesInput = "dependencies"

// TextInput is a text as a value.
func TextInput(s string) json.RawMessage {
	b, err := json.Marshal(s)
	if err != nil { // a text can always be encoded
		return json.RawMessage(`""`)
	}
	return b
}

// TextInputs are texts as inputs.
func TextInputs(texts map[string]string) Inputs {
	in := make(Inputs, len(texts))
	for name, s := range texts {
		in[name] = TextInput(s)
	}
	return in
}

// Text is the value of this name where it is a text, else "".
func (in Inputs) Text(name string) string {
	var s string
	if json.Unmarshal(in[name], &s) != nil {
		return ""
	}
	return s
}

// Dependencies are the contracts that the inputs list; an error where what is called
// so is no list of ids.
func (in Inputs) Dependencies() ([]ContractID, error) {
	raw, ok := in[DependenciesInput]
	if !ok {
		return nil, nil
	}
	var ids []ContractID
	if err := json.Unmarshal(raw, &ids); err != nil {
		return nil, Errorf(KindInvalid, "inputs.%s wants a list of ids of contracts; give other things another name", DependenciesInput)
	}
	return ids, nil
}

// Depending gives a contract with what its inputs list among what it depends on.
func Depending(c Contract) Contract {
	listed, err := c.Inputs.Dependencies()
	if err != nil { // a fault of the plan, which names it
		return c
	}
	for _, id := range listed {
		if !slices.Contains(c.DependsOn, id) {
			c.DependsOn = append(slices.Clone(c.DependsOn), id)
		}
	}
	return c
}
