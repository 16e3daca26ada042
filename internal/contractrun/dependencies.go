package contractrun

import (
	"bytes"
	_ "embed"
	"fmt"
	"strings"
	"text/template"

	"agency/internal/agency"
	"agency/internal/deps"
	"agency/internal/ecosystem"
	"agency/internal/flow"
	"agency/internal/session"
	"agency/internal/text"
)

//go:embed dependencies_gate.md
var dependenciesGateText string

// Dependencies is a change whose dependencies are seen to.
type Dependencies struct {
	In       Facts
	Contract agency.ContractID
	Key      string // begins the keys of its steps
	Gate     string // begins the names of its gates
	Spec     deps.Spec
}

// Install sees to it that what a change needs is installed before it is
// verified. Setup runs at once where the run's configuration allows it, else a
// person decides at a gate. Refused says why it is not installed.
func (s Dependencies) Install(c flow.Ctx) (refused string, note string, err error) {
	need, err := flow.Call(c, deps.LookActivity, Path(s.Key, "look"), s.Spec)
	if err != nil || need.None() {
		return "", "", err
	}
	ask, problem := s.In.DependencyGate || !need.Allowed(), ""
	for n := 1; ; n++ {
		if ask {
			d, err := s.ask(c, need, problem, n)
			if err != nil {
				return "", "", err
			}
			if d.Verb == agency.Reject {
				return "a person rejected what " + strings.Join(need.Files, ", ") + " asks to be installed: " + changed(need), d.Note, nil
			}
		}
		out, err := flow.Call(c, deps.InstallActivity, Path(s.Key, "install", n), deps.InstallSpec{
			Run: s.In.Run, Contract: s.Contract, Tree: s.Spec.Claim, Line: need.Setup, Hosts: need.Hosts(), TimeoutSeconds: s.In.Commands.TimeoutSeconds,
		})
		switch {
		case err != nil || out.OK:
			return "", "", err
		case !out.Network: // nothing that a person at the gate could mend
			return "what " + strings.Join(need.Files, ", ") + " asks for cannot be installed: " + out.Reason, "", nil
		}
		ask, problem = true, out.Reason
	}
}

func (s Dependencies) ask(c flow.Ctx, need deps.Need, problem string, n int) (agency.Decision, error) {
	body, err := dependenciesBody(need, problem)
	if err != nil {
		return agency.Decision{}, err
	}
	summary := strings.Join(need.Files, ", ") + " changed: " + changed(need)
	if problem != "" {
		summary = "setup did not reach its hosts: " + summary
	}
	return Ask(c, agency.Gate{
		ID: GateID(s.In.Run, fmt.Sprintf("%s-%d", s.Gate, n)), RunID: s.In.Run, Kind: agency.GateDependencies, ContractID: s.Contract,
		Summary: text.FirstLine(summary, 100), Body: body, NoYes: true,
	})
}

// changed tells in a few words how packages differ.
func changed(need deps.Need) string {
	packages := need.Packages
	switch {
	case need.Unread:
		return "more packages than are read, or a file that is too large to be read"
	case len(packages) == 0:
		return "packages are not told by the file"
	}
	const few = 3
	var out []string
	for i, p := range packages {
		if i == few {
			out = append(out, fmt.Sprintf("%d more", len(packages)-few))
			break
		}
		switch {
		case p.From == "":
			out = append(out, "adds "+p.Name+" "+p.To)
		case p.To == "":
			out = append(out, "removes "+p.Name)
		default:
			out = append(out, p.Name+" "+p.From+" to "+p.To)
		}
	}
	return strings.Join(out, ", ")
}

// maxPackages is how many packages a gate lists.
const maxPackages = 60

func dependenciesBody(need deps.Need, problem string) (string, error) {
	t, err := template.New("dependencies_gate.md").Option("missingkey=error").Parse(dependenciesGateText)
	if err != nil {
		return "", err
	}
	need = text.InLines(need, text.MostLine, "Setup")
	view := struct {
		deps.Need
		Problem      string
		Listed       []ecosystem.Package
		More         int
		Reach, Write []string
	}{Need: need, Problem: text.OneLine(problem, text.MostLine), Listed: need.Packages, Reach: need.Hosts(), Write: toWrite(need)}
	view.Setup = strings.ReplaceAll(view.Setup, "\n", "\n    ")
	if len(view.Listed) > maxPackages {
		view.More, view.Listed = len(view.Listed)-maxPackages, view.Listed[:maxPackages]
	}
	var b bytes.Buffer
	if err := t.Execute(&b, view); err != nil {
		return "", err
	}
	return b.String(), nil
}

// toWrite is what agency.yaml lacks for this to need no person; empty where
// nothing.
func toWrite(need deps.Need) (lines []string) {
	if need.Proposed && need.Setup != "" {
		lines = append(lines, "commands:", "  setup: "+yamlText(need.Setup))
	}
	if hosts := need.Hosts(); len(need.Lacking) > 0 || len(hosts) == 0 {
		if len(hosts) == 0 {
			hosts = []string{"HOST"}
		}
		lines = append(lines, "sandbox:", "  setup_hosts: ["+strings.Join(hosts, ", ")+"]")
	}
	return lines
}

// yamlText writes a string so that YAML reads it as one.
func yamlText(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// dependencies is what must be installed before a claim is verified; a change
// that may not have it goes back.
func (a *claims) dependencies(c flow.Ctx, claim agency.Claim) (*session.Feedback, error) {
	refused, note, err := Dependencies{
		In: a.in, Contract: a.Contract.ID, Key: a.Key("dependencies"), Gate: fmt.Sprintf("dependencies-%s-%s", a.Contract.ID, a.nth()),
		Spec: deps.Spec{Run: a.in.Run, Contract: a.Contract.ID, Base: a.base, Claim: claim.Tree, Commands: a.in.Commands},
	}.Install(c)
	if err != nil || refused == "" {
		return nil, err
	}
	a.Met(agency.FailedDependencies, refused)
	return &session.Feedback{Attempt: a.N, Reason: refused, Note: note}, nil
}
