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
		case smallDiskArg:
			os.Exit(smallDisk(os.Args[2]))
		case hostArg:
			os.Exit(host(os.Args[2], os.Args[3], os.Args[4]))
		case companyArg:
			os.Exit(hostOfCompany(os.Args[2], os.Args[3], os.Args[4]))
		case inLimitArg:
			os.Exit(inLimit(os.Args[2]))
		}
	}
	code := m.Run()
	for _, r := range shared {
		if r, err := r(); err == nil {
			_ = r.Close()
		}
	}
	os.Exit(code)
}

func testContext() context.Context { return context.Background() }
