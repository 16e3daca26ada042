// Package agency is the vocabulary of the product as types, and the rules
// that need nothing but those types: may this contract advance on that fact,
// is this plan valid, which contracts are ready, do two write sets overlap,
// what is a criterion's proof.
//
// Everything here is pure: no clock, no disk, no randomness, no other package
// but the standard library and text, which shortens. A rule is tested by a table of inputs.
package agency
