package team

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/backlog"
	"agency/internal/tool"
)

type featureStatusArgs struct {
	ID string `json:"feature_id,omitempty" jsonschema_description:"One feature; all where absent."`
}

func getFeatureStatus() tool.Tool {
	return tool.Define(texts, "get_feature_status", tool.Read, func(ctx context.Context, env *tool.Env, a featureStatusArgs) (tool.Result, error) {
		list, err := env.Files.Backlog()
		if err != nil {
			return tool.Result{}, err
		}
		if a.ID != "" {
			return oneFeature(ctx, env, list, agency.FeatureID(a.ID))
		}
		if len(list.Features) == 0 {
			return tool.OK("the backlog has no features"), nil
		}
		ready := agency.NextFeatures(list.Features)
		var b strings.Builder
		for _, f := range list.Features {
			fmt.Fprintf(&b, "%s: %s", f.ID, f.Status)
			if slices.Contains(ready, f.ID) {
				b.WriteString(", ready")
			} else if missing := agency.MissingFeatures(list.Features, f.ID); len(missing) > 0 {
				fmt.Fprintf(&b, ", waits for %s", tool.Joined(missing, ", "))
			}
			line, _, _ := strings.Cut(strings.TrimSpace(f.Description), "\n")
			fmt.Fprintf(&b, "  %s\n", line)
		}
		return tool.OK(b.String()), nil
	})
}

func oneFeature(ctx context.Context, env *tool.Env, list *backlog.File, id agency.FeatureID) (tool.Result, error) {
	f, err := list.Find(id)
	if err != nil {
		return tool.Result{}, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n\n%s\n", f.ID, f.Status, f.Goal())
	if len(f.DependsOn) > 0 {
		fmt.Fprintf(&b, "\nDepends on %s.\n", tool.Joined(f.DependsOn, ", "))
	}
	contracts, err := env.Records.Progress(ctx, id)
	if err != nil {
		return tool.Result{}, err
	}
	for _, c := range contracts {
		fmt.Fprintf(&b, "\ncontract %s: %s  %s", c.ID, c.Status, c.Title)
	}
	return tool.OK(b.String()), nil
}

type markFeatureArgs struct {
	ID       string `json:"feature_id"`
	Evidence string `json:"evidence" jsonschema_description:"Why it is complete, in a sentence or two."`
}

func markFeatureComplete() tool.Tool {
	return tool.Define(texts, "mark_feature_complete", tool.Read, func(ctx context.Context, env *tool.Env, a markFeatureArgs) (tool.Result, error) {
		list, err := env.Files.Backlog()
		if err != nil {
			return tool.Result{}, err
		}
		f, err := list.Find(agency.FeatureID(a.ID))
		if err != nil {
			return tool.Result{}, err
		}
		contracts, err := env.Records.Progress(ctx, f.ID)
		if err != nil {
			return tool.Result{}, err
		}
		if missing := missingOf(contracts); len(missing) > 0 {
			return tool.Fail("feature %s is not complete. Missing:\n- %s", f.ID, strings.Join(missing, "\n- ")), nil
		}
		return tool.OK(fmt.Sprintf("feature %s is complete: its %s landed. features.json says so before the merge gate.", f.ID, agency.Things(len(contracts), "contract has", "contracts have"))), nil
	})
}

// missingOf is what keeps a feature from being complete.
func missingOf(contracts []tool.TeamContract) (missing []string) {
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
