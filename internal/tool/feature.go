package tool

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/backlog"
)

// Features knows what has become of a feature in the run.
type Features interface {
	// Progress is every contract that belongs to a feature, in the plan's order.
	Progress(ctx context.Context, id agency.FeatureID) ([]FeatureContract, error)
}

// FeatureContract is a contract of a feature with the proofs of its last
// passing verdict.
type FeatureContract struct {
	ID     agency.ContractID
	Title  string
	Status agency.Status
	Proofs []agency.Proof
}

type featureStatusArgs struct {
	ID string `json:"feature_id,omitempty" jsonschema_description:"One feature; all where absent."`
}

func getFeatureStatus() Tool {
	return define("get_feature_status", Read, func(ctx context.Context, env *Env, a featureStatusArgs) (Result, error) {
		list, err := env.Files.backlog()
		if err != nil {
			return Result{}, err
		}
		if a.ID != "" {
			return oneFeature(ctx, env, list, agency.FeatureID(a.ID))
		}
		if len(list.Features) == 0 {
			return ok("the backlog has no features"), nil
		}
		ready := agency.NextFeatures(list.Features)
		var b strings.Builder
		for _, f := range list.Features {
			fmt.Fprintf(&b, "%s: %s", f.ID, f.Status)
			if slices.Contains(ready, f.ID) {
				b.WriteString(", ready")
			} else if missing := agency.MissingFeatures(list.Features, f.ID); len(missing) > 0 {
				fmt.Fprintf(&b, ", waits for %s", featureIDs(missing))
			}
			line, _, _ := strings.Cut(strings.TrimSpace(f.Description), "\n")
			fmt.Fprintf(&b, "  %s\n", line)
		}
		return ok(b.String()), nil
	})
}

func oneFeature(ctx context.Context, env *Env, list *backlog.File, id agency.FeatureID) (Result, error) {
	f, err := list.Find(id)
	if err != nil {
		return Result{}, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n\n%s\n", f.ID, f.Status, f.Goal())
	if len(f.DependsOn) > 0 {
		fmt.Fprintf(&b, "\nDepends on %s.\n", featureIDs(f.DependsOn))
	}
	contracts, err := env.Features.Progress(ctx, id)
	if err != nil {
		return Result{}, err
	}
	for _, c := range contracts {
		fmt.Fprintf(&b, "\ncontract %s: %s  %s", c.ID, c.Status, c.Title)
	}
	return ok(b.String()), nil
}

type markFeatureArgs struct {
	ID       string `json:"feature_id"`
	Evidence string `json:"evidence" jsonschema_description:"Why it is complete, in a sentence or two."`
}

func markFeatureComplete() Tool {
	return define("mark_feature_complete", Read, func(ctx context.Context, env *Env, a markFeatureArgs) (Result, error) {
		list, err := env.Files.backlog()
		if err != nil {
			return Result{}, err
		}
		f, err := list.Find(agency.FeatureID(a.ID))
		if err != nil {
			return Result{}, err
		}
		contracts, err := env.Features.Progress(ctx, f.ID)
		if err != nil {
			return Result{}, err
		}
		if missing := missingOf(contracts); len(missing) > 0 {
			return fail("feature %s is not complete. Missing:\n- %s", f.ID, strings.Join(missing, "\n- ")), nil
		}
		return ok(fmt.Sprintf("feature %s is complete: its %s landed. features.json says so before the merge gate.", f.ID, agency.Things(len(contracts), "contract has", "contracts have"))), nil
	})
}

// missingOf is what keeps a feature from being complete.
func missingOf(contracts []FeatureContract) (missing []string) {
	if len(contracts) == 0 {
		missing = append(missing, "a contract of this run with its feature_id; a feature that no contract belongs to has no proof")
	}
	for _, c := range contracts {
		if c.Status != agency.StatusComplete {
			missing = append(missing, fmt.Sprintf("contract %s is %s, not landed", c.ID, c.Status))
			continue
		}
		for _, p := range c.Proofs {
			if p.Proof == agency.ProofOpen {
				missing = append(missing, fmt.Sprintf("contract %s: nothing proves criterion %s: %s", c.ID, p.ID, p.Text))
			}
		}
	}
	return missing
}

func featureIDs(ids []agency.FeatureID) string {
	parts := make([]string, len(ids))
	for i, id := range ids {
		parts[i] = string(id)
	}
	return strings.Join(parts, ", ")
}

// backlog reads the workspace's backlog. Its faults are the model's to mend.
func (f *Files) backlog() (*backlog.File, error) { return backlog.Read(f.root, 0) }

// HasBacklog tells whether the workspace has a backlog.
func (f *Files) HasBacklog() bool {
	_, err := f.root.Lstat(backlog.Name)
	return err == nil
}
