// Package sandbox runs one command of a repository so that it can read only
// what is listed, write only its checkout, its caches and /tmp, reach no
// network, and leave nothing running behind (RELIABILITY 1).
//
// The sandbox is this program itself, started again in new user, mount, pid,
// network, ipc and uts namespaces: as PID 1 it builds the file system that
// commands see and waits for them. A command is forked from it into pid, mount,
// network and ipc namespaces of its own, gives up every capability, locks itself
// with Landlock and seccomp, and takes its whole tree with it when it ends; PID
// 1 counts what its processes use. PID 1 stays for the next command that is to
// see the same, ends after one that was killed, and ends with its host. No
// external tool is needed.
//
// The package does not know what a toolchain is, which caches a language has
// or what a command means: check/detect says that in a Toolchain. It keeps no
// state between commands but the overlay layers below Spec.LayerDir and, for a
// time, the sandboxes themselves.
package sandbox
