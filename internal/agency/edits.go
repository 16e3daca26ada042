package agency

import (
	"slices"
	"strings"
)

// Unshared are the files whose change by several contracts matters: those that
// no shared glob matches.
func Unshared(files, shared []string) []string {
	return slices.DeleteFunc(slices.Clone(files), func(f string) bool { return isShared(f, shared) })
}

// Parts are the files of which a contract declares symbols only: beside one
// that declares other symbols it was meant to change the same file.
func Parts(c Contract, files []string) []string {
	declared := c.WriteSet()
	return slices.DeleteFunc(slices.Clone(files), func(f string) bool {
		whole := slices.ContainsFunc(declared, func(w string) bool {
			file, _, symbol := strings.Cut(w, "#")
			return !symbol && MatchPath(file, f)
		})
		symbols := slices.ContainsFunc(declared, func(w string) bool { return strings.HasPrefix(w, f+"#") })
		return whole || !symbols
	})
}
