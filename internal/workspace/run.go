package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"agency/internal/agency"
	"agency/internal/git"
)

// Kind says what a checkout is for. It is a folder of the run.
type Kind string

// The kinds of checkouts.
const (
	Work      Kind = "work"      // a contract's own, kept over its attempts
	Verify    Kind = "verify"    // exactly a tree, always fresh
	Integrate Kind = "integrate" // a merged tree, always fresh
	Review    Kind = "review"    // a reviewer's own, always fresh
)

// Run is the private git directory of a run and its checkouts.
type Run struct {
	m        *Manager
	info     RunInfo
	dir      git.Dir
	baseTree agency.OID

	mu   sync.Mutex // taken before that of a Workspace, never after it
	open map[string]*Workspace

	factsMu sync.Mutex // taken last
	facts   *baseFacts
}

// Info is what the run was opened with, with the user's settings filled in.
func (r *Run) Info() RunInfo { return r.info }

// Dir is the private git directory, without a work tree.
func (r *Run) Dir() git.Dir { return r.dir }

// Base is the commit that the run starts from, BaseTree its tree.
func (r *Run) Base() agency.OID { return r.info.Base }

// BaseTree is the tree of the base.
func (r *Run) BaseTree() agency.OID { return r.baseTree }

// User is the user's own repository, for refs and objects only.
func (r *Run) User() git.Dir {
	return r.m.opts.Git.At(r.info.Repo).WithConfig(r.info.Settings.Neutral...)
}

// Folder is the run's folder in the state folder. Names in it other than those
// of this package are free for land.
func (r *Run) Folder() string { return r.info.dir() }

// SettingsAt are the user's settings with what belongs to one of the user's
// worktrees: its sparse checkout.
func (r *Run) SettingsAt(ctx context.Context, loc git.Location) (git.Settings, error) {
	s := r.info.Settings
	if loc == r.info.Repo {
		return s, nil
	}
	return r.m.opts.Git.ReadSettings(ctx, loc)
}

func (r *Run) sameAs(info RunInfo) error {
	if r.info.Base != info.Base || r.info.Repo != info.Repo || r.info.StateDir != info.StateDir {
		return agency.Errorf(agency.KindConflict, "run %s was started on %s at %s, not on %s at %s",
			info.Run, r.info.Repo.WorkTree, r.info.Base, info.Repo.WorkTree, info.Base)
	}
	return nil
}

// Prepare makes the checkout of a name at a commit or tree, or reopens it. A
// finished Work checkout is reused as it is, whatever it holds by now; a half
// made one is made anew, and the other kinds always are. Name is a contract's
// id or derived from one.
func (r *Run) Prepare(ctx context.Context, name string, at agency.OID, kind Kind) (*Workspace, error) {
	if err := checkName(name, kind); err != nil {
		return nil, err
	}
	key := string(kind) + "/" + name
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.open[key]
	if w == nil {
		w = r.handle(kind, name)
	}
	if kind == Work && w.finished() {
		r.open[key] = w
		return w, w.reopen(ctx)
	}
	delete(r.open, key)
	if err := w.remove(); err != nil {
		return nil, err
	}
	w = r.handle(kind, name)
	if err := w.create(ctx, at); err != nil {
		return nil, errors.Join(err, w.remove()) // whoever asked for it was not given anything to remove
	}
	r.open[key] = w
	return w, nil
}

// Clean is a fresh checkout of exactly a tree, for verification.
func (r *Run) Clean(ctx context.Context, name string, tree agency.OID) (*Workspace, error) {
	return r.Prepare(ctx, name, tree, Verify)
}

// Open is a finished checkout. KindNotFound where there is none.
func (r *Run) Open(ctx context.Context, name string, kind Kind) (*Workspace, error) {
	if err := checkName(name, kind); err != nil {
		return nil, err
	}
	key := string(kind) + "/" + name
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.open[key]
	if w == nil {
		w = r.handle(kind, name)
	}
	if !w.finished() {
		return nil, agency.Errorf(agency.KindNotFound, "run %s has no workspace %s", r.info.Run, name)
	}
	r.open[key] = w
	return w, w.reopen(ctx)
}

// Remove deletes a checkout. One that does not exist is no error.
func (r *Run) Remove(_ context.Context, name string, kind Kind) error {
	if err := checkName(name, kind); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	key := string(kind) + "/" + name
	w := r.open[key]
	if w == nil {
		w = r.handle(kind, name)
	}
	delete(r.open, key)
	return w.remove()
}

// Ref names a checkout.
type Ref struct {
	Kind Kind
	Name string
}

// List names the checkouts on disk, half-made ones included.
func (r *Run) List() ([]Ref, error) {
	var refs []Ref
	for _, kind := range []Kind{Work, Verify, Integrate, Review} {
		for _, part := range []string{"", "index", "synthetic", "ready"} {
			entries, err := os.ReadDir(filepath.Join(r.info.dir(), part, string(kind)))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, git.Disk(err)
			}
			for _, e := range entries {
				ref := Ref{Kind: kind, Name: strings.TrimSuffix(e.Name(), ".json")}
				if checkName(ref.Name, kind) == nil && !slices.Contains(refs, ref) {
					refs = append(refs, ref)
				}
			}
		}
	}
	return refs, nil
}

