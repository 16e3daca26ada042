package resources

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/backlog"
	"agency/internal/check"
	"agency/internal/config"
	"agency/internal/host"
	"agency/internal/regexp"
	"agency/internal/registry"
	"agency/internal/store"
	"agency/internal/text"
	"agency/internal/tool/team"
)

// PlanFaults names everything that is wrong with a plan that a person gives a
// run of a configuration: by the rules to which a manager's plan is held.
// Base is what is known of the repository; nil where that is looked at later.
func PlanFaults(c config.Config, p agency.Plan, base *agency.PlanBase) []agency.PlanFault {
	rules := rulesOf(c, nil, "", agency.RoleProjectManager)
	rules.Base = base
	faults := agency.ValidatePlan(p.Contracts, rules)
	if m := p.RetryBudgetMultiplier; m != 0 {
		if err := agency.CheckMultiplier(m); err != nil {
			faults = append(faults, agency.PlanFault{What: err.Error()})
		}
	}
	if n := len(p.Contracts); !c.Mode.Team() && n > 1 {
		faults = append(faults, agency.PlanFault{What: fmt.Sprintf("the plan has %d contracts, the most in mode %s is 1", n, c.Mode)})
	}
	for _, one := range p.Contracts {
		faults = append(faults, team.DraftFaults(one)...)
	}
	return faults
}

// checkPlan refuses a plan with faults. Whoever reads it from a file has named
// their places; this is for all others.
func checkPlan(c config.Config, p agency.Plan, base *agency.PlanBase) error {
	if c.Mode == agency.ModeSingle || c.Mode == agency.ModeTiered { // there a visionary plans workstreams
		return agency.Errorf(agency.KindInvalid, "mode %s takes no plan of contracts", c.Mode).WithMend("agency run --mode multi_agent FILE")
	}
	faults := PlanFaults(c, p, base)
	if len(faults) == 0 {
		return nil
	}
	lines := make([]string, 0, len(faults))
	for i, f := range faults {
		if i == maxFaults {
			lines = append(lines, "and "+agency.Things(len(faults)-i, "more fault", "more faults"))
			break
		}
		lines = append(lines, f.String())
	}
	return agency.Errorf(agency.KindInvalid, "the plan is faulty: %s", strings.Join(lines, "; "))
}

// maxFaults bounds what is told of a plan that is something else entirely.
const maxFaults = 50

// planOnBase holds a request's plan to what the run begins with.
func (pr *Preparer) planOnBase(ctx context.Context, r api.RunRequest, c host.RunConfig) error {
	if r.Plan == nil {
		return nil
	}
	base, err := pr.Runs.planBase(ctx, r.ID, r.Repo, c.Config)
	if err != nil {
		return err
	}
	return checkPlan(c.Config, *r.Plan, base)
}

