package check

import "strings"

// InGroup tells whether a test belongs to what IsPackage names: a package of
// Go, a file, a module, a class or a target. When it fails as a whole its tests
// did not run, which is no deletion.
func InGroup(test, group string) bool {
	if pkg, _, ok := SplitGo(test); ok && pkg == group {
		return true
	}
	rest, ok := strings.CutPrefix(test, group)
	if !ok {
		return false
	}
	if strings.HasPrefix(rest, ".") { // of Python, whose modules have no slash behind the folder of their part
		return !strings.Contains(rest, "/")
	}
	return strings.HasPrefix(rest, "::") || strings.HasPrefix(rest, between)
}

// Within tells whether a test is a subtest of another.
func Within(test, parent string) bool {
	rest, ok := strings.CutPrefix(test, parent)
	return ok && (strings.HasPrefix(rest, "/") || strings.HasPrefix(rest, between))
}
