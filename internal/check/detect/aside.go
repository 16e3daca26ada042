package detect

import (
	"io/fs"
	"slices"
	"strings"

	"agency/internal/check"
	"agency/internal/ecosystem"
	"agency/internal/regexp"
)

// Aside is a part that stands beside the project, such as an example, a site of
// documentation or a benchmark: nothing of the project is made from it.
type Aside struct {
	Dir, Manifest, Language string
	// Lacks is what its commands need and this machine does not have; Mend is the
	// command that brings it.
	Lacks, Mend string
}

// String says that the part is left out, why, and how to have it checked.
func (a Aside) String() string {
	s := "left out: " + a.Manifest + ": its checks do not run, for " + a.Lacks
	if a.Mend != "" {
		s += "; to include it: " + a.Mend
	}
	return s
}

// Detected is what a repository's files show.
type Detected struct {
	Commands  check.Commands
	Languages []Language
	// Left are the parts beside the project whose commands cannot run here, and
	// which Commands therefore leaves out.
	Left []Aside
}

// Detect reads which commands a repository has, as Commands does, and leaves out
// parts beside the project that lack what they need: they would keep a run from
// starting that has nothing to do with them.
func Detect(in Input) Detected {
	var d Detected
	c := ecosystem.NewCheckout(in.Repo)
	m := machine(c, in.Dir, in.Env)
	parts := findParts(c)
	beside := besides(c, parts)
	var kept []part
	for i, p := range parts {
		if beside[i] {
			if what, mend := p.lacking(m); what != "" {
				d.Left = append(d.Left, Aside{Dir: p.Dir, Manifest: p.Manifest, Language: p.Language, Lacks: what, Mend: mend})
				continue
			}
		}
		kept = append(kept, p)
	}
	d.Commands, d.Languages = commandsOf(kept)
	return d
}

// NotEntered are the parts of a checkout that have commands of their own which
// none of a run's commands starts; none where that is not certain.
func NotEntered(root fs.FS, cmds check.Commands) []Aside {
	starts := check.Starts(cmds, root)
	if len(starts) == 0 || slices.ContainsFunc(starts, func(s check.Start) bool { return !s.Known }) {
		return nil
	}
	var out []Aside
	c := ecosystem.NewCheckout(root)
	for _, p := range findParts(c) {
		bare := p.Test+p.Build+p.Typecheck+p.Lint == ""
		if p.Dir == "." || bare || slices.ContainsFunc(starts, func(s check.Start) bool { return ecosystem.Below(s.Dir, p.Dir) }) || p.member(c) {
			continue
		}
		out = append(out, Aside{Dir: p.Dir, Manifest: p.Manifest, Language: p.Language})
	}
	return out
}

// sideName are the usual names of folders for what stands beside a project: they
// tell where tests do not.
var sideName = regexp.MustCompile(`^(?:examples?|docs?|documentation|website|site|www|bench(?:es|marks?)?|demos?|samples?|playgrounds?|fuzz|tutorials?)$`)

// besides tells of each part whether it stands beside the project: no root, no
// member of a workspace, and nothing that other parts use. Where a repository has
// no part at its root, those with tests are the project, and a name such as
// examples says otherwise.
func besides(c *ecosystem.Checkout, parts []part) []bool {
	rooted := slices.ContainsFunc(parts, func(p part) bool { return p.Dir == "." })
	named := func(p part) bool { return slices.ContainsFunc(strings.Split(p.Dir, "/"), sideName.MatchString) }
	which := func(beside func(part) bool) []bool {
		out := make([]bool, len(parts))
		for i, p := range parts {
			out[i] = p.Dir != "." && (rooted || beside(p)) && !p.member(c)
		}
		return out
	}
	out := which(func(p part) bool { return named(p) || !p.tested(c) })
	if !rooted && !slices.Contains(out, false) {
		out = which(named) // nothing has tests
	}
	if !rooted && !slices.Contains(out, false) {
		return make([]bool, len(parts)) // then they are all that there is
	}
	for changed := true; changed; {
		changed = false
		for i, p := range parts {
			if out[i] {
				continue
			}
			used := usedBy(c, p.Dir)
			for k, q := range parts {
				if out[k] && slices.ContainsFunc(used, func(u string) bool { return u == q.Dir || ecosystem.Below(u, q.Dir) }) {
					out[k], changed = false, true
				}
			}
		}
	}
	return out
}

// tested tells whether a part has tests that its command runs.
func (p part) tested(c *ecosystem.Checkout) bool {
	if p.of.Tested != nil {
		return p.of.Tested(c, p.Part)
	}
	return p.Test != ""
}

// member tells whether a part is of a workspace above it.
func (p part) member(c *ecosystem.Checkout) bool {
	return slices.ContainsFunc(projects, func(l ecosystem.Project) bool { return l.Parts.Member != nil && l.Parts.Member(c, p.Dir) })
}

// usedBy are the folders that the manifests in a folder name, relative to the
// repository.
func usedBy(c *ecosystem.Checkout, dir string) []string {
	var out []string
	for _, l := range projects {
		if l.Parts.Uses != nil {
			out = append(out, l.Parts.Uses(c, dir)...)
		}
	}
	return out
}

// lacking is what a part needs and this machine does not have, as far as files
// tell it.
func (p part) lacking(m *ecosystem.Machine) (what, mend string) {
	if p.of.Program != nil {
		program := p.of.Program(p.Part)
		if _, _, err := m.Look(program); err != nil {
			return program + " is not in PATH", installs(program)
		}
	}
	if p.of.Lacks == nil {
		return "", ""
	}
	return p.of.Lacks(m, p.Part)
}
