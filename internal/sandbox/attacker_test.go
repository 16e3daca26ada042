package sandbox

import (
	"fmt"
	"os"
)

// attacker runs inside the sandbox as an enemy. It exits with 0 when it was
// stopped, 1 when it got through, 2 when it does not know what to do.
func attacker(args []string) int {
	f, ok := attackers()[args[0]]
	if !ok {
		fmt.Println("no attacker", args[0])
		return 2
	}
	err := f(args[1:])
	if err == nil {
		fmt.Println("got through:", args)
		return 1
	}
	fmt.Println("stopped:", err)
	return 0
}

func attackers() map[string]func([]string) error {
	return map[string]func([]string) error{
		"read": func(a []string) error { _, err := os.ReadFile(a[0]); return err },
	}
}
