//go:build !unix

package beneath

// Foreign is nobody's concern where there is no root.
func Foreign(...string) (at, owner string) { return "", "" }
