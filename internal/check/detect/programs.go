package detect

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/bounded"
	"agency/internal/check"
	"agency/internal/ecosystem"
)

// AbsentPrograms refuses a base whose test or setup command starts a program
// that the sandbox does not have, by the error that says what to install, and
// which other commands cannot run. What is missing for the build, the types or
// the linter alone is a note each: such a command is red before and after.
func AbsentPrograms(ctx context.Context, b Base) (notes []string, err error) {
	lacks, notes, err := Lacking(ctx, b)
	var refused, noted []Lack
	for _, l := range lacks {
		if l.Refused() {
			refused = append(refused, l)
			continue
		}
		if l.Perhaps {
			notes = append(notes, fmt.Sprintf("%s may be unable to run, unless the build brings what is missing: %s; mend: %s", l.command(), l.What, l.Mend))
			continue
		}
		noted = append(noted, l)
		notes = append(notes, fmt.Sprintf("%s cannot run, and is red before and after: %s; mend: %s", l.command(), l.What, l.Mend))
	}
	if err != nil || len(refused) == 0 {
		return notes, err
	}
	return nil, refusal(append(refused, noted...))
}

// Lacking are the programs that commands of a base start and the sandbox does not
// have, in the order of the commands; none of them is run. The notes are of programs
// that are there in another version than the base asks for.
func Lacking(ctx context.Context, b Base) (lacks []Lack, notes []string, err error) {
	needs := check.Needs(b.Commands, bounded.FS(b.Root))
	m := b.machine()
	if !slices.ContainsFunc(needs, func(n check.Need) bool { return !required(n.Name) && !unjudged(m, n) }) {
		return nil, nil, nil // without what is required there is no toolchain either
	}
	absent, err := b.probe(ctx, m, needs)
	if err != nil {
		return nil, nil, err
	}
	for i, n := range needs {
		if unjudged(m, n) {
			continue
		}
		l := Lack{Need: n}
		for _, of := range programs() {
			if of.Other != nil {
				if note := of.Other(ctx, m, n.Need); note != "" && !slices.Contains(notes, note) {
					notes = append(notes, note)
				}
			}
			if of.Fetches != nil && l.What == "" {
				l.What, l.Mend = of.Fetches(ctx, m, n.Need)
			}
		}
		if l.What == "" && absent[i] && !runs(absent, n.After) {
			l.What, l.Mend = lacking(m, n)
			l.Perhaps = n.Doubt || runs(absent, n.Built)
		}
		if l.What != "" {
			lacks = append(lacks, l)
		}
	}
	return lacks, notes, nil
}

// Lack is a need that is not met: what is missing, and what to do. Perhaps the build brings
// it: nobody knows before it has run.
type Lack struct {
	check.Need
	What, Mend string
	Perhaps    bool
}

// Refused tells whether no run begins without it.
func (l Lack) Refused() bool {
	return !l.Perhaps && !l.Own && (l.Command == agency.CheckTest || l.Command == agency.CheckSetup)
}

func (l Lack) command() string { return fmt.Sprintf("commands.%s `%s`", l.Command, l.Line) }

// runs tells whether any of some needs is there.
func runs(absent []bool, needs []int) bool {
	return slices.ContainsFunc(needs, func(by int) bool { return !absent[by] })
}

// refusal says all that is missing, each thing once, and which commands cannot
// run for it.
func refusal(lacks []Lack) error {
	var says, mends []string
	for i, l := range lacks {
		said := slices.ContainsFunc(lacks[:i], func(o Lack) bool { return o.Same(l.Need) })
		switch {
		case i == 0:
			says = append(says, l.command()+" cannot run: "+l.What)
		case said && l.Command == lacks[0].Command:
		case said:
			says = append(says, "nor can "+l.command())
		case l.Command == lacks[0].Command:
			says = append(says, l.What)
		default:
			says = append(says, l.command()+" cannot run either: "+l.What)
		}
		if !said && !slices.Contains(mends, l.Mend) {
			mends = append(mends, l.Mend)
		}
	}
	return agency.Errorf(agency.KindInvalid, "%s", strings.Join(says, "; ")).WithMend("%s", strings.Join(mends, "; "))
}

// programs are how the programs of each language are found.
func programs() []ecosystem.Programs {
	var out []ecosystem.Programs
	for _, l := range projects {
		out = append(out, l.Programs)
	}
	return out
}

