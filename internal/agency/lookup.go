package agency

import (
	"maps"
	"path"
	"slices"
	"strings"

	"agency/internal/regexp"
)

// Found is what a name leads to among the results: a test, or a group of them
// that only stands in the names of its members, such as the title around
// JavaScript's tests, a test of Python with parameters, or a file.
type Found struct {
	Name   string   // in full
	Tests  []string // sorted
	Status TestStatus
}

// LookUp looks a test up by its full name, or by the end of it after what parts
// names in its ecosystem: people write TestParse or test_parse, not the whole
// path. A name may be that of a group, and what several tests or groups bear
// means all of them: they have passed when none failed and one passed. A test
// of just this name stands for itself where it ran. What no test bears may
// begin with the file of the test, or be that of a file of tests.
func LookUp(tests map[string]TestStatus, name string) (Found, bool) {
	if f, ok := lookUp(tests, name); ok {
		return f, true
	}
	if testFile.MatchString(name) {
		return ofTests(tests, strings.TrimPrefix(name, "./"))
	}
	return inFile(tests, name)
}

// testFile is what the name of a file of tests looks like, in any language.
var testFile = regexp.MustCompile(`(?i)^[^\s:#]*(test|spec)[^\s:#/]*\.(go|py|js|jsx|mjs|cjs|ts|tsx|java|kt|rs|rb|php|cs|c|cc|cpp|swift|sh)$`)

// ofTests are the tests of a file: they have passed when none failed and one passed.
func ofTests(tests map[string]TestStatus, file string) (Found, bool) {
	f := Found{Name: file, Status: TestSkipped}
	for full, status := range tests {
		if !ofFile(full, file) {
			continue
		}
		f.Tests = append(f.Tests, full)
		if status == TestFailed || status == TestPassed && f.Status != TestFailed {
			f.Status = status
		}
	}
	if len(f.Tests) == 0 {
		return Found{}, false
	}
	slices.Sort(f.Tests)
	return f, true
}

func lookUp(tests map[string]TestStatus, name string) (Found, bool) {
	if status, ok := tests[name]; ok && status != TestSkipped {
		return Found{Name: name, Tests: []string{name}, Status: status}, true
	}
	ends, groups := map[string]string{}, map[string]string{} // by test, what bears the name
	for full := range tests {
		if rest, ok := strings.CutSuffix(full, name); ok && endsPart(rest) {
			ends[full] = full
		} else if group, ok := groupIn(full, name); ok {
			groups[full] = group
		}
	}
	if !ranAny(tests, ends) { // a skipped test hides no other of its name
		maps.Copy(ends, groups)
	}
	f := Found{Status: TestSkipped}
	for full, bearer := range ends {
		if f.Tests = append(f.Tests, full); f.Name == "" {
			f.Name = bearer
		} else if f.Name != bearer {
			f.Name = name
		}
		if s := tests[full]; s == TestFailed || s == TestPassed && f.Status != TestFailed {
			f.Status = s
		}
	}
	if len(f.Tests) == 0 {
		return Found{}, false
	}
	slices.Sort(f.Tests)
	return f, true
}

func ranAny(tests map[string]TestStatus, of map[string]string) bool {
	for full := range of {
		if tests[full] != TestSkipped {
			return true
		}
	}
	return false
}

// Members are the tests that a name stands for: those that it leads to, and the
// cases below it.
func (f Found) Members(tests map[string]TestStatus) []string {
	out := slices.Clone(f.Tests)
	out = slices.AppendSeq(out, maps.Keys(casesOf(tests, f.Name)))
	slices.Sort(out)
	return slices.Compact(out)
}

// endsPart tells whether a name may begin after this.
func endsPart(before string) bool {
	return before == "" || slices.ContainsFunc(nameEnds, func(end string) bool { return strings.HasSuffix(before, end) })
}

// casesOf are the tests below a name.
func casesOf(tests map[string]TestStatus, name string) map[string]TestStatus {
	out := map[string]TestStatus{}
	for full, status := range tests {
		if rest, ok := strings.CutPrefix(full, name); ok && beginsCase(rest) {
			out[full] = status
		}
	}
	return out
}

// groupIn is the full name of the group of this name that a test belongs to.
func groupIn(full, name string) (string, bool) {
	for from := 0; name != ""; {
		i := strings.Index(full[from:], name)
		if i < 0 {
			return "", false
		}
		start, end := from+i, from+i+len(name)
		if endsPart(full[:start]) && beginsCase(full[end:]) {
			return full[:end], true
		}
		from = start + 1
	}
	return "", false
}

func beginsCase(rest string) bool {
	if strings.HasPrefix(rest, ".") { // not what is behind the stem of a file's name
		return !strings.Contains(rest, " > ") && !strings.Contains(rest, "::")
	}
	return strings.HasPrefix(rest, "[") || slices.ContainsFunc(nameEnds, func(e string) bool { return strings.HasPrefix(rest, e) })
}

// nameEnds part the names of tests: packages and classes, folders and subtests,
// files of Python and modules of Rust, titles of JavaScript.
var nameEnds = []string{".", "/", "::", " > ", "#"}

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
		if i := strings.Index(full, part); i >= 0 && endsPart(full[:i]) && !goesOn(full[i+len(part):]) {
			return true
		}
	}
	// A runner that names no files: the title is all that there is.
	return !strings.ContainsAny(full, "/.:")
}

// goesOn tells whether a name goes on with the same word.
func goesOn(rest string) bool {
	return rest != "" && (rest[0] == '_' || rest[0] == '-' || rest[0] >= '0' && rest[0] <= '9' || rest[0] >= 'A' && rest[0] <= 'Z' || rest[0] >= 'a' && rest[0] <= 'z')
}
