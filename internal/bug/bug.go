// Package bug marks the places that cannot be reached. A report panics under
// test, so that it is seen, and is recorded and returned as an error in
// production, so that one wrong assumption does not take a paid run with it.
package bug

import (
	"fmt"
	"log/slog"
	"runtime"
	"testing"
)

// Errorf reports that something happened that the program takes for
// impossible. It panics in tests; elsewhere it logs the caller and returns an
// error to hand upward.
func Errorf(format string, args ...any) error {
	err := fmt.Errorf("bug: "+format, args...)
	if testing.Testing() {
		panic(err)
	}
	_, file, line, _ := runtime.Caller(1)
	slog.Error("bug", "error", err, "file", file, "line", line)
	return err
}
