// Package config reads agency.yaml: it layers the defaults, the user's own
// file, the repository's file and the flags of a command, remembers where
// each value came from, and names every fault at once with line, column and
// caret (INTERFACES 2). It also decides which settings of a repository's file
// need the user's trust (RELIABILITY 3), and it is the only place of the
// program that knows environment variables, handed in as a function.
//
// It does not know what a setting does: it starts nothing, opens no provider
// and picks no price; callers map a Config to each package's own options.
package config
