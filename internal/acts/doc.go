// Package acts tells which files of a change act on others' machines: what runs
// or configures something where somebody pulls, opens, installs or builds the
// branch, without being asked to. A hook of git, a workflow of CI, a task of an
// editor, instructions of an agent, a script of installation.
//
// What runs because somebody names it (a Makefile, a Dockerfile) is not meant,
// nor is what decides how tests run, which verify names. One table says what
// counts, and of files that are edited every day which part of them. Only git's
// data are read, of either side.
package acts
