package agency

import (
	"path"
	"regexp"
	"strings"
)

// fileParts part a test from the file that people and models name before it.
var fileParts = []string{"::", "#", ": ", ":"}

// goName is where the name of a test of Go begins after its package.
var goName = regexp.MustCompile(`\.(Test|Fuzz|Example)`)

// inFile looks a test up that is named with its file, as in
// "price/price_test.go::TestTotal", where the runner names it otherwise: Go by
// the package, unittest by the module, others by the title alone. The file must
// fit the name in full, so that a test of the same name elsewhere is not meant.
func inFile(tests map[string]TestStatus, name string) (Found, bool) {
	for _, sep := range fileParts {
		file, rest, ok := strings.Cut(name, sep)
		file, rest = strings.TrimPrefix(file, "./"), strings.TrimSpace(rest)
		if !ok || rest == "" || path.Ext(file) == "" || strings.ContainsAny(file, " \t") {
			continue
		}
		own := map[string]TestStatus{}
		for full, status := range tests {
			if ofFile(full, file) {
				own[full] = status
			}
		}
		last := rest
		if i := strings.LastIndex(rest, "::"); i >= 0 {
			last = rest[i+len("::"):]
		}
		for _, spelled := range []string{rest, strings.ReplaceAll(rest, "::", "."), last} {
			if f, ok := lookUp(own, spelled); ok {
				return f, true
			}
		}
	}
	return Found{}, false
}

// ofFile tells whether a test of this full name can stand in the file.
func ofFile(full, file string) bool {
	ext := path.Ext(file)
	stem := strings.TrimSuffix(file, ext)
	if ext == ".go" {
		name := goName.FindStringIndex(full)
		dir := path.Dir(file) // of the module's own folder, nothing is known
		return name != nil && (dir == "." || strings.HasSuffix("/"+full[:name[0]], "/"+dir))
	}
	for _, part := range []string{file, stem, strings.ReplaceAll(stem, "/", ".")} {
		if i := strings.Index(full, part); i >= 0 && endsPart(full[:i]) {
			return true
		}
	}
	// A runner that names no files: the title is all that there is.
	return !strings.ContainsAny(full, "/.:")
}
