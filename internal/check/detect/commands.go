package detect

import (
	"io/fs"
	"slices"

	"agency/internal/check"
	"agency/internal/ecosystem"
)

// Language is one that a repository's manifests show.
type Language struct {
	Name     string // "Go"
	Manifest string // the file that shows it, relative to the repository
	// Note says what is missing: no command is known, or tests count by the exit
	// code of their command only.
	Note string
}

// part is a folder with a manifest, and what is known of its language.
type part struct {
	ecosystem.Part
	of ecosystem.Parts
}

// Commands reads which commands a repository has: those of each of its parts,
// each started in the part's own folder. Languages lists what was recognised;
// with none the commands are empty.
func Commands(root fs.FS) (check.Commands, []Language) {
	return commandsOf(findParts(ecosystem.NewCheckout(root)))
}

func commandsOf(parts []part) (check.Commands, []Language) {
	var languages []Language
	var cmds check.Commands
	for _, p := range parts {
		if p.Test == "" {
			p.Note = noTests
		}
		if !slices.ContainsFunc(languages, func(l Language) bool { return l.Name == p.Language }) {
			languages = append(languages, Language{Name: p.Language, Manifest: p.Manifest, Note: p.Note})
		}
		for _, c := range []struct {
			to   *string
			line string
		}{{&cmds.Test, p.Test}, {&cmds.Lint, p.Lint}, {&cmds.Typecheck, p.Typecheck}, {&cmds.Build, p.Build}} {
			*c.to = ecosystem.JoinLines(*c.to, ecosystem.InDir(p.Dir, c.line))
		}
	}
	if cmds != (check.Commands{}) {
		cmds.TimeoutSeconds = int(check.DefaultTimeout.Seconds())
	}
	return cmds, languages
}

// noTests is the note of a part of which no test command is known.
const noTests = "no test command is known: set commands in agency.yaml"

// findParts finds the parts of a repository, by language, the root first.
func findParts(c *ecosystem.Checkout) []part {
	var parts []part
	named := func(line string) bool { return check.Named(line, c.FS) }
	for _, l := range projects {
		if l.Parts.Find == nil || l.Parts.Fallback && len(parts) > 0 {
			continue
		}
		for _, p := range l.Parts.Find(c, named) {
			parts = append(parts, part{p, l.Parts})
		}
	}
	return parts
}
