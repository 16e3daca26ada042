// Package config reads agency.yaml: it layers the defaults, the user's own
// file, the repository's file and the flags of a command, remembers where
// each value came from, and names every fault at once with line, column and
// caret (docs/configuration.md). It also decides which settings of a repository's file
// need the user's trust (docs/security.md). Environment variables that are settings
// are known here only, handed in as a function.
//
// It does not know what a setting does: it starts nothing, opens no provider
// and picks no price; callers map a Config to each package's own options.
package config
