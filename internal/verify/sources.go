package verify

import (
	"bytes"
	"context"
	"path"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/changeset"
	"agency/internal/ecosystem"
	"agency/internal/languages"
	"agency/internal/regexp"
)

// languageOf is the language of a source by its path; "" where it is none that is
// looked at.
func languageOf(p string) ecosystem.Name { return languages.Of(p).Name }

// readAs is how a source is read as text.
func readAs(p string) *ecosystem.Source { return &languages.Of(p).Source }

// isTestFile tells whether a path is one where its ecosystem keeps tests. A
// Rust source counts only below tests: its other tests stand beside the code.
func isTestFile(p string) bool {
	if is := readAs(p).Tests.IsFile; is != nil {
		return is(p)
	}
	return !isData(p) && !isDoc(p) && (testStem.MatchString(ecosystem.Stem(p)) || testEndings[path.Ext(p)])
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
	plain := strings.NewReplacer("_", "", "-", "").Replace
	stem, _, _ := strings.Cut(path.Base(p), ".")
	return languageOf(p) != "" && (slices.Contains(helperNames, plain(strings.ToLower(stem))) ||
		slices.ContainsFunc(strings.Split(path.Dir(p), "/"), func(d string) bool { return slices.Contains(helperFolders, plain(strings.ToLower(d))) }))
}

var (
	helperNames   = []string{"testutil", "testutils", "testhelper", "testhelpers", "testsupport", "spechelper", "conftest", "testlib"}
	helperFolders = []string{
		"testutil", "testutils", "testhelper", "testhelpers", "testsupport", "testkit", "testlib", "testing", "testtools", "testfixtures",
		"test", "tests", "spec", "specs",
	}
)

// holdsTests tells whether a file can hold tests or helpers of them.
func (s source) holdsTests() bool { return s.test || readAs(s.path).Tests.Beside || s.helps() }

// helps tells whether all that a file is for are tests.
func (s source) helps() bool {
	mark := []byte(readAs(s.path).Tests.Import) // code that is delivered does not have it
	return s.support || isTestHelper(s.path) || len(mark) > 0 && (bytes.Contains(s.before, mark) || bytes.Contains(s.after, mark))
}

// unitsOf are those of a side of a file that belong to tests: of code that
// stands beside its tests, as in Rust, the tests alone.
func (s source) unitsOf(src []byte) []unit {
	all := units(s.path, src)
	if s.test || s.helps() {
		return all
	}
	return slices.DeleteFunc(all, func(u unit) bool { return !u.Test })
}

// source is a changed file on both sides; nil where it is absent.
type source struct {
	path          string
	lang          ecosystem.Name
	test          bool
	support       bool // used by nothing but tests
	before, after []byte
}

// Bounds of what is read of a change.
const (
	maxSources    = 1500
	maxSourceSize = changeset.MaxText
	maxSourcesSum = 16 << 20
)

// readSources reads the changed files that are looked at. More than the bounds
// is itself a weakening: nobody has looked.
func (j *job) readSources(ctx context.Context, f *facts) error {
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
		var had, has bool
		s.before, had = j.trees.Content(ctx, c.Old, min(left, maxSourceSize))
		s.after, has = j.trees.Content(ctx, c.New, min(left-len(s.before), maxSourceSize))
		if !had || !has {
			skipped++
			continue
		}
		left -= len(s.before) + len(s.after)
		s.support = s.lang != "" && s.before != nil && j.task.isClaim() && j.usage.matterOf(ctx, c) != ofProduct && matterOf(c.Path) == ofProduct
		f.sources = append(f.sources, s)
	}
	if skipped > 0 {
		f.unread = append(f.unread, agency.Weakening{Kind: agency.WeakControl, Name: agency.Things(skipped, "changed file is", "changed files are") + " too large or too many to be looked at"})
	}
	f.rewritten, f.removed = rewritten(f.sources), removed(f.sources)
	return j.trees.Err()
}

