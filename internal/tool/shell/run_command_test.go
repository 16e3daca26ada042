package shell

import (
	"testing"
	"time"

	"agency/internal/tool"
)

func TestShow(t *testing.T) {
	o := tool.Output{ExitCode: 137, Cause: "timeout", Text: []byte("so far\n"), Dropped: 20000}
	if got, want := show(o, 5*time.Second), "exit code 137\nended by: timeout after 5s; it must end by itself, or needs a larger timeout_seconds\n[19 KB of output left out of the middle]\nso far\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
