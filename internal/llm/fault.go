package llm

import (
	"fmt"
	"time"

	"agency/internal/agency"
)

// FaultKind names why a model gave no answer.
type FaultKind string

// The closed set of faults.
const (
	RateLimited       FaultKind = "rate_limited"       // 429: too many requests or tokens for now
	Quota             FaultKind = "quota"              // the account has no credit left
	Overloaded        FaultKind = "overloaded"         // 529, 503: the provider has no capacity
	Server            FaultKind = "server"             // any other 5xx
	Network           FaultKind = "network"            // connection reset or lost before an answer began
	RefusedConnection FaultKind = "refused_connection" // nobody listens there, or the host is unknown
	Timeout           FaultKind = "timeout"            // no byte came for too long
	StreamCut         FaultKind = "stream_cut"         // the answer began and did not end
	BadAnswer         FaultKind = "bad_answer"         // not this protocol: an HTML page, broken JSON, too large
	Auth              FaultKind = "auth"               // the key is missing, wrong or not allowed
	ModelNotFound     FaultKind = "model_not_found"    // the provider has no such model
	InvalidRequest    FaultKind = "invalid_request"    // the provider refuses the request's form
	ContextOverflow   FaultKind = "context_overflow"   // the request is larger than the model's window
)

// Fault is the one error of this package. Its chain holds an agency.Error, so
// that agency.KindOf and agency.MendOf answer: Transient for what may pass by
// itself or is the provider's, Invalid for what must be edited.
type Fault struct {
	Kind       FaultKind
	Status     int           // of HTTP; 0 where none came
	RetryAfter time.Duration // the provider's wish; 0 where it gave none
	Provider   string        // configured name
	Model      string        // as requested
	Detail     string        // the provider's or the system's own words, one line
	// Mend is the step that mends it, where one is known.
	Mend  string
	After *Fault // of the model of a list that was asked first; nil: this one was
	cause error
	told  Count // what the body of a refusal says that was counted
}

// Error says who, what and why in one line.
func (f *Fault) Error() string {
	before := ""
	if f.After != nil { // it is why this one was asked
		before = f.After.Error() + "; then "
	}
	s := before + "provider " + f.Provider + ": " + faultWords[f.Kind]
	if f.Kind == ModelNotFound && f.Model != "" {
		s += " " + f.Model
	}
	if f.Status != 0 {
		s += fmt.Sprintf(" (status %d)", f.Status)
	}
	if f.Detail != "" {
		s += ": " + f.Detail
	}
	return s
}

var faultWords = map[FaultKind]string{
	RateLimited:       "rate limited",
	Quota:             "no credit left",
	Overloaded:        "overloaded",
	Server:            "server error",
	Network:           "connection lost",
	RefusedConnection: "cannot connect",
	Timeout:           "no answer in time",
	StreamCut:         "answer cut off",
	BadAnswer:         "answer not understood",
	Auth:              "key refused",
	ModelNotFound:     "no such model",
	InvalidRequest:    "request refused",
	ContextOverflow:   "request larger than the context window",
}

// What says what it is in two or three words.
func (f *Fault) What() string { return faultWords[f.Kind] }

// Unwrap gives the kind, the mending step and the cause.
func (f *Fault) Unwrap() error {
	kind := agency.KindTransient
	switch f.Kind {
	case Auth, ModelNotFound, InvalidRequest, ContextOverflow:
		kind = agency.KindInvalid
	}
	e := &agency.Error{Kind: kind, Mend: f.Mend, Err: f.cause}
	if e.Err == nil {
		e.Err = plain(f.Error())
	}
	return e
}

// plain is an error that is only its words.
type plain string

func (p plain) Error() string { return string(p) }

// AtDoor says whether the provider refused the request before it counted a
// token of it, if nothing of an answer had come. An error within a stream has
// the same kinds and is not free, nor is a server's error: it may have come over an answer
// that was counted.
func (f *Fault) AtDoor() bool {
	switch f.Kind {
	case RateLimited, Quota, Overloaded, RefusedConnection, Auth, ModelNotFound, InvalidRequest, ContextOverflow:
		return true
	}
	return false
}

// Retryable says whether the same request may succeed later.
func (f *Fault) Retryable() bool {
	switch f.Kind {
	case RateLimited, Overloaded, Server, Network, RefusedConnection, Timeout, StreamCut, BadAnswer:
		return true
	}
	return false
}
