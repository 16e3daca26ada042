// Package linux asks the kernel what more than one of its sub-packages needs:
// processes as /proc tells of them, files opened by what they are and not by where
// a link leads, numbers that package unix does not name.
//
// Each sub-package is one technology by which a process is confined, counted or
// forked. None knows the product: no repository, command or limit of a
// configuration; package sandbox says what of them holds for whom.
package linux
