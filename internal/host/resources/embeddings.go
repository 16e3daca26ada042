package resources

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"

	"agency/internal/agency"
	"agency/internal/budget"
	"agency/internal/codebase"
	"agency/internal/config"
	"agency/internal/flow"
	"agency/internal/git"
	"agency/internal/llm"
	"agency/internal/llm/openai"
	"agency/internal/session"
	"agency/internal/store"
)

// Embeddings asks a configuration's model of embeddings.
func Embeddings(c config.Config, ref config.ModelRef, key string) *openai.Embedder {
	p := c.Providers[ref.Provider]
	return openai.NewEmbedder(llm.Options{
		Name: ref.Provider, BaseURL: p.BaseURL, APIKey: key, KeyEnv: p.APIKey.Env(),
		HTTP: llm.HTTPOptions{Proxy: http.ProxyFromEnvironment},
	}, ref.Name)
}

// Leaving decides which parts of a checkout may be sent away: of files that are committed,
// so that nothing that git ignores goes, and without what is or looks like a secret.
type Leaving struct {
	committed map[string]bool
	redact    func([]byte) []byte
}

// LeavingOf is that of a commit; redact puts other words in the place of secrets that are
// known.
func LeavingOf(ctx context.Context, at git.Objects, commit agency.OID, redact func([]byte) []byte) (Leaving, error) {
	l := Leaving{committed: map[string]bool{}, redact: redact}
	if commit == "" { // nothing is committed yet
		return l, nil
	}
	entries, err := at.Tree(ctx, commit)
	for _, e := range entries {
		if e.Mode == git.ModeFile || e.Mode == git.ModeExec {
			l.committed[e.Path] = true
		}
	}
	return l, err
}

// May tells whether a part of a file may be sent; of a question the path is "".
func (l Leaving) May(path, text string) bool {
	return (path == "" || l.committed[path]) && string(l.redact([]byte(path+"\n"+text))) == path+"\n"+text && len(agency.SecretsIn(path, []byte(text))) == 0
}

// searchStage is the node of what a run's searches cost, and searchShare their part of what
// the run may spend: an index must not leave its agents without.
const (
	searchStage = "search"
	searchShare = 10
)

// embedder asks for vectors for a run, and books them in its budget.
type embedder struct {
	Leaving
	ref    config.ModelRef
	model  *openai.Embedder
	run    agency.RunID
	write  func(ctx context.Context, fn func(*store.Tx) error) error
	prices budget.Tariff
	above  session.Allowance
}

var _ codebase.Embedder = embedder{}

func (e embedder) Model() string { return e.ref.String() }

// Embed reserves what the request costs at worst, asks, and books what was counted. What a
// provider may have counted before it failed is booked at its worst.
func (e embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	key := "search/" + rand.Text()
	price, priced := e.prices(e.Model(), "")
	r := budget.Request{Key: key, Node: budget.StageNode(searchStage), Price: price, Unpriced: !priced, Model: e.Model()}
	for _, t := range texts {
		r.In += int64(len(t)) // no model counts more tokens than bytes
	}
	if err := e.reserve(ctx, r); err != nil {
		return nil, err
	}
	var out [][]float32
	var used agency.Usage
	var err error
	if e.above != nil {
		err = e.above.Hold(ctx, e.run, key, price.Most(r.In, 0))
	}
	asked := err == nil
	if asked {
		out, used, err = e.model.Embed(ctx, texts)
	}
	paid := e.write(store.Needed(context.WithoutCancel(ctx)), func(tx *store.Tx) error {
		switch {
		case err == nil:
			return budget.Settle(tx, e.run, key, e.prices.Bill(e.Model(), e.ref.Name, used), 0)
		case !asked || openai.Free(err):
			return budget.Release(tx, e.run, key)
		}
		return budget.Charge(tx, e.run, key, e.prices.Bill(e.Model(), e.ref.Name, used))
	})
	return out, errors.Join(err, paid)
}

func (e embedder) reserve(ctx context.Context, r budget.Request) (err error) {
	if e.above != nil {
		if r.Allowance, err = e.above.Look(ctx); err != nil {
			return err
		}
	}
	return e.write(ctx, func(tx *store.Tx) error {
		root, err := budget.Read(tx, e.run, budget.Root)
		if err != nil {
			return err
		}
		l := budget.Limits{Money: root.Limits.Money / searchShare, Tokens: root.Limits.Tokens / searchShare}
		if err := errors.Join(budget.Open(tx, e.run, r.Node, budget.Root, l), budget.Raise(tx, e.run, r.Node, l)); err != nil {
			return err
		}
		_, err = budget.Reserve(tx, e.run, r)
		return err
	})
}

// embeds is how the searches of a session find by meaning; nil where the run's
// configuration wants none.
func (s *Sessions) embeds(ctx context.Context, b *resources, o session.ToolsetOptions) (codebase.Embedder, error) {
	ref, wanted := b.kept().Config.Embeddings()
	if !wanted {
		return nil, nil
	}
	run := o.Spec.Run
	key, err := s.Models.key(run, ref.Provider, b.kept().Config.Providers[ref.Provider])
	if err != nil {
		return nil, err
	}
	start, err := o.Workspace.Start()
	if err != nil {
		return nil, err
	}
	leaving, err := LeavingOf(ctx, o.Workspace.Run().Dir().Objects(), start, s.Models.secrets.Redact)
	if err != nil {
		return nil, err
	}
	fence, db := flow.ScopeOf(ctx).Fence, s.Runs.o.DB
	return embedder{
		Leaving: leaving, ref: ref, model: Embeddings(b.kept().Config, ref, key), run: run, prices: tariff(s.Models.known, b.kept().Config), above: s.Above,
		write: func(ctx context.Context, fn func(*store.Tx) error) error { return db.WriteFenced(ctx, fence, fn) },
	}, nil
}