// Sweep removes every checkout that is not in keep and names what it removed:
// what a crash left behind.
func (r *Run) Sweep(ctx context.Context, keep []Ref) ([]Ref, error) {
	all, err := r.List()
	if err != nil {
		return nil, err
	}
	var gone []Ref
	for _, ref := range all {
		if slices.Contains(keep, ref) {
			continue
		}
		if err := r.Remove(ctx, ref.Name, ref.Kind); err != nil {
			return gone, err
		}
		gone = append(gone, ref)
	}
	return gone, nil
}

// Changes are the paths that differ between two commits or trees of the run.
func (r *Run) Changes(ctx context.Context, from, to agency.OID) ([]git.Change, error) {
	return r.dir.Changes(ctx, from, to)
}

// Objects are the folders of objects that the run's trees live in, its own
// first.
func (r *Run) Objects() ([]string, error) {
	return git.ObjectDirs(filepath.Join(r.dir.GitDir, "objects"))
}

func checkName(name string, kind Kind) error {
	switch kind {
	case Work, Verify, Integrate, Review:
	default:
		return agency.Errorf(agency.KindInternal, "workspace kind %q", kind)
	}
	return agency.CheckContractID(agency.ContractID(name))
}

func (r *Run) handle(kind Kind, name string) *Workspace {
	at := func(part, suffix string) string {
		return filepath.Join(r.info.dir(), part, string(kind), name+suffix)
	}
	w := &Workspace{run: r, kind: kind, name: name, root: at("", ""), index: at("index", ""), synthetic: at("synthetic", ""), ready: at("ready", ".json")}
	w.dir = r.dir.WithWorkTree(w.root, w.index)
	return w
}

// baseFacts is what of the base decides how snapshots are taken.
type baseFacts struct {
	ignores  map[string]agency.OID // .gitignore files by path
	gitlinks []string
	files    map[string]bool
	excludes string   // file with the translated ignore rules
	ignored  []string // files that the base tracks although it ignores them
	listed   bool     // ignored is filled in

	modules    []module // submodules that are checked out
	attributes []string // the texts of the rules of attributes
}

// base reads the facts once.
func (r *Run) base(ctx context.Context) (*baseFacts, error) {
	r.factsMu.Lock()
	defer r.factsMu.Unlock()
	if r.facts != nil {
		return r.facts, nil
	}
	entries, err := r.dir.Tree(ctx, r.baseTree)
	if err != nil {
		return nil, err
	}
	f := &baseFacts{
		ignores: map[string]agency.OID{}, files: make(map[string]bool, len(entries)),
		excludes: filepath.Join(r.info.dir(), "ignore"),
	}
	var links []git.Entry
	for _, e := range entries {
		f.files[e.Path] = true
		switch {
		case e.Mode == git.ModeGitlink:
			links = append(links, e)
			f.gitlinks = append(f.gitlinks, e.Path)
		case path.Base(e.Path) == ".gitignore" && e.Mode != git.ModeSymlink:
			f.ignores[e.Path] = e.ID
		}
	}
	if f.modules, err = r.findModules(ctx, links); err != nil {
		return nil, err
	}
	if f.attributes, err = r.attributeTexts(ctx, entries); err != nil {
		return nil, err
	}
	text, err := r.translated(ctx, f)
	if err != nil {
		return nil, err
	}
	if err := git.WriteFile(f.excludes, []byte(text)); err != nil {
		return nil, err
	}
	r.facts = f
	return f, nil
}

// stagedContext is where a contract's context is staged in a checkout: never
// part of a snapshot, whatever a repository's own rules say.
const stagedContext = "/.agency/task-context/\n"

// translated writes the user's own ignore rules and those of every .gitignore
// of the base as one list anchored at the root: what comes later wins, as the
// deeper file does in git.
func (r *Run) translated(ctx context.Context, f *baseFacts) (string, error) {
	files := make([]string, 0, len(f.ignores))
	for p := range f.ignores {
		files = append(files, p)
	}
	slices.SortFunc(files, func(a, b string) int {
		if d := strings.Count(a, "/") - strings.Count(b, "/"); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	var b strings.Builder
	b.WriteString(r.info.Settings.Excludes)
	for _, p := range files {
		text, err := r.dir.Content(ctx, f.ignores[p], maxRules)
		if err != nil {
			return "", err
		}
		b.WriteString(translateIgnore(path.Dir(p), string(text)))
	}
	b.WriteString(stagedContext)
	return b.String(), nil
}

// baseIndex is the private directory with an index that holds the base.
func (r *Run) baseIndex(ctx context.Context) (git.Dir, error) {
	index := filepath.Join(r.info.dir(), "index", "base")
	d := r.dir.WithWorkTree("", index)
	if _, err := os.Stat(index); err == nil {
		return d, nil
	}
	if err := os.MkdirAll(filepath.Dir(index), 0o700); err != nil {
		return d, git.Disk(err)
	}
	return d, d.ReadTree(ctx, r.baseTree)
}

// ignoredOfBase lists, once, the files that the base tracks although its own
// rules ignore them: those stay tracked even after having been away.
func (r *Run) ignoredOfBase(ctx context.Context, base *baseFacts) ([]string, error) {
	r.factsMu.Lock()
	defer r.factsMu.Unlock()
	if base.listed {
		return base.ignored, nil
	}
	d, err := r.baseIndex(ctx)
	if err != nil {
		return nil, err
	}
	base.ignored, err = d.TrackedIgnored(ctx, base.excludes)
	base.listed = err == nil
	return base.ignored, err
}

// mark is the file that says that a checkout is finished.
type mark struct {
	At agency.OID `json:"at"`
}

func readMark(p string) (mark, error) {
	var m mark
	b, err := os.ReadFile(p)
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal(b, &m)
}
