package config

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"sync"
)

// form is a regular expression that is made when it is first asked for: each
// program that starts would pay for all of them.
func form(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
