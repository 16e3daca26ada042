package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"agency/internal/agency"
	"agency/internal/git"
)

// Inside the sandbox git has the history of what a checkout starts from, and no
// object beside it: stashes, other branches and what a rebase left behind may
// hold what nobody meant to show. A pack of what the base reaches is made once a
// run; what a checkout starts from beyond it goes into its synthetic git
// directory.

const (
	// mostHistory is the size of a repository, in bytes, from which a run gets
	// the recent commits of its base only, and how many.
	mostHistory  = 1 << 30
	mostOfRecent = 200
)

// past is the file that says that the pack of the base is whole.
type past struct {
	Shallow []agency.OID `json:"shallow,omitempty"` // commits whose parents are left out
}

// packs are the objects that checkouts are shown inside the sandbox.
type packs struct {
	*repository
	packing sync.Mutex // taken last
}

func (r *packs) historyDir() string { return filepath.Join(r.info.dir(), "history") }

// history makes the folder of objects with what the base reaches, once.
func (r *packs) history(ctx context.Context) (p past, err error) {
	r.packing.Lock()
	defer r.packing.Unlock()
	dir := r.historyDir()
	done := filepath.Join(dir, "past.json")
	if b, err := os.ReadFile(done); err == nil && json.Unmarshal(b, &p) == nil {
		return p, nil
	}
	if err := removeAll(dir); err != nil { // of who died in the middle
		return p, err
	}
	packs := filepath.Join(dir, "pack")
	if err := os.MkdirAll(packs, 0o700); err != nil {
		return p, git.Disk(err)
	}
	weight, err := git.Weight(r.info.Repo.Objects())
	if err != nil {
		return p, err
	}
	if weight <= r.m.opts.MostHistory {
		err = r.dir.Transfer().Pack(ctx, packs, r.info.Base, "")
	} else {
		p.Shallow, err = r.dir.Transfer().PackRecent(ctx, packs, r.info.Base, mostOfRecent)
	}
	if git.IsMissing(err) { // a damaged or partial past is no reason to have no present
		p.Shallow, err = r.dir.Transfer().PackRecent(ctx, packs, r.info.Base, 1)
	}
	if err != nil {
		return p, err
	}
	return p, writeJSON(done, p)
}

// shallowOf is the file shallow of a synthetic git directory.
func (r *packs) shallowOf(p past) string {
	var b strings.Builder
	b.WriteString(r.info.Settings.Shallow)
	for _, id := range p.Shallow {
		b.WriteString(string(id) + "\n")
	}
	return b.String()
}

// bring packs what a checkout starts from into its synthetic git directory, as
// far as the base does not reach it.
func (c *checkout) bring(ctx context.Context, at agency.OID) error {
	if at == c.run.info.Base || at == c.run.baseTree {
		return nil
	}
	err := c.run.dir.Transfer().Pack(ctx, filepath.Join(c.synthetic, "objects", "pack"), at, c.run.info.Base)
	if err != nil {
		return errors.Join(err, removeAll(c.synthetic))
	}
	return nil
}

// makeSynthetic makes the throw-away git directory: a branch at the commit
// that the checkout starts from, a copy of the index, objects by alternates,
// no remote. It is written for others; the host never reads it.
func (c *checkout) makeSynthetic(ctx context.Context, at agency.OID) error {
	if err := removeAll(c.synthetic); err != nil {
		return err
	}
	commit := c.run.info.Base
	if kind, err := c.run.dir.Objects().Type(ctx, at); err != nil {
		return err
	} else if kind == "commit" {
		commit = at
	}
	known, err := c.run.history(ctx)
	if err != nil {
		return err
	}
	place, err := c.Place()
	if err != nil {
		return err
	}
	branch := "refs/heads/" + c.name
	settings := c.run.info.Settings
	settings.Core = maps.Clone(settings.Core)
	delete(settings.Core, "core.sharedrepository")
	settings.Shallow = c.run.shallowOf(known)
	_, err = c.run.m.opts.Git.Create(git.Private{
		Path: c.synthetic, Borrow: c.run.m.opts.ObjectsAt(place), Settings: settings,
		Head: branch, Refs: map[string]agency.OID{branch: commit}, ForTool: true,
	})
	if err != nil {
		return err
	}
	if err := c.bring(ctx, at); err != nil {
		return err
	}
	index, err := os.ReadFile(c.index)
	if err != nil {
		return git.Disk(err)
	}
	return git.WriteFile(filepath.Join(c.synthetic, "index"), index)
}

// Objects is the folder of objects that checkouts are shown inside the sandbox:
// what the base reaches.
func (r *packs) Objects() []string { return []string{r.historyDir()} }
