package api

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"

	"agency/internal/agency"
)

// Fault is an error as it crosses the wire.
type Fault struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
	Mend string `json:"mend,omitempty"`
}

// FaultOf keeps an error's kind, text and mending step.
func FaultOf(err error) Fault {
	return Fault{Kind: agency.KindOf(err).String(), Text: err.Error(), Mend: agency.MendOf(err)}
}

// Err is the error again on the other side.
func (f Fault) Err() error {
	return &agency.Error{Kind: agency.ParseKind(f.Kind), Mend: f.Mend, Err: errors.New(f.Text)}
}

var statuses = map[agency.Kind]int{
	agency.KindInvalid: http.StatusBadRequest, agency.KindNotFound: http.StatusNotFound,
	agency.KindConflict: http.StatusConflict, agency.KindDenied: http.StatusForbidden,
	agency.KindExhausted: http.StatusPaymentRequired, agency.KindTransient: http.StatusServiceUnavailable,
}

// StatusOf is the HTTP status of an error's kind.
func StatusOf(kind agency.Kind) int { return cmp.Or(statuses[kind], http.StatusInternalServerError) }

// Frame is one line of a stream: an event, a piece of what a model says, or the error
// that ends it.
type Frame struct {
	Event *agency.Event `json:"event,omitempty"`
	Delta *Delta        `json:"delta,omitempty"`
	Error *Fault        `json:"error,omitempty"`
}

// envelope is the body of an answer that is an error.
type envelope struct {
	Error Fault `json:"error"`
}

// EncodeFault is the body of an answer that is an error.
func EncodeFault(err error) []byte {
	b, merr := json.Marshal(envelope{FaultOf(err)})
	if merr != nil { // a Fault is three strings
		return []byte(`{"error":{"kind":"internal","text":"the error could not be encoded"}}`)
	}
	return b
}