// planBase is what a plan is held to of a run's base, read when it is asked for first. What
// cannot be read is no fault of a plan: those who need it say so.
func (r *Runs) planBase(ctx context.Context, id agency.RunID, repo string, c config.Config) (*agency.PlanBase, error) {
	run, err := r.spaces.Run(ctx, id)
	if err != nil {
		return nil, err
	}
	objects := run.Dir().Objects()
	files := sync.OnceValue(func() map[string]bool {
		entries, err := objects.Tree(ctx, run.BaseTree())
		if err != nil {
			return nil
		}
		has := make(map[string]bool, len(entries))
		for _, e := range entries {
			has[e.Path] = true
		}
		return has
	})
	feature := func(id agency.FeatureID) string {
		if has := files(); has == nil {
			return ""
		} else if !has[backlog.Name] {
			return fmt.Sprintf("names the feature %s, and the commit that the run starts from has no %s: leave feature_id out, or commit one that has it", id, backlog.Name)
		}
		raw, err := objects.Blob(ctx, run.BaseTree(), backlog.Name, maxBacklog)
		if err != nil {
			return ""
		}
		list, err := backlog.Parse(raw, 0)
		if err != nil {
			return ""
		}
		if _, err := list.Find(id); err != nil {
			ids := make([]string, len(list.Features))
			for i, f := range list.Features {
				ids[i] = string(f.ID)
			}
			return fmt.Sprintf("names the feature %s, which %s does not have: leave feature_id out, or name one of %s", id, backlog.Name, text.Few(ids, fewPaths))
		}
		return ""
	}
	return &agency.PlanBase{
		Has:     func(f string) (has, known bool) { all := files(); return all[f], all != nil },
		Feature: feature, NoTests: strings.TrimSpace(c.Commands.Test) == "",
		Talent: r.talentFault,
		Nameless: sync.OnceValue(func() string {
			read := func(name string) (string, bool, error) {
				if !files()[name] {
					return "", false, nil
				}
				text, err := objects.Blob(ctx, run.BaseTree(), name, maxScript)
				return string(text), true, err
			}
			if files() != nil && runsNothingKnown(c.Commands.Test, read) {
				return c.Commands.Test
			}
			return r.nameless(ctx, repo, c.Commands.Test)
		}),
	}, nil
}

// runsNothingKnown tells whether no word of a command, nor of the repository's files that it
// names, nor of those that these name, can be a program that knows its tests by name: read
// gives a file's text, and whether there is one. What cannot be read may run anything.
func runsNothingKnown(command string, read func(name string) (text string, there bool, err error)) bool {
	type script struct{ dir, text string }
	scripts, seen := []script{{".", command}}, map[string]bool{}
	for ; len(scripts) > 0; scripts = scripts[1:] {
		s := scripts[0]
		if mayName.MatchString(s.text) || len(seen) > maxScripts {
			return false
		}
		for _, word := range strings.FieldsFunc(s.text, noPath) {
			for _, name := range []string{path.Clean(word), path.Join(s.dir, word)} { // a script may enter its own folder
				if seen[name] {
					continue
				}
				text, there, err := read(name)
				if err != nil {
					return false
				}
				if there {
					seen[name], scripts = true, append(scripts, script{path.Dir(name), text})
				}
			}
		}
	}
	return true
}

// noPath tells what parts words that may be paths.
func noPath(c rune) bool {
	return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("._-/", c)
}

// mayName matches what runs tests that have names, or may for all that is known here.
var mayName = regexp.MustCompile(`(?i)\b(go|gotestsum|pytest|py\.test|unittest|nose2?|tox|nox|hatch|poetry|pdm|uv|npm|npx|pnpm|yarn|bun|deno|node|jest|vitest|mocha|ava|tap|cargo|nextest|mvnw?|gradlew?|ant|sbt|bazel|buck2?|make|gmake|just|task|rake|rspec|bundle|phpunit|composer|pest|dotnet|ctest|cmake|meson|ninja|swift|mix|rebar3|stack|cabal|dune|flutter|dart|zig|julia|python[0-9.]*|perl|prove|bats|ruby|docker|podman|nix|earthly)\b`)

const (
	maxScript  = 64 << 10 // bytes of a script that is read
	maxScripts = 16
)

// nameless is the test command of a run in a repository, where it named no test when it
// last passed there.
func (r *Runs) nameless(ctx context.Context, repo, command string) string {
	var names, known bool
	err := r.o.DB.Read(ctx, func(q *store.Snapshot) error {
		runs, err := registry.Runs(q)
		if err != nil {
			return err
		}
		for _, other := range slices.Backward(runs) {
			if other.Repo != repo {
				continue
			}
			if names, known, err = check.NamesTests(q, other.ID, command); err != nil || known {
				return err
			}
		}
		return nil
	})
	if err != nil || names || !known {
		return ""
	}
	return command
}

// maxBacklog bounds what is read of a backlog, in bytes.
const maxBacklog = 4 << 20
