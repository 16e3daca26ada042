package verify

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"agency/internal/ecosystem"
)

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
		switch dir {
		case "test", "tests", "testdata", "_test", "__tests__", "__snapshots__", "__mocks__", "fixtures", "spec", "specs", "e2e":
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
	if languageOf(p) != "" || hasParts(p) || isLock(p) {
		return false
	}
	switch strings.ToLower(path.Ext(p)) {
	case ".json", ".yaml", ".yml", ".toml", ".txt", ".csv", ".tsv", ".xml", ".html", ".ini", ".out", ".expected", ".want", ".in", ".dat", ".bin", ".snap", ".golden", ".log":
		return true
	}
	return false
}

// isLock tells of files that pin what is installed: the tests of either side
// run with what the change asks for.
func isLock(p string) bool {
	return isOfTools(p, func(f ecosystem.Files) []string { return f.Locks })
}
