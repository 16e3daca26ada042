package linux

import (
	"os"
	"strings"
)

// Within says whether path is dir or lies below it.
func Within(path, dir string) bool {
	if dir == "/" || path == dir {
		return true
	}
	return strings.HasPrefix(path, dir+string(os.PathSeparator))
}
