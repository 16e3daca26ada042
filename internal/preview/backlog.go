package preview

import (
	"context"
	"errors"
	"os"
	"slices"

	"agency/internal/agency"
	"agency/internal/backlog"
	"agency/internal/git"
	"agency/internal/host/resources"
)

// Features are those of the checkout's backlog.
func (r *Repo) Features() (all []agency.Feature, err error) {
	err = r.withBacklog(func(f *backlog.File, _ int) ([]byte, error) {
		all = f.Features
		return nil, nil
	})
	return all, err
}

// AddFeature puts a feature at the end of the checkout's backlog.
func (r *Repo) AddFeature(add agency.Feature) error {
	return r.withBacklog(func(f *backlog.File, steps int) ([]byte, error) { return f.Add(add, steps) })
}

// FinishFeature says in the checkout's backlog that a feature is done, and what
// shows it. Features that it depends on must be done before.
func (r *Repo) FinishFeature(id agency.FeatureID, note string) error {
	return r.withBacklog(func(f *backlog.File, steps int) ([]byte, error) {
		if _, err := f.Find(id); err != nil {
			return nil, err
		}
		if missing := agency.MissingFeatures(f.Features, id); len(missing) > 0 {
			return nil, notBefore(id, missing)
		}
		return f.Done(id, agency.FeatureEvidence{Note: note}, steps)
	})
}

// withBacklog opens the checkout's backlog, and writes what is made of it; nil:
// nothing.
func (r *Repo) withBacklog(do func(f *backlog.File, steps int) ([]byte, error)) (err error) {
	loaded, err := r.Load()
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(r.At.WorkTree)
	if err != nil {
		return agency.Errorf(agency.KindInvalid, "%v", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	steps := loaded.Config.Contracts.MaxVerificationSteps
	f, err := backlog.Read(root, steps)
	if err != nil {
		return err
	}
	data, err := do(f, steps)
	if err != nil || data == nil {
		return err
	}
	return backlog.Write(root, data)
}

// notBefore names what must be done first.
func notBefore(id agency.FeatureID, missing []agency.FeatureID) error {
	return agency.Errorf(agency.KindInvalid, "feature %s depends on what is not done: %s", id, agency.JoinIDs(missing, ", ")).
		WithMend("agency run --feature %s", missing[0])
}

// feature is the one that a run is for, as it stands in the commit that the
// run starts from: what nobody committed cannot be marked as done there.
func (r *Repo) feature(ctx context.Context, w Wish, steps int) (agency.Feature, error) {
	list, err := r.backlogOf(ctx, w, steps)
	if err != nil {
		return agency.Feature{}, err
	}
	found, err := list.Find(w.Feature)
	if err != nil {
		if !w.IncludeDirty {
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

func (r *Repo) backlogOf(ctx context.Context, w Wish, steps int) (*backlog.File, error) {
	named, err := r.relative(w.IncludeUntracked)
	if err != nil {
		return nil, err
	}
	g, err := git.NewProgram(ctx, git.Options{})
	if err != nil {
		return nil, err
	}
	base, _, err := resources.Start(ctx, g, r.At, w.Target)
	if err != nil {
		return nil, err
	}
	data, err := g.At(r.At).Objects().Blob(ctx, base, backlog.Name, backlog.MaxSize+1)
	if w.IncludeDirty && err == nil || slices.Contains(named, backlog.Name) { // as it goes along
		root, err := os.OpenRoot(r.At.WorkTree)
		if err != nil {
			return nil, agency.Errorf(agency.KindInvalid, "%v", err)
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
