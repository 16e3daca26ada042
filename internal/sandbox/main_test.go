package sandbox

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	Child()
	if len(os.Args) > 2 && os.Args[1] == attackerArg {
		os.Exit(attacker(os.Args[2:]))
	}
	os.Exit(m.Run())
}
