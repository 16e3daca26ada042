package detect

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"agency/internal/ecosystem"
	"agency/internal/regexp"
)

// exactPin is a version with a number; others, such as lts/*, name none.
var exactPin = regexp.MustCompile(`(?:^|[a-z-])v?(\d+(?:\.\d+)*)$`)

// pinsOf are the versions that a repository's files ask for.
func pinsOf(c *ecosystem.Checkout) []ecosystem.Pin {
	var out []ecosystem.Pin
	add := func(tool, say, file string) {
		if m := exactPin.FindStringSubmatch(strings.TrimSpace(say)); m != nil {
			out = append(out, ecosystem.Pin{Tool: tool, Version: m[1], File: file})
		}
	}
	tools := toolchains()
	for _, t := range tools {
		for _, file := range t.PinFiles {
			all := c.Text(file)
			say, _, _ := strings.Cut(strings.TrimSpace(all), "\n")
			if t.Pinned != nil {
				say = cmp.Or(t.Pinned(all), say)
			}
			add(t.Tool, say, file)
		}
	}
	for _, t := range tools {
		if t.MorePins != nil {
			for _, p := range t.MorePins(c) {
				add(p.Tool, p.Version, p.File)
			}
		}
	}
	for line := range strings.Lines(c.Text(".tool-versions")) {
		w := strings.Fields(line)
		for _, t := range tools {
			if len(w) > 1 && slices.Contains(t.Names, w[0]) {
				add(t.Tool, w[1], ".tool-versions")
			}
		}
	}
	return out
}

// toolchains are those of all languages.
func toolchains() []ecosystem.Toolchain {
	var out []ecosystem.Toolchain
	for _, l := range projects {
		if l.Toolchain.Find != nil {
			out = append(out, l.Toolchain)
		}
	}
	return out
}

// OtherVersions are notes on toolchains of which the repository asks for another
// version than this machine's, which found tells as Found.Version does. Commands
// run with what is there: what it does otherwise it does on both sides.
func OtherVersions(repo fs.FS, found string) []string {
	var out []string
	c := ecosystem.NewCheckout(repo)
	tools := toolchains()
	for _, p := range pinsOf(c) {
		t := tools[slices.IndexFunc(tools, func(t ecosystem.Toolchain) bool { return t.Tool == p.Tool })]
		have := versionOf(found, t)
		if have == "" || have == p.Version || strings.HasPrefix(have, p.Version+".") {
			continue
		}
		how := "install " + p.Tool + " " + p.Version + ", and start the run where it is in PATH"
		if t.Installs != nil {
			how = t.Installs(p.Version)
		}
		out = append(out, fmt.Sprintf("%s asks for %s %s, and commands run with %s; mend: %s", p.File, p.Tool, p.Version, have, how))
	}
	for _, t := range tools {
		if t.Note != nil {
			if note := t.Note(c, versionOf(found, t)); note != "" {
				out = append(out, note)
			}
		}
	}
	return out
}

// versionOf is a tool's version among those found: "node v20.1.0", "go1.26.1 linux/amd64".
func versionOf(found string, t ecosystem.Toolchain) string {
	for part := range strings.SplitSeq(found, ", ") {
		if t.VersionIn != nil {
			if v := t.VersionIn(part); v != "" {
				return v
			}
		} else if v, ok := strings.CutPrefix(part, t.Tool+" "); ok {
			v, _, _ = strings.Cut(strings.TrimPrefix(v, "v"), " ")
			return v
		}
	}
	return ""
}
