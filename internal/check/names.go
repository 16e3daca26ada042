package check

import (
	"iter"
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
		ends := rest[0] == '.' && i > module || strings.HasPrefix(rest, "::") || strings.HasPrefix(rest, between)
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
			if (test[i] == '/' || strings.HasPrefix(test[i:], between)) && !yield(test[:i]) {
				return
			}
		}
	}
}
