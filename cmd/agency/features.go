package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/ui/tui"
)

func featuresCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "features", Short: "The backlog features.json: list, add, done",
		Long: `The backlog is features.json at the repository's root: a list of features with
id, description, test_file, size_estimate, verification_steps, depends_on and
status. agency run --feature ID works on one; when its work has landed, the
run's own branch says that it is done and what proves it.

These commands edit the file in your checkout and leave every other field as it
is; commit it yourself.`,
		Args: none, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(featuresList(a), featuresAdd(a), featuresDone(a))
	return cmd
}

func featuresList(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "Show the features, and which are ready", Args: none,
		RunE: func(*cobra.Command, []string) error {
			h, err := a.look()
			if err != nil {
				return err
			}
			all, err := a.preview(h).Features()
			if err != nil {
				return err
			}
			docs := featureDocs(all)
			return a.show(asJSON, docs, func() string { return tui.Features(a.style, docs) })
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func featureDocs(all []agency.Feature) []api.FeatureDoc {
	docs := make([]api.FeatureDoc, len(all))
	ready := agency.NextFeatures(all)
	for i, f := range all {
		docs[i] = api.FeatureDoc{Feature: f, Ready: slices.Contains(ready, f.ID)}
		if f.Status != agency.FeatureDone {
			docs[i].WaitsFor = agency.MissingFeatures(all, f.ID)
		}
	}
	return docs
}

func featuresAdd(a *app) *cobra.Command {
	var add agency.Feature
	var size string
	var after []string
	cmd := &cobra.Command{
		Use: "add ID DESCRIPTION", Short: "Add a feature at the end of the backlog", Args: exactly(2),
		Example: `  agency features add durations "config.Load reads durations like 1h30m" \
    --test-file config/duration_test.go --verify "a timeout of 1h30m is 5400 s" --depends-on config`,
		RunE: func(_ *cobra.Command, args []string) error {
			add.ID, add.Description = agency.FeatureID(args[0]), args[1]
			for _, d := range after {
				add.DependsOn = append(add.DependsOn, agency.FeatureID(d))
			}
			if size != "" {
				var err error
				if add.Size, err = agency.ParseComplexity(size); err != nil {
					return err
				}
			}
			h, err := a.look()
			if err != nil {
				return err
			}
			return a.preview(h).AddFeature(add)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&add.TestFile, "test-file", "", "the `FILE` that its tests are in")
	fl.StringVar(&size, "size", "", "its `SIZE`: small, medium or large")
	fl.StringArrayVar(&add.VerificationSteps, "verify", nil, "a `STEP` that shows that it is done; once for each")
	fl.StringArrayVar(&after, "depends-on", nil, "the `ID` of a feature that must be done before; once for each")
	return cmd
}

func featuresDone(a *app) *cobra.Command {
	var note string
	cmd := &cobra.Command{
		Use: "done ID --evidence TEXT", Short: "Say that a feature is done, and why", Args: exactly(1),
		Long: "Says on your own word that a feature is done. A run that was started with agency run --feature says it itself.",
		RunE: func(_ *cobra.Command, args []string) error {
			id := agency.FeatureID(args[0])
			if strings.TrimSpace(note) == "" {
				return agency.Errorf(agency.KindInvalid, "features done %s: say what shows it", id).WithMend("agency features done %s --evidence TEXT", id)
			}
			h, err := a.look()
			if err != nil {
				return err
			}
			return a.preview(h).FinishFeature(id, note)
		},
	}
	cmd.Flags().StringVar(&note, "evidence", "", "the `TEXT` that says what shows it")
	return cmd
}
