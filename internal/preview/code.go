package preview

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"agency/internal/agency"
	"agency/internal/code"
	"agency/internal/code/gotypes"
	"agency/internal/codebase"
	"agency/internal/config"
	"agency/internal/git"
	"agency/internal/host"
	"agency/internal/host/resources"
	"agency/internal/llm/catalog"
	"agency/internal/llm/openai"
	"agency/internal/store/fulltext"
	"agency/internal/tool"
)

// Code are the files of the checkout that a person stands in, as those who work there see
// them, with what answers for their symbols. What is kept between commands lies in the
// repository's state folder; where there is none yet, nothing is kept.
type Code struct {
	codebase.Tree
	repo   *Repo
	files  *tool.Files
	engine *codebase.Engine
	syntax *code.Engine
	index  *fulltext.Index // nil: none
	asked  *asker          // nil: searches are by words alone
}

// Code opens them.
func (r *Repo) Code() (*Code, error) {
	files, err := tool.OpenFiles(r.At.WorkTree, r.At.WorkTree)
	if err != nil {
		return nil, err
	}
	var o code.Options
	c := &Code{repo: r, files: files}
	if i, err := os.Stat(r.State); r.State != "" && err == nil && i.IsDir() {
		o.CacheDir, c.index = filepath.Join(r.State, "syntax"), fulltext.New(filepath.Join(r.State, "search.db"))
	}
	c.syntax = code.New(o)
	c.engine = codebase.New(c.syntax, func() gotypes.Place {
		return gotypes.FindPlace(func(name string) string { v, _ := r.Env(name); return v })
	}, c.index)
	c.Tree = c.engine.Of(files.FS()).At(r.At.WorkTree)
	return c, nil
}

// ByMeaning has searches find code by its meaning, too, where the configuration says so.
func (c *Code) ByMeaning(ctx context.Context) error {
	r := c.repo
	l, err := r.Load()
	if err != nil {
		return err
	}
	ref, wanted := l.Config.Embeddings()
	if !wanted || c.index == nil {
		return nil
	}
	if err := r.RequireTrust(l); err != nil {
		return err
	}
	secrets, err := l.Secrets([]string{ref.Provider})
	if err != nil {
		return err
	}
	g, err := git.NewProgram(ctx, git.Options{Getenv: func(name string) string { v, _ := r.Env(name); return v }})
	if err != nil {
		return err
	}
	head, err := g.At(r.At).Refs().Head(ctx)
	if err != nil {
		return err
	}
	ordinary := append(l.Config.Ordinary(), r.At.WorkTree)
	known := slices.DeleteFunc(append(slices.Collect(maps.Values(secrets)), l.Hidden()...), func(s string) bool { return !agency.IsSecret(s, ordinary...) })
	leaving, err := resources.LeavingOf(ctx, g.At(r.At).Objects(), head.Commit, agency.NewRedactor(known...).Bytes)
	if err != nil {
		return err
	}
	catalogue, err := catalog.Load()
	if err != nil {
		return err
	}
	price, _ := host.Known(catalogue, l.Config, ref)
	c.asked = &asker{Leaving: leaving, ref: ref, model: resources.Embeddings(l.Config, ref, secrets[ref.Provider]), price: price}
	c.Tree = c.With(c.asked)
	return nil
}

// Asked says what searches asked a provider and what that costs; "": nothing. No run's
// budget pays it.
func (c *Code) Asked() string {
	if c.asked == nil {
		return ""
	}
	return c.asked.said()
}

// asker asks for vectors for a person, and counts.
type asker struct {
	resources.Leaving
	ref   config.ModelRef
	model *openai.Embedder
	price *agency.Price // nil: not known

	mu   sync.Mutex
	used agency.Usage
}

func (a *asker) Model() string { return a.ref.String() }

func (a *asker) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	out, used, err := a.model.Embed(ctx, texts)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.used.In += used.In
	return out, err
}

func (a *asker) said() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.used.In == 0 {
		return ""
	}
	cost := "its price is not known"
	if a.price != nil {
		cost = a.price.Cost(a.used).String()
	}
	return fmt.Sprintf("asked of %s: %s tokens, %s, in no run's budget", a.Model(), agency.Count(a.used.In), cost)
}

// Rel is a path below the checkout, as a person names it: links are followed where they stay
// inside.
func (c *Code) Rel(p string) (string, error) { return c.files.Resolve(p) }

// Write writes a change: each file that is still what it was read as, or none.
func (c *Code) Write(ch codebase.Change) error {
	modes := make([]os.FileMode, len(ch.Files))
	for i, f := range ch.Files {
		t, err := c.files.Load(f.Path)
		if err != nil {
			return err
		}
		if string(t.Data) != string(f.Before) {
			return agency.Errorf(agency.KindConflict, "%s changed meanwhile; nothing has been written", f.Path)
		}
		modes[i] = t.Mode
	}
	for i, f := range ch.Files {
		if err := c.files.Save(f.Path, f.After, modes[i]); err != nil {
			for k := range i {
				err = errors.Join(err, c.files.Save(ch.Files[k].Path, ch.Files[k].Before, modes[k]))
			}
			return err
		}
	}
	return nil
}

// Close waits until the first index of a repository is made.
func (c *Code) Close() error {
	c.engine.Wait()
	return errors.Join(c.engine.Close(), c.syntax.Close(), c.files.Close())
}
