package verify

import (
	"context"
	"path"
	"regexp"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/changeset"
	"agency/internal/check"
	"agency/internal/commandfiles"
	"agency/internal/git"
)

// commandFiles finds the files that decide what commands do.
type commandFiles struct {
	trees       *changeset.Trees
	base, claim agency.OID
	commands    check.Commands
	planned     map[string]bool // files that the plan's own commands name, on the base
}

// named are the files of the base that decide what the commands do.
func (c *commandFiles) named(ctx context.Context) (map[string]bool, error) {
	read, failed := c.trees.Reader(ctx, c.base)
	named := commandReader(read).OfAll(c.commands)
	return named, failed()
}

// of are the files of a tree that decide what a line does that the plan set.
func (c *commandFiles) of(ctx context.Context, tree agency.OID, line string) ([]string, error) {
	read, failed := c.trees.Reader(ctx, tree)
	out := commandReader(read).Of(line)
	return out, failed()
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
func (c *commandFiles) plan(ctx context.Context, checks []agency.Check) error {
	c.planned = map[string]bool{}
	for _, check := range checks {
		if check.Command == "" {
			continue
		}
		files, err := c.of(ctx, c.base, check.Command)
		if err != nil {
			return err
		}
		for _, f := range files {
			c.planned[f] = true
		}
	}
	return nil
}

// ownInputs are the changed files that a command reads to decide.
func (u *usage) ownInputs(ctx context.Context, changes []git.Change, line string) ([]string, error) {
	var roots []string
	for _, tree := range []agency.OID{u.base, u.claim} {
		files, err := u.files.of(ctx, tree, line)
		if err != nil {
			return nil, err
		}
		for _, p := range files {
			m, err := u.matterIn(ctx, u.base, p)
			if err != nil {
				return nil, err
			}
			if m != ofProduct || inTools(p) {
				roots = append(roots, p)
			}
		}
	}
	slices.Sort(roots)
	read := map[string]bool{}
	for _, p := range slices.Compact(roots) {
		if err := u.files.follow(ctx, p, read); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(pathsOf(changes), func(p string) bool { return !read[p] }), nil
}

// inTools tells whether a path lies in a folder of programs that are no part of
// what is delivered.
func inTools(p string) bool {
	return slices.ContainsFunc(strings.Split(path.Dir(p), "/"), func(d string) bool {
		return slices.Contains([]string{"scripts", "script", "tools", "ci", ".ci", "hack"}, d)
	})
}

// lists are ways to read whatever a folder holds.
var lists = regexp.MustCompile(`\bglob\b|\brglob\b|\biglob\b|\blistdir\b|\bscandir\b|\biterdir\b|\bos\.walk\b|\breaddir|\bopendir\b|\bReadDir\b|\bread_dir\b|\bWalkDir\b|\bFiles\.(?:list|walk)\b|/\*|\*\.\w`)

// follow gathers a script and what of its own folder it loads, names or lists,
// and what that does in turn. In the root of the repository it is alone.
func (c *commandFiles) follow(ctx context.Context, script string, read map[string]bool) error {
	below := path.Dir(script) + "/"
	var near []string
	known := map[string]bool{}
	for _, tree := range []agency.OID{c.base, c.claim} {
		entries, err := c.trees.List(ctx, tree)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if strings.HasPrefix(e.Path, below) && !known[e.Path] && len(near) < maxNear {
				known[e.Path] = true
				near = append(near, e.Path)
			}
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
			text, err := c.trees.Text(ctx, tree, p)
			if err != nil {
				return err
			}
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
	return nil
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