// weaker names what the change itself shows: assertions that are gone, tests
// edited where the contract declares no writes, files that decide how tests
// run, and code that knows of its tests.
func (j *job) weaker(ctx context.Context, f *facts, quiet []agency.Weakening) ([]agency.Weakening, error) {
	aware := testAwareness{syntax: j.v.o.Syntax, base: j.task.base, claim: j.task.claim, trees: j.trees}
	forged, err := aware.weakenings(ctx, f.sources, f.Criteria)
	out := slices.Concat(
		f.unread, quiet, j.shadowing.weakenings(ctx, f.changes), control(f.changes, f.sources, j.files.named(ctx)), edited(f.changes, f.Writes),
		lessAsserted(f.sources, !f.claimSuite.Receipt.Parsed), forged, j.unread(ctx, f),
	)
	slices.SortStableFunc(out, func(a, b agency.Weakening) int { return strings.Compare(string(a.Kind)+a.Name, string(b.Kind)+b.Name) })
	return slices.CompactFunc(out, agency.Weakening.Same), err
}

// matter says whether a path is of the tests or of what is tested.
type matter int

const (
	ofProduct matter = iota
	ofTests          // tests, their helpers and data, the set-up of their runner
	// doubtful may be either by its name: who mentions it decides, and where that
	// does not tell it counts as tests, for then it proves the least.
	doubtful
	// unused is what nothing mentions.
	unused
)

// matterOf tells by its path alone what a file is of.
func matterOf(p string) matter {
	base := path.Base(p)
	switch {
	case isTestFile(p), isTestData(p), isRunner(p), isVendored(p), slices.Contains(readAs(p).Tests.SetUps, base), base == "spec_helper.rb":
		return ofTests
	}
	for _, dir := range strings.Split(path.Dir(p), "/") {
		if slices.Contains([]string{"test", "tests", "testdata", "_test", "__tests__", "__snapshots__", "__mocks__", "fixtures", "spec", "specs", "e2e"}, dir) {
			return ofTests
		}
		if testWords.MatchString(dir) || readAs(p).Tests.Folders.In(dir) {
			return doubtful
		}
	}
	stem := ecosystem.Stem(p)
	switch {
	case testWords.MatchString(stem), checking.MatchString(stem), isData(p), isRecipe(base) && (languageOf(p) == "" || base == p):
		return doubtful
	}
	return ofProduct
}

// testWords are names of folders and files that mostly serve tests only.
var (
	testWords = regexp.MustCompile(`(?i)^(?:test|tests|testing|test[-_]?(?:utils?|helpers?|support|lib|kit|common|cases?|data)|mocks?|fakes?|stubs?|doubles|golden|goldens|expected|snapshots?|baselines?|examples?_output)$`)
	// checking are programs that say whether the work is done.
	checking = regexp.MustCompile(`(?i)^(?:check|verify|validate|smoke|selftest|self[-_]test|acceptance|assert|assertions?|expect|matchers?)(?:[-_.].*)?$`)
)

// supportFolders are names of folders for what tests are made of. A package of
// the product may have one as well: who uses it decides.
var supportFolders = regexp.MustCompile(`(?i)^(?:qa|quality|acceptance|integration|functional|regression|conformance|harness|samples?|cases|scenarios|expect(?:ed|ations)?|answers|checks?|smoke|testkit|testbed|verification|must|ensure|asserts?|assertions?)$|^(?:.+[-_])?(?:tests?|qa)(?:[-_].+)?$`)

// supportNames are such names of files.
var supportNames = regexp.MustCompile(`(?i)^(?:must|ensure|asserts?|assertions?|expectations?|checks)$`)

// inSupport tells whether a path lies in such a folder, or is called so.
func inSupport(p string) bool {
	return supportNames.MatchString(stemOf(p)) || slices.ContainsFunc(strings.Split(path.Dir(p), "/"), supportFolders.MatchString)
}

// isData tells of files that code reads: what tests compare with, or what the
// product ships.
func isData(p string) bool {
	return languageOf(p) == "" && !hasParts(p) && !isLock(p) && slices.Contains(dataEndings, strings.ToLower(path.Ext(p)))
}

var dataEndings = []string{
	".json", ".yaml", ".yml", ".toml", ".txt", ".csv", ".tsv", ".xml", ".html", ".ini", ".out", ".expected", ".want", ".in", ".dat", ".bin", ".snap", ".golden", ".log",
}

// isLock tells of files that pin what is installed: the tests of either side
// run with what the change asks for.
func isLock(p string) bool {
	return isOfTools(p, func(f ecosystem.Files) []string { return f.Locks })
}
