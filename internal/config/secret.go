package config

import "encoding/json"

// Secret is a setting that may hold a key. A Config that Load returned holds
// never the key itself, only how to find it: "" (none given), "none" (none
// wanted), "${NAME}" (in the client's environment) or Literal (written in a
// file of the client's). The texts themselves stay in Loaded.
type Secret string

// Values of a Secret that are no reference.
const (
	NoKey   Secret = "none"
	Literal Secret = "(literal)"
)

// Env is the environment variable that a secret names, or "".
func (s Secret) Env() string { return pureRef(string(s)) }

// MarshalJSON writes a reference as it is and never a literal.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(string(s.safe())) }

// String prints like MarshalJSON, so that a stray %v leaks nothing.
func (s Secret) String() string { return string(s.safe()) }

// GoString does the same for %#v.
func (s Secret) GoString() string { return string(s.safe()) }

func (s Secret) safe() Secret {
	switch {
	case s == "", s == NoKey, s == Literal, s.Env() != "":
		return s
	}
	return Literal
}
