//go:build linux && !amd64 && !arm64

package seccomp

// Arguments are of a call that fails: the filter's numbers are known for two machines.
func Arguments(Sockets, bool, func([]byte) uintptr) (what string, args []uintptr) {
	return "seccomp is not known for this processor", []uintptr{^uintptr(0), 0, 0}
}
