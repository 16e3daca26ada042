package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/backlog"
	"agency/internal/git"
	"agency/internal/host/workshop"
	"agency/internal/ui/tui"
)

func (a *app) featuresCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "features", Short: "The backlog features.json: list, add, done",
		Long: `The backlog is features.json at the repository's root: a list of features with
id, description, test_file, size_estimate, verification_steps, depends_on and
status. agency run --feature ID works on one; when its work has landed, the
run's own branch says that it is done and what proves it.

These commands edit the file in your checkout and leave every other field as it
is; commit it yourself.`,
		Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.featuresList(), a.featuresAdd(), a.featuresDone())
	return cmd
}

func (a *app) featuresList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "Show the features, and which are ready", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return a.withBacklog(func(_ *os.Root, f *backlog.File, _ int) error {
				docs := featureDocs(f.Features)
				return a.show(asJSON, docs, func() string { return tui.Features(a.style, docs) })
			})
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

func (a *app) featuresAdd() *cobra.Command {
	var add agency.Feature
	var size string
	var after []string
	cmd := &cobra.Command{
		Use: "add ID DESCRIPTION", Short: "Add a feature at the end of the backlog", Args: cobra.ExactArgs(2),
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
			return a.withBacklog(func(root *os.Root, f *backlog.File, steps int) error {
				data, err := f.Add(add, steps)
				if err != nil {
					return err
				}
				return backlog.Write(root, data)
			})
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&add.TestFile, "test-file", "", "the `FILE` that its tests are in")
	fl.StringVar(&size, "size", "", "its `SIZE`: small, medium or large")
	fl.StringArrayVar(&add.VerificationSteps, "verify", nil, "a `STEP` that shows that it is done; once for each")
	fl.StringArrayVar(&after, "depends-on", nil, "the `ID` of a feature that must be done before; once for each")
	return cmd
}

func (a *app) featuresDone() *cobra.Command {
	var note string
	cmd := &cobra.Command{
		Use: "done ID --evidence TEXT", Short: "Say that a feature is done, and why", Args: cobra.ExactArgs(1),
		Long: "Says on your own word that a feature is done. A run that was started with agency run --feature says it itself.",
		RunE: func(_ *cobra.Command, args []string) error {
			id := agency.FeatureID(args[0])
			if strings.TrimSpace(note) == "" {
				return agency.Errorf(agency.KindInvalid, "features done %s: say what shows it", id).WithMend("agency features done %s --evidence TEXT", id)
			}
			return a.withBacklog(func(root *os.Root, f *backlog.File, steps int) error {
				if _, err := f.Find(id); err != nil {
					return err
				}
				if missing := agency.MissingFeatures(f.Features, id); len(missing) > 0 {
					return notBefore(id, missing)
				}
				data, err := f.Done(id, agency.FeatureEvidence{Note: note}, steps)
				if err != nil {
					return err
				}
				return backlog.Write(root, data)
			})
		},
	}
	cmd.Flags().StringVar(&note, "evidence", "", "the `TEXT` that says what shows it")
	return cmd
}

// notBefore names what must be done first.
func notBefore(id agency.FeatureID, missing []agency.FeatureID) error {
	names := make([]string, len(missing))
	for i, m := range missing {
		names[i] = string(m)
	}
	return agency.Errorf(agency.KindInvalid, "feature %s depends on what is not done: %s", id, strings.Join(names, ", ")).
		WithMend("agency run --feature %s", missing[0])
}

// withBacklog opens the checkout's backlog.
func (a *app) withBacklog(do func(root *os.Root, f *backlog.File, steps int) error) (err error) {
	h, err := a.look()
	if err != nil {
		return err
	}
	loaded, err := a.load(h, nil)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(h.loc.WorkTree)
	if err != nil {
		return usage("%v", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	steps := loaded.Config.Contracts.MaxVerificationSteps
	f, err := backlog.Read(root, steps)
	if err != nil {
		return err
	}
	return do(root, f, steps)
}

// feature is the one that a run is for, as it stands in the commit that the
// run starts from: what nobody committed cannot be marked as done there.
func (a *app) feature(ctx context.Context, h here, f runFlags, steps int) (agency.Feature, error) {
	list, err := a.backlogOf(ctx, h, f, steps)
	if err != nil {
		return agency.Feature{}, err
	}
	found, err := list.Find(agency.FeatureID(f.feature))
	if err != nil {
		if !f.dirty {
			err = agency.Errorf(agency.KindNotFound, "%w in the commit that the run starts from", err).
				WithMend("agency features list; git add %s && git commit, or --include-dirty (--include-untracked %s where git does not know it)", backlog.Name, backlog.Name)
		}
		return found, err
	}
	if found.Status == agency.FeatureDone {
		return found, agency.Errorf(agency.KindInvalid, "feature %s is done already", found.ID).
			WithMend("agency features list; set its status to pending in %s to do it again", backlog.Name)
	}
	if missing := agency.MissingFeatures(list.Features, found.ID); len(missing) > 0 {
		return found, notBefore(found.ID, missing)
	}
	return found, nil
}

func (a *app) backlogOf(ctx context.Context, h here, f runFlags, steps int) (*backlog.File, error) {
	named, err := h.relative(f.untracked)
	if err != nil {
		return nil, err
	}
	g, err := git.NewHost(ctx, git.Options{})
	if err != nil {
		return nil, err
	}
	base, _, err := workshop.Start(ctx, g, h.loc, f.target)
	if err != nil {
		return nil, err
	}
	data, err := g.At(h.loc).Blob(ctx, base, backlog.Name, backlog.MaxSize+1)
	if f.dirty && err == nil || slices.Contains(named, backlog.Name) { // as it goes along
		root, err := os.OpenRoot(h.loc.WorkTree)
		if err != nil {
			return nil, usage("%v", err)
		}
		defer func() { _ = root.Close() }() // only read
		return backlog.Read(root, steps)
	}
	if agency.KindOf(err) == agency.KindNotFound {
		return &backlog.File{}, nil
	}
	if err != nil && !git.IsTooLong(err) { // which Parse says better
		return nil, err
	}
	return backlog.Parse(data, steps)
}
