package sandbox

import (
	"context"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	Child()
	if len(os.Args) > 2 {
		switch os.Args[1] {
		case attackerArg:
			os.Exit(attacker(os.Args[2:]))
		case attemptArg:
			os.Exit(oneAttempt(os.Args[2]))
		case hostArg:
			os.Exit(host(os.Args[2]))
		}
	}
	os.Exit(m.Run())
}

func testContext() context.Context { return context.Background() }
