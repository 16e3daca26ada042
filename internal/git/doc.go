// Package git runs the git command for the host, hardened (RELIABILITY 2).
//
// Every command gets an explicit GIT_DIR and GIT_WORK_TREE, an environment
// built from empty, no system or global configuration, no hooks, no fsmonitor,
// no transport, no pager and no prompt. Whatever touches files (checkout, add,
// merge) runs with a private git directory whose configuration this package
// wrote, so that filters and drivers named in a repository's configuration do
// not exist for it; a user's own git directory is opened for refs and for
// reading its configuration as data only.
//
// The package knows no run, contract or database: it is one technology and
// typed verbs over it.
package git
