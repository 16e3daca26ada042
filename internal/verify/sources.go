package verify

import (
	"bytes"
	"context"
	"path"
	"regexp"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/git"
)

// language is one whose sources are looked at for weakened tests.
type language string

const (
	golang     language = "go"
	python     language = "python"
	javascript language = "javascript" // and TypeScript
	rust       language = "rust"
	java       language = "java" // and Kotlin
)

func languageOf(p string) language {
	switch path.Ext(p) {
	case ".go":
		return golang
	case ".py", ".pyi":
		return python
	case ".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".vue", ".svelte":
		return javascript
	case ".rs":
		return rust
	case ".java", ".kt", ".kts":
		return java
	}
	return ""
}

// isTestFile tells whether a path is one where its ecosystem keeps tests. A
// Rust source counts only below tests: its other tests stand beside the code.
func isTestFile(p string) bool {
	base := path.Base(p)
	stem := strings.TrimSuffix(base, path.Ext(base))
	below := func(names ...string) bool {
		return slices.ContainsFunc(strings.Split(path.Dir(p), "/"), func(d string) bool { return slices.Contains(names, d) })
	}
	switch languageOf(p) {
	case golang:
		return strings.HasSuffix(stem, "_test")
	case python:
		return strings.HasPrefix(stem, "test_") || strings.HasSuffix(stem, "_test") || stem == "tests" || below("tests", "test")
	case javascript:
		return strings.HasSuffix(stem, ".test") || strings.HasSuffix(stem, ".spec") || strings.HasSuffix(stem, "-test") ||
			strings.HasSuffix(stem, "_test") || stem == "test" || below("__tests__", "test", "tests", "spec")
	case rust:
		return below("tests", "benches") || stem == "tests"
	case java:
		return below("test", "androidTest", "integrationTest") || strings.HasSuffix(stem, "Test") || strings.HasSuffix(stem, "Tests") ||
			strings.HasSuffix(stem, "IT") || strings.HasSuffix(stem, "Spec")
	}
	return !isData(p) && !isDoc(p) && (testStem.MatchString(stem) || testEndings[path.Ext(p)])
}

// testStem and testEndings are how languages that are not read call what holds
// tests: foo_test.sh, test_foo.lua, foo_spec.rb, FooTests.cs.
var (
	testStem    = regexp.MustCompile(`^test[-_.]|[-_.](?:test|tests|spec)$|[a-z0-9](?:Test|Tests|Spec)$`)
	testEndings = map[string]bool{".bats": true, ".t": true, ".feature": true}
)

// isTestHelper tells whether a path is one where helpers of tests are kept that
// is no test file itself.
func isTestHelper(p string) bool {
	stem, _, _ := strings.Cut(path.Base(p), ".")
	if languageOf(p) == "" {
		return false
	}
	for _, d := range strings.Split(path.Dir(p), "/") {
		switch strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(d)) {
		case "testutil", "testutils", "testhelper", "testhelpers", "testsupport", "testkit", "testlib", "testing", "testtools", "testfixtures",
			"test", "tests", "spec", "specs":
			return true
		}
	}
	switch strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(stem)) {
	case "testutil", "testutils", "testhelper", "testhelpers", "testsupport", "spechelper", "conftest", "testlib":
		return true
	}
	return false
}

// holdsTests tells whether a file can hold tests or helpers of them.
func (s source) holdsTests() bool { return s.test || s.lang == rust || s.helps() }

// helps tells whether all that a file is for are tests.
func (s source) helps() bool {
	return s.support || isTestHelper(s.path) || s.lang == golang && (bytes.Contains(s.before, goTesting) || bytes.Contains(s.after, goTesting))
}

// goTesting is how a file of Go imports what tests are made of: code that is
// delivered does not.
var goTesting = []byte("\"testing\"")

// unitsOf are those of a side of a file that belong to tests: of code that
// stands beside its tests, as in Rust, the tests alone.
func (s source) unitsOf(src []byte) []unit {
	all := units(s.lang, src)
	if s.test || s.helps() {
		return all
	}
	return slices.DeleteFunc(all, func(u unit) bool { return !u.test })
}

// source is a changed file on both sides; nil where it is absent.
type source struct {
	path          string
	lang          language
	test          bool
	support       bool // used by nothing but tests
	before, after []byte
}

// Bounds of what is read of a change.
const (
	maxSources    = 1500
	maxSourceSize = 4 << 20
	maxSourcesSum = 16 << 20
)

// readSources reads the changed files that are looked at. More than the bounds
// is itself a weakening: nobody has looked.
func (j *job) readSources(ctx context.Context, f *facts) (err error) {
	skipped, left := 0, maxSourcesSum
	for _, c := range f.changes {
		s := source{path: c.Path, lang: languageOf(c.Path), test: isTestFile(c.Path)}
		if s.lang == "" && !hasParts(c.Path) {
			continue
		}
		if len(f.sources) >= maxSources {
			skipped++
			continue
		}
		s.before, err = j.text(ctx, c.Old.Mode, c.Old.ID, min(left, maxSourceSize))
		if err == nil {
			s.after, err = j.text(ctx, c.New.Mode, c.New.ID, min(left-len(s.before), maxSourceSize))
		}
		if git.IsTooLong(err) {
			skipped++
			continue
		}
		if err != nil {
			return err
		}
		left -= len(s.before) + len(s.after)
		if j.read == nil {
			j.read = map[agency.OID][]byte{}
		}
		j.read[c.Old.ID], j.read[c.New.ID] = s.before, s.after
		if s.lang != "" && s.before != nil && j.task.isClaim() {
			m, err := j.matterOf(ctx, c)
			if err != nil {
				return err
			}
			s.support = m != ofProduct && matterOf(c.Path) == ofProduct
		}
		f.sources = append(f.sources, s)
	}
	if skipped > 0 {
		f.unread = append(f.unread, agency.Weakening{Kind: agency.WeakControl, Name: agency.Things(skipped, "changed file is", "changed files are") + " too large or too many to be looked at"})
	}
	f.rewritten, f.removed = rewritten(f.sources), removed(f.sources)
	return nil
}

func (j *job) text(ctx context.Context, mode uint32, id agency.OID, most int) ([]byte, error) {
	if mode != 0o100644 && mode != 0o100755 {
		return nil, nil
	}
	b, err := j.run.Dir().Content(ctx, id, int64(max(1, most)))
	if b == nil && err == nil {
		b = []byte{}
	}
	return b, err
}

// weaker names what the change itself shows: assertions that are gone, tests
// edited where the contract declares no writes, files that decide how tests
// run, and code that knows of its tests.
func (j *job) weaker(ctx context.Context, f *facts, quiet []agency.Weakening) ([]agency.Weakening, error) {
	files, out := f.sources, slices.Concat(f.unread, quiet)
	moved, err := j.takesPlace(ctx, f.changes)
	if err != nil {
		return nil, err
	}
	out = append(out, moved...)
	named, err := j.namedFiles(ctx)
	if err != nil {
		return nil, err
	}
	out = append(out, control(f.changes, files, named)...)
	out = append(out, edited(f.changes, f.Writes)...)
	out = append(out, lessAsserted(files, !f.claimSuite.receipt.Parsed)...)
	forged, err := j.forging(ctx, files, f.Criteria)
	if err != nil {
		return nil, err
	}
	unread, err := j.unread(ctx, f)
	out = slices.Concat(out, forged, unread)
	slices.SortStableFunc(out, func(a, b agency.Weakening) int { return strings.Compare(string(a.Kind)+a.Name, string(b.Kind)+b.Name) })
	return slices.CompactFunc(out, agency.Weakening.Same), err
}
