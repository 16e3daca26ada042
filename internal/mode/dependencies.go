package mode

import (
	"bytes"
	_ "embed"
	"fmt"
	"strings"
	"text/template"

	"agency/internal/agency"
	"agency/internal/check/detect"
	"agency/internal/deps"
	"agency/internal/flow"
	"agency/internal/session"
)

//go:embed dependencies_gate.md
var dependenciesGateText string

// supply is a change whose dependencies are seen to.
type supply struct {
	in       Input
	contract agency.ContractID
	key      string // begins the keys of its steps
	gate     string // begins the names of its gates
	spec     deps.Spec
}

// install sees to it that what a change needs is installed before it is
// verified. Setup runs at once where the run's configuration allows it, else a
// person decides at a gate. Refused says why it is not installed.
func (s supply) install(c flow.Ctx) (refused string, note string, err error) {
	if flow.Version(c, "dependencies", 1) < 1 {
		return "", "", nil
	}
	need, err := flow.Call(c, deps.LookActivity, path(s.key, "look"), s.spec)
	if err != nil || need.None() {
		return "", "", err
	}
	ask, problem := s.in.DependencyGate || !need.Allowed(), ""
	for n := 1; ; n++ {
		if ask {
			d, err := s.ask(c, need, problem, n)
			if err != nil {
				return "", "", err
			}
			if d.Verb == agency.Reject {
				return "a person rejected what " + strings.Join(need.Files, ", ") + " asks to be installed: " + changed(need.Packages), d.Note, nil
			}
		}
		out, err := flow.Call(c, deps.InstallActivity, path(s.key, "install", n), deps.InstallSpec{
			Run: s.in.Run, Contract: s.contract, Tree: s.spec.Claim, Line: need.Setup, Hosts: need.Hosts(), TimeoutSeconds: s.in.Commands.TimeoutSeconds,
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

func (s supply) ask(c flow.Ctx, need deps.Need, problem string, n int) (agency.Decision, error) {
	body, err := dependenciesBody(need, problem)
	if err != nil {
		return agency.Decision{}, err
	}
	summary := strings.Join(need.Files, ", ") + " changed: " + changed(need.Packages)
	if problem != "" {
		summary = "setup did not reach its hosts: " + summary
	}
	return ask(c, agency.Gate{
		ID: gateID(s.in.Run, fmt.Sprintf("%s-%d", s.gate, n)), RunID: s.in.Run, Kind: agency.GateDependencies, ContractID: s.contract,
		Summary: firstLine(summary), Body: body, NoYes: true,
	})
}

// changed tells in a few words how packages differ.
func changed(packages []detect.Package) string {
	if len(packages) == 0 {
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
	view := struct {
		deps.Need
		Problem      string
		Listed       []detect.Package
		More         int
		Reach, Write []string
	}{Need: need, Problem: problem, Listed: need.Packages, Reach: need.Hosts(), Write: toWrite(need)}
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
func (a *attempts) dependencies(c flow.Ctx, claim agency.Claim) (*session.Feedback, error) {
	refused, note, err := supply{
		in: a.in, contract: a.contract.ID, key: a.key("dependencies"), gate: fmt.Sprintf("dependencies-%s-%s", a.contract.ID, a.nth()),
		spec: deps.Spec{Run: a.in.Run, Contract: a.contract.ID, Base: a.base, Claim: claim.Tree, Commands: a.in.Commands},
	}.install(c)
	if err != nil || refused == "" {
		return nil, err
	}
	return &session.Feedback{Attempt: a.n, Reason: refused, Note: note}, nil
}
