// Package rootfs builds the root file system that the commands of a sandbox see,
// in a mount namespace of its own: a tmpfs on which a Plan's items are mounted, of
// the system only what is listed, and of what is only read overlays, in which no
// socket or pipe of the host answers. What stays the same for all commands is built
// once (Build); what is fresh for each, in its own namespace (View.ForCommand).
//
// All is done by open files: what is shown is opened before the new root covers
// anything, and no path of the host is looked up after. The package decides nothing:
// what a Plan names may be shown (package sandbox).
package rootfs

// Hidden is where a sandbox keeps what its overlays are made of. No command sees it.
const Hidden = "/run/agency/hidden"

// Home is the command's empty home folder.
const Home = "/tmp/home"
