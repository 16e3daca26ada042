// Package supervisor is the process that a sandbox consists of: this program itself,
// started again. In the full tier it is PID 1 of new namespaces, which builds what
// commands see (package rootfs); in the landlock tier a subreaper in the host's own.
// It runs the requests of its host one after the other: forks the command, which
// gives up every capability and locks itself with Landlock and seccomp, counts what
// its processes use, and ends them all when the command ends.
//
// Both ends of the socket between host and supervisor are described here (Plan,
// Request, Report), how a host starts one (Command) and finds what one that was
// killed has left (Left), and what the walls leave open (Gaps). What may be shown, to
// whom and how long a supervisor waits for the next command is its host's to say
// (package sandbox).
package supervisor

// ProxyPort is where a command finds the way out to hosts, on the loopback address
// of its own network namespace.
const ProxyPort = 18443
