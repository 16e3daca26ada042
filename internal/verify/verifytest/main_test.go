package verifytest

import (
	"os"
	"testing"

	"agency/internal/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Child()
	os.Exit(m.Run())
}