// installs says how a program comes onto a machine; empty: nobody knows.
func installs(name string) string {
	for _, of := range programs() {
		if how := of.Install[name]; how != "" {
			return how
		}
	}
	return ""
}

// required tells whether a program is one without which there is no run.
func required(name string) bool {
	return slices.ContainsFunc(projects, func(l ecosystem.Project) bool { return l.Toolchain.Required && l.Toolchain.Tool == name })
}

// unjudged leaves out what may come from elsewhere than the packages that are
// installed: over the network, or from where nobody looks.
func unjudged(m *ecosystem.Machine, n check.Need) bool {
	if n.Kind != check.NeedBin {
		return false
	}
	return n.In != "" && m.Online || slices.ContainsFunc(programs(), func(of ecosystem.Programs) bool { return of.Elsewhere != nil && of.Elsewhere(m, n.Need) })
}

// probe asks a shell in the sandbox, on the base, for what is not there: of each
// need whether it is missing.
func (b Base) probe(ctx context.Context, m *ecosystem.Machine, needs []check.Need) ([]bool, error) {
	first := make([]int, len(needs)) // of those that are the same
	var script strings.Builder
	for i, n := range needs {
		if first[i] = slices.IndexFunc(needs, n.Same); first[i] == i && !unjudged(m, n) {
			fmt.Fprintf(&script, "(cd %s >/dev/null 2>&1 || exit 0; %s) || echo absent:%d:\n", ecosystem.Quote("./"+n.Dir), there(n), i)
		}
	}
	res, err := b.run(ctx, script.String(), "programs of the commands")
	if err != nil {
		return nil, err
	}
	absent := make([]bool, len(needs))
	for i := range needs {
		absent[i] = strings.Contains("\n"+string(res.Output), fmt.Sprintf("\nabsent:%d:\n", first[i]))
	}
	return absent, nil
}

// there is the shell that tells whether a need is met.
func there(n check.Need) string {
	name := ecosystem.Quote(n.Name)
	if n.Kind == check.NeedFile { // that was looked for
		return "false"
	}
	found := "command -v " + name + " >/dev/null 2>&1"
	if strings.Contains(n.Name, "/") {
		found = "test -x " + name
	}
	for _, of := range programs() {
		switch {
		case n.Kind == check.NeedModule && of.Module != nil:
			return of.Module(n.Need)
		case n.Kind == check.NeedBin && of.Package != nil:
			found += of.Package(n.Need)
		}
	}
	return found
}

// lacking says what is missing, and how to mend it.
func lacking(m *ecosystem.Machine, n check.Need) (what, mend string) {
	by := ""
	if n.Script != "" {
		by = ", which " + n.Script + " starts,"
	}
	switch {
	case n.Kind == check.NeedFile:
		return n.What, n.Mend
	case n.Kind == check.NeedModule:
		for _, of := range programs() {
			if of.LacksModule != nil {
				what, mend = of.LacksModule(m, n.Need)
			}
		}
		return what, orSetup(mend)
	case strings.Contains(n.Name, "/"):
		if m.Exists(path.Join(n.Dir, n.Name)) {
			return n.Name + " is not executable", "git update-index --chmod=+x " + ecosystem.Quote(path.Join(n.Dir, n.Name)) + ", and commit"
		}
		return fmt.Sprintf("%s is not there in %s", n.Name, ecosystem.PlaceName(n.Dir)), orSetup("install what brings it")
	}
	if at, _, err := m.Look(n.Name); err == nil {
		return fmt.Sprintf("%s%s is %s, which the sandbox does not show", n.Name, by, at),
			fmt.Sprintf("set sandbox.read: [%s] and call it by its path in commands.%s, or install it in /usr/local/bin", filepath.Dir(at), n.Command)
	}
	how := installs(n.Name)
	for _, of := range programs() {
		if of.LacksProgram == nil {
			continue
		}
		if what, mend = of.LacksProgram(m, n.Need, by, n.Kind == check.NeedBin && how == ""); what != "" {
			return what, orSetup(mend)
		}
	}
	if how == "" {
		how = "install " + n.Name + " or add its folder to PATH"
	}
	return fmt.Sprintf("%s%s is not in PATH", n.Name, by), fmt.Sprintf("%s, or set commands.%s in agency.yaml to what this machine can run", how, n.Command)
}

// orSetup adds the way that leaves it to the run.
func orSetup(mend string) string {
	return mend + ", or have the run do it: commands.setup in agency.yaml"
}
