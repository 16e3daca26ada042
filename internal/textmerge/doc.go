// Package textmerge merges two changes of one file that no three-way merge of
// lines can: imports, entries of lists, and different declarations at one
// place (docs/design.md, Workspaces and landing). It knows the text alone. Any doubt is an error, which means
// a conflict: a wrong merge costs more than one that was not made.
//
// The files are written by whoever works in the repository. Their size, and the
// work spent on them, is bounded; nothing of them runs. What comes out holds
// every line that either side added and none that either removed, and is worth
// nothing until the checks of the merged tree have passed.
package textmerge
