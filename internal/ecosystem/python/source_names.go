package python

import (
	"path"
	"strings"

	"agency/internal/ecosystem"
)

var (
	fromForm   = ecosystem.Compile(`(?m)(?:^|[;:])[ \t]*from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n;]*)`)
	importForm = ecosystem.Compile(`(?m)(?:^|[;:])[ \t]*import[ \t]+([^\n;]+)`)
)

// loads are the modules that a source names by its imports.
func loads(from, text string, _ func(string) string) (out []ecosystem.ImportedModule) {
	for _, m := range fromForm.FindAllStringSubmatch(text, -1) {
		base, exact := strings.ReplaceAll(m[2], ".", "/"), m[1] != ""
		if exact {
			dir := path.Dir(from)
			for range len(m[1]) - 1 {
				dir = path.Dir(dir)
			}
			base = path.Join(dir, base)
			out = append(out, ecosystem.ImportedModule{Path: base, Exact: true})
		} else {
			out = append(out, ecosystem.Dotted(m[2])...)
		}
		for _, name := range strings.FieldsFunc(m[3], func(r rune) bool { return strings.ContainsRune("(), \t\n\\", r) }) {
			out = append(out, ecosystem.ImportedModule{Path: path.Join(base, name), Exact: exact})
		}
	}
	for _, m := range importForm.FindAllStringSubmatch(text, -1) {
		for name := range strings.SplitSeq(m[1], ",") {
			if f := strings.Fields(name); len(f) > 0 {
				out = append(out, ecosystem.Dotted(f[0])...)
			}
		}
	}
	return out
}
