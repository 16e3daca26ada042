package verify

import (
	"context"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"agency/internal/agency"
	"agency/internal/awareness"
	"agency/internal/ecosystem"
	"agency/internal/git"
)

// Code of languages that are not read cannot be taken out of a claim, and what it
// knows of its tests is looked for in its text alone.

// unreadEndings are those of sources in such languages.
var unreadEndings = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for _, e := range strings.Fields(`sh bash zsh ksh fish c h cc cpp cxx hh hpp m mm rb php pl pm lua cs fs vb swift scala groovy clj ex exs erl hs ml r jl dart
		nim zig cr d pas tcl awk ps1 f90 ada adb v sv vhd lisp el scm`) {
		out["."+e] = true
	}
	return out
})

// isUnread tells of a source of such a language.
func isUnread(p string) bool {
	return unreadEndings()[strings.ToLower(path.Ext(p))] && languageOf(p) == ""
}

// changesUnread tells whether the product's code that changed is of such languages,
// be it in part.
func (s sides) changesUnread() bool {
	return slices.ContainsFunc(s.product, func(c git.Change) bool { return isUnread(c.Path) })
}

// unreadMarks are ways in which such a source knows of its tests or decides their
// results. A program by itself may end.
var unreadMarks = sync.OnceValue(func() []ecosystem.Mark {
	re := regexp.MustCompile
	return []ecosystem.Mark{
		{Form: re(`\bexit\b\s*\(?\s*0\b|\b_exit\b|\bquick_exit\b|\bexit\s*\(\s*EXIT_SUCCESS|\bexit!`), Word: "ends the process", Program: true},
		{Form: re(`__attribute__\s*\(\s*\(\s*(?:con|de)structor|\batexit\b|\bat_exit\b|\btrap\b[^\n]*\b(?:EXIT|0)\b|\bregister_shutdown_function\b`), Word: "acts at the process's end"},
		{Form: re(`["'\s](?:not )?ok \d|["']1\.\.\d|TAP version \d|<testsuites?\b|<testcase\b|\b\d+ examples?, 0 failures`), Word: "prints like a test run"},
		{Form: re(`\bPPID\b|\bgetppid\b|/proc/|["']/?proc/?["']|\bps\s+-|\bBASH_SOURCE\b|\bFUNCNAME\b|\bcaller\b|\bcaller_locations\b|\bdebug_backtrace\b|\bbacktrace\s*\(|\$PROGRAM_NAME\b`), Word: "looks at who runs it"},
		{Form: re(`\$\{?0\b`), Word: "looks at who runs it", Unless: re(`(?i)usage|basename|dirname`), Program: true},
	}
})

// startsItself is how a source says that it is a program.
var startsItself = regexp.MustCompile(`\A#!|\bmain\s*\(|__FILE__\s*==\s*\$0`)

// unread names what the change's product in such languages newly shows.
func (j *job) unread(ctx context.Context, f *facts) (out []agency.Weakening) {
	left := maxSourcesSum
	for _, c := range f.changes {
		if !isUnread(c.Path) || c.Status == 'D' || left <= 0 || j.usage.matterOf(ctx, c) != ofProduct {
			continue
		}
		before, after := j.trees.Sides(ctx, c)
		left -= len(before) + len(after)
		program := startsItself.Match(after)
		for _, m := range unreadMarks() {
			if m.Program && program {
				continue
			}
			if now := m.Find(string(after)); len(now) > len(m.Find(string(before))) {
				out = append(out, agency.Weakening{Kind: agency.WeakForging, Name: c.Path, Detail: m.Word})
			}
		}
	}
	return out
}

// found are the places where a source shows a mark.
func found(m ecosystem.Mark, text string) (out []awareness.Finding) {
	for _, at := range m.Find(text) {
		from := strings.LastIndexByte(text[:at], '\n') + 1
		line, _, _ := strings.Cut(text[from:], "\n")
		out = append(out, awareness.Finding{Word: m.Word, Line: 1 + strings.Count(text[:at], "\n"), Code: strings.TrimSpace(line)})
	}
	return out
}

// anywhere are marks of every language.
var anywhere = sync.OnceValue(func() []ecosystem.Mark {
	return []ecosystem.Mark{
		{Form: regexp.MustCompile(`/proc/(?:self|thread-self|\d|[%$\{])|['"]/?proc/?['"]`), Word: "looks at its own process", Tests: true},
		{Form: regexp.MustCompile(`\bAGENCY_(?:REPORT|COVERAGE)\b|\bagency_(?:pytest|unittest|report)\b`), Word: "knows who verifies it", Tests: true},
	}
})

// marksBy are the ways by which the text of a source can know of its tests.
func marksBy(p string) []ecosystem.Mark {
	if own := readAs(p).Forms.Marks; own != nil {
		return slices.Concat(own(), anywhere())
	}
	return anywhere()
}
