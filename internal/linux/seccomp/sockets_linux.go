// Package seccomp is the filter of system calls that a command stands under for
// good. It refuses what a build or a test has no use for and the kernel's history of
// holes is made of: new namespaces and mounts, other processes' memory, keyrings,
// programs in the kernel, io_uring, userfaultfd, modules, clocks, set-user-id bits,
// and socket families but four. Calls that are newer than its list do not exist
// inside.
//
// It is told which sockets are left and whether the machine is in sight, and makes
// the program; who comes under it and when is the caller's affair.
package seccomp

// Sockets are those that are left to a command.
type Sockets int

const (
	// SocketsAll: the network is the command's own, or the user opened the
	// machine's.
	SocketsAll   Sockets = iota
	SocketsInet          // those of the internet, and pairs: none that has a path
	SocketsProxy         // TCP, to the port that Landlock leaves, and pairs
	SocketsPairs
)
