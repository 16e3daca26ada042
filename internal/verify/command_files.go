package verify

import (
	"context"
	"path"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/changeset"
	"agency/internal/check"
	"agency/internal/commandfiles"
	"agency/internal/ecosystem"
	"agency/internal/git"
	"agency/internal/regexp"
)

// commandFiles finds the files that decide what commands do.
type commandFiles struct {
	trees       *changeset.Trees
	base, claim agency.OID
	commands    check.Commands
	planned     map[string]bool // files that the plan's own commands name, on the base
}

// named are the files of the base that decide what the commands do.
func (c *commandFiles) named(ctx context.Context) map[string]bool {
	return c.reader(ctx, c.base).OfAll(c.commands)
}

// reader reads the commands' files of a tree.
func (c *commandFiles) reader(ctx context.Context, tree agency.OID) *commandfiles.Reader {
	return commandReader(func(name string) []byte { return c.trees.Text(ctx, tree, name) })
}

func commandReader(read func(name string) []byte) *commandfiles.Reader {
	return &commandfiles.Reader{
		Read: read, IsTest: isTestFile, IsSource: func(p string) bool { return languageOf(p) != "" },
		IsTestMatter: func(p string) bool { return matterOf(p) != ofProduct || inSupport(p) },
	}
}

// A check that the plan set is worth what it reads: its script, and what stands
// with it. What the run edited of that is the run's own word.

// plan finds the files that the checks of the plan name.
func (c *commandFiles) plan(ctx context.Context, checks []agency.Check) {
	c.planned = map[string]bool{}
	for _, check := range checks {
		for _, f := range c.reader(ctx, c.base).Of(check.Command) {
			c.planned[f] = true
		}
	}
}

// ownInputs are the changed files that a command reads to decide.
func (u *usage) ownInputs(ctx context.Context, changes []git.Change, line string) []string {
	var roots []string
	for _, tree := range []agency.OID{u.base, u.claim} {
		for _, p := range u.files.reader(ctx, tree).Of(line) {
			if u.matterIn(ctx, u.base, p) != ofProduct || inTools(p) {
				roots = append(roots, p)
			}
		}
	}
	slices.Sort(roots)
	read := map[string]bool{}
	for _, p := range slices.Compact(roots) {
		u.files.follow(ctx, p, read)
	}
	return slices.DeleteFunc(pathsOf(changes), func(p string) bool { return !read[p] })
}

// inTools tells whether a path lies in a folder of programs that are no part of
// what is delivered.
func inTools(p string) bool {
	return ecosystem.UnderFolder(p, "scripts", "script", "tools", "ci", ".ci", "hack")
}

// lists are ways to read whatever a folder holds.
var lists = regexp.MustCompile(`\bglob\b|\brglob\b|\biglob\b|\blistdir\b|\bscandir\b|\biterdir\b|\bos\.walk\b|\breaddir|\bopendir\b|\bReadDir\b|\bread_dir\b|\bWalkDir\b|\bFiles\.(?:list|walk)\b|/\*|\*\.\w`)

// follow gathers a script and what of its own folder it loads, names or lists,
// and what that does in turn. In the root of the repository it is alone.
func (c *commandFiles) follow(ctx context.Context, script string, read map[string]bool) {
	below := path.Dir(script) + "/"
	var near []string
	known := map[string]bool{}
	for _, e := range slices.Concat(c.trees.List(ctx, c.base), c.trees.List(ctx, c.claim)) {
		if strings.HasPrefix(e.Path, below) && !known[e.Path] && len(near) < maxNear {
			known[e.Path] = true
			near = append(near, e.Path)
		}
	}
	queue := []string{script}
	for len(queue) > 0 {
		p := queue[0]
		if queue = queue[1:]; read[p] {
			continue
		}
		read[p] = true
		for _, tree := range []agency.OID{c.base, c.claim} {
			text := c.trees.Text(ctx, tree, p)
			if languageOf(p) == "" && !strings.HasPrefix(string(text), "#!") && path.Ext(p) != ".sh" {
				continue // data says nothing
			}
			n := namingOf(p, text)
			for _, other := range near {
				if !read[other] && (n.uses(other) || speaksOf(n, string(text), other)) {
					queue = append(queue, other)
				}
			}
		}
	}
}

// maxNear bounds the files beside a script that are looked at.
const maxNear = 2000

// speaksOf tells whether the text of a script speaks of a file, or of whatever
// lies there.
func speaksOf(n naming, text, p string) bool {
	base := path.Base(p)
	if strings.Contains(text, base) && regexp.MustCompile(`(?:^|["'`+"`"+`/\s=])`+regexp.QuoteMeta(base)+`(?:$|["'`+"`"+`\s);,])`).MatchString(text) {
		return true
	}
	return languageOf(p) == "" && lists.MatchString(n.text)
}
