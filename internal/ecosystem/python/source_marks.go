package python

import (
	"sync"

	"agency/internal/ecosystem"
	"agency/internal/regexp"
)

// textMarks are ways to know of tests that the text shows; the tree shows the others
// (package awareness/symbols).
var textMarks = sync.OnceValue(func() []ecosystem.Mark {
	re := regexp.MustCompile
	return []ecosystem.Mark{
		{Form: re(`\bdef\s+pytest_\w+|\bhookimpl\b|\bpytest_plugins\b`), Word: "hooks into pytest", Tests: true},
		{Form: re(`(?m)^\s*(?:if|while)\s+(?:False|0|None)\s*:`), Word: "holds code that never runs", Only: true},
		{
			Form: re(`(?m)^\s*except\b[^\n]*:\s*(?:\n\s*)?(?:pass|return|\.\.\.|continue)\b|\bsuppress\(\s*(?:AssertionError|Exception|BaseException)`), Word: "swallows failures", Only: true,
			Unless: re(`except\s+\(?\s*(?:\w*(?:Import|Key|Index|File|OS|Value|Type|Attribute|Timeout|Connection|Permission|Unicode|Lookup|NotImplemented|StopIteration|Keyboard)\w*)`),
		},
	}
})
