package tool

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"agency/internal/agency"
)

// printer answers every call alike.
func printer(text string, err error) func(context.Context, Tool, *Env, json.RawMessage) (Result, error) {
	return func(context.Context, Tool, *Env, json.RawMessage) (Result, error) { return OK(text), err }
}

// A secret at the cut of a long result goes before the cut, in errors too.
func TestSecretsGoBeforeTheCut(t *testing.T) {
	const key = "sk-ant-api03-R2D2c3poLuke9xWz-7fKqPvN3mYt8aQ"
	e := &Env{Redact: agency.NewRedactor(key).Bytes}
	for shift := range len(key) {
		text := strings.Repeat("a", MaxResult/2-shift) + key + strings.Repeat("b", MaxResult)
		res, err := Tool{run: printer(text, nil)}.Run(t.Context(), e, nil)
		failed, ferr := Tool{run: printer("", agency.Errorf(agency.KindInvalid, "%s", text))}.Run(t.Context(), e, nil)
		if err != nil || ferr != nil {
			t.Fatal(err, ferr)
		}
		for _, got := range []string{res.Text, failed.Text} {
			for i := 13; i+6 <= len(key); i++ {
				if strings.Contains(got, key[i:i+6]) {
					t.Fatalf("shift %d: %s is left", shift, key[i:i+6])
				}
			}
		}
	}
}
