package testreport

import (
	"iter"
	"slices"
	"strings"
)

// InGroup tells whether a test belongs to one of what IsPackage names: a package
// of Go, a file, a module, a class or a target. When that fails as a whole its
// tests did not run, which is no deletion. It costs the length of the name,
// however many groups there are.
func InGroup(test string, isGroup func(name string) bool) bool {
	if pkg, _, ok := SplitGo(test); ok && isGroup(pkg) {
		return true
	}
	module := strings.LastIndexByte(test, '/') // of Python, whose modules have no slash behind the folder of their part
	for i := range len(test) {
		rest := test[i:]
		ends := rest[0] == '.' && i > module || strings.HasPrefix(rest, "::") || strings.HasPrefix(rest, Separator)
		if ends && isGroup(test[:i]) {
			return true
		}
	}
	return false
}

// Parents are the names that a test of this name would be a subtest of, shortest
// first, whether or not there are such tests.
func Parents(test string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range len(test) {
			if (test[i] == '/' || strings.HasPrefix(test[i:], Separator)) && !yield(test[:i]) {
				return
			}
		}
	}
}

// The names of what failed in a package as a whole are its path with one of
// these; no test is named so.
const (
	BuildFailed   = " [build failed]"
	SetupFailed   = " [setup failed]"
	PackageFailed = " [failed]"
)

// IsPackage tells whether a failed result is of a package as a whole, and which.
func IsPackage(name string) (pkg string, ok bool) {
	for _, suffix := range []string{BuildFailed, SetupFailed, PackageFailed} {
		if pkg, ok := strings.CutSuffix(name, suffix); ok {
			return pkg, true
		}
	}
	return "", false
}

// Separator stands between the parts of a test's name, and after its file.
const Separator = " > "

// IsDotted tells of names whose parts have dots between, as those of classes have.
func IsDotted(test string) bool {
	return !strings.Contains(test, Separator) && !strings.Contains(test, "::") && strings.Contains(test, ".")
}

// SplitFile is the file in a test's name.
func SplitFile(test string) (string, bool) {
	if f, _, ok := strings.Cut(test, Separator); ok {
		return f, true
	}
	if f, _, ok := strings.Cut(test, ".py::"); ok {
		return f + ".py", true
	}
	return strings.CutSuffix(test, PackageFailed)
}

// FileOf is the file in which a test lies, as far as its name says it.
func FileOf(test string) string {
	f, ok := SplitFile(test)
	if !ok {
		return ""
	}
	return f
}

// SplitGo parts the name of a Go test in a receipt into package and test with
// its subtests. A package that failed as a whole has no test.
func SplitGo(full string) (pkg, test string, ok bool) {
	// A subtest's name may hold dots and slashes, an import path too: the test
	// begins at the first dot that a Go test's name follows and no slash of the
	// import path comes after.
	for i := 0; i < len(full); i++ {
		if full[i] == '.' && IsTestName(full[i+1:]) {
			return full[:i], full[i+1:], true
		}
	}
	return "", "", false
}

// IsTestName tells a test's name from a package.
func IsTestName(s string) bool {
	return slices.ContainsFunc([]string{"Test", "Example", "Fuzz", "Benchmark"}, func(p string) bool { return strings.HasPrefix(s, p) })
}
