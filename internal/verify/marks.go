package verify

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"agency/internal/ecosystem"
)

// found are the places where a source shows a mark.
func found(m ecosystem.Mark, text string) (out []telling) {
	for _, at := range m.Find(text) {
		from := strings.LastIndexByte(text[:at], '\n') + 1
		line, _, _ := strings.Cut(text[from:], "\n")
		out = append(out, telling{word: m.Word, line: 1 + strings.Count(text[:at], "\n"), code: strings.TrimSpace(line)})
	}
	return out
}

// anywhere are marks of every language.
var anywhere = sync.OnceValue(func() []ecosystem.Mark {
	return []ecosystem.Mark{
		{Form: regexp.MustCompile(`/proc/(?:self|thread-self|\d|[%$\{])|['"]/?proc/?['"]`), Word: "looks at its own process", Tests: true},
		{Form: regexp.MustCompile(`\bAGENCY_(?:REPORT|COVERAGE)\b|\bagency_(?:pytest|unittest|report)\b`), Word: "knows who verifies it", Tests: true},
	}
})

// marksBy are the ways by which the text of a source can know of its tests.
func marksBy(p string) []ecosystem.Mark {
	if own := readAs(p).Forms.Marks; own != nil {
		return slices.Concat(own(), anywhere())
	}
	return anywhere()
}
