package verify

import (
	"context"
	"path"
	"regexp"
	"slices"
	"strings"

	"agency/internal/agency"
)

// A check that the plan set is worth what it reads: its script, and what stands
// with it. What the run edited of that is the run's own word.

// planned tells whether a check that the plan set runs a file.
func (j *job) planned(p string) bool { return j.scripts[p] }

// plannedScripts finds the files that the checks of the plan name, on the base.
func (j *job) plannedScripts(ctx context.Context) error {
	j.scripts = map[string]bool{}
	for _, c := range checksOf(j.task)[:plannedChecks(j.task)] {
		if c.Command == "" {
			continue
		}
		files, err := j.filesOf(ctx, j.task.base, c.Command)
		if err != nil {
			return err
		}
		for _, f := range files {
			j.scripts[f] = true
		}
	}
	return nil
}

// ownInputs are the changed files that a command reads to decide.
func (j *job) ownInputs(ctx context.Context, f *facts, line string) ([]string, error) {
	var roots []string
	for _, tree := range []agency.OID{j.task.base, j.task.claim} {
		files, err := j.filesOf(ctx, tree, line)
		if err != nil {
			return nil, err
		}
		for _, p := range files {
			m, err := j.matterIn(ctx, j.task.base, p)
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
		if err := j.follow(ctx, p, read); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(pathsOf(f.changes), func(p string) bool { return !read[p] }), nil
}

// inTools tells whether a path lies in a folder of programs that are no part of
// what is delivered.
func inTools(p string) bool {
	return slices.ContainsFunc(strings.Split(path.Dir(p), "/"), func(d string) bool {
		switch d {
		case "scripts", "script", "tools", "ci", ".ci", "hack":
			return true
		}
		return false
	})
}

// lists are ways to read whatever a folder holds.
var lists = regexp.MustCompile(`\bglob\b|\brglob\b|\biglob\b|\blistdir\b|\bscandir\b|\biterdir\b|\bos\.walk\b|\breaddir|\bopendir\b|\bReadDir\b|\bread_dir\b|\bWalkDir\b|\bFiles\.(?:list|walk)\b|/\*|\*\.\w`)

// follow gathers a script and what of its own folder it loads, names or lists,
// and what that does in turn. In the root of the repository it is alone.
func (j *job) follow(ctx context.Context, script string, read map[string]bool) error {
	below := path.Dir(script) + "/"
	var near []string
	known := map[string]bool{}
	for _, tree := range []agency.OID{j.task.base, j.task.claim} {
		entries, err := j.tree(ctx, tree)
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
		for _, tree := range []agency.OID{j.task.base, j.task.claim} {
			text, err := j.textIn(ctx, tree, p)
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
