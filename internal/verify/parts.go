package verify

import (
	"slices"
	"strings"

	"agency/internal/ecosystem"
	"agency/internal/languages"
)

// partsOf is how a file is taken apart that decides how tests run by a part of
// it only: the rest of it, such as dependencies, may change.
func partsOf(p string) (ecosystem.SettingsFile, bool) {
	for _, e := range languages.All() {
		for _, part := range e.Source.Files.Parts {
			if ecosystem.Matches([]string{part.Glob}, p) {
				return part, true
			}
		}
	}
	return ecosystem.SettingsFile{}, false
}

func hasParts(p string) bool {
	_, has := partsOf(p)
	return has
}

// changedPart names the part by which an edited file decides how tests run
// otherwise than before; "" where it does not.
func changedPart(p string, before, after []byte) string {
	file, has := partsOf(p)
	if !has {
		return ""
	}
	parts := func(src []byte) map[string]string {
		if len(src) == 0 {
			return nil
		}
		return file.Parts(src)
	}
	was, now := parts(before), parts(after)
	var changed []string
	for name := range now {
		if now[name] != was[name] && (before != nil || file.New) {
			changed = append(changed, name)
		}
	}
	for name := range was {
		if _, ok := now[name]; !ok {
			changed = append(changed, name)
		}
	}
	slices.Sort(changed)
	return strings.Join(changed, ", ")
}
