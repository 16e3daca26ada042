package daemon

import (
	"os"
	"strings"
)

// bootID tells one start of a machine from another, and so machines too.
func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// pidSpace names the process numbers that this process sees.
func pidSpace() string {
	s, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return s
}

// SelfPath names the running program itself, also where its file has been
// deleted or replaced meanwhile (`go run` deletes it).
func SelfPath() (string, error) { return "/proc/self/exe", nil }
