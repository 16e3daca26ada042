// Package sandbox runs one command of a repository so that it can read only
// what is listed, write only its checkout, its caches and /tmp, reach no
// network, and leave nothing running behind (RELIABILITY 1).
//
// The sandbox is this program itself, started again in new user, mount, pid,
// network, ipc and uts namespaces: as PID 1 it builds the file system that the
// command sees, gives up every capability, locks itself with Landlock and
// seccomp, forks the command, counts what the command's processes use, and
// takes the whole tree with it when it ends. No external tool is needed.
//
// The package does not know what a toolchain is, which caches a language has
// or what a command means: check/detect says that in a Toolchain. It keeps no
// state between commands but the overlay layers below Spec.LayerDir.
package sandbox
