package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"agency/internal/agency"
)

// Private describes a git directory of our own.
type Private struct {
	// Path is where it is made.
	Path string
	// Borrow are the folders of objects that it reads but never writes.
	Borrow []string
	// Settings of the user that decide how files look; filters, hooks, drivers
	// and remotes are never among them.
	Settings Settings
	// Head is the full ref name or commit that HEAD names; empty:
	// refs/heads/main.
	Head string
	// Refs are further refs with what they point to.
	Refs map[string]agency.OID
	// ForTool is set for a directory that others use inside the sandbox: the
	// identity and the excludes are written down for them.
	ForTool bool
	// Sparse is set where the directory stands in for a worktree's own.
	Sparse bool
}

// globalAttributes is the file of a private git directory that stands in for
// the user's own attributes file: the weakest rules, as in the user's git.
const globalAttributes = "attributes"

// Create writes a private git directory. It is idempotent: files are replaced,
// objects are kept.
func (g *Program) Create(p Private) (Dir, error) {
	for _, dir := range []string{"objects/info", "objects/pack", "refs/heads", "info"} {
		if err := os.MkdirAll(filepath.Join(p.Path, dir), 0o700); err != nil {
			return Dir{}, Disk(err)
		}
	}
	head := p.Head
	if head == "" {
		head = "refs/heads/main"
	}
	if strings.HasPrefix(head, "refs/") {
		head = "ref: " + head
	}
	files := map[string]string{
		"HEAD":                    head + "\n",
		"config":                  p.config(),
		"objects/info/alternates": alternates(p.Borrow),
		"info/exclude":            p.Settings.Excludes,
		"info/attributes":         p.Settings.Attributes,
		globalAttributes:          p.Settings.GlobalAttributes,
	}
	if p.Settings.Shallow != "" {
		files["shallow"] = p.Settings.Shallow
	}
	if p.Sparse && p.Settings.Sparse != "" {
		files["info/sparse-checkout"] = p.Settings.Sparse
	}
	for ref, id := range p.Refs {
		if err := errors.Join(CheckRef(ref), checkOID(id)); err != nil {
			return Dir{}, err
		}
		files[ref] = string(id) + "\n"
	}
	for name, text := range files {
		if err := WriteFile(filepath.Join(p.Path, name), []byte(text)); err != nil {
			return Dir{}, err
		}
	}
	return g.Open(p.Path), nil
}

// Init makes a folder of our own a repository whose branch main has one commit, of no files.
// Again it changes nothing; who comes second finds what the first has made.
func (g *Program) Init(ctx context.Context, dir string) error {
	own := filepath.Join(dir, ".git")
	const main = "refs/heads/main"
	if _, err := os.Stat(filepath.Join(own, filepath.FromSlash(main))); err == nil {
		return nil
	}
	d, err := g.Create(Private{Path: own})
	if err != nil {
		return err
	}
	tree, err := d.WithWorkTree(dir, filepath.Join(own, "index")).Index().WriteTree(ctx)
	if err != nil {
		return err
	}
	commit, err := d.Commits().Write(ctx, tree, nil, "Nothing\n", Identity{}.OrDefault())
	if err != nil {
		return err
	}
	err = d.Refs().Update(ctx, main, commit, "", "made", Identity{}.OrDefault())
	if have, gerr := d.Refs().Get(ctx, main); gerr == nil && have != "" {
		return nil
	}
	return err
}

func (p Private) config() string {
	var b strings.Builder
	version := 0
	if p.Settings.ObjectFormat != "" {
		version = 1
	}
	fmt.Fprintf(&b, "[core]\n\trepositoryformatversion = %d\n\tbare = false\n\tlogallrefupdates = false\n", version)
	keys := make([]string, 0, len(p.Settings.Core))
	for key := range p.Settings.Core {
		if !p.Sparse && strings.HasPrefix(key, "core.sparse") {
			continue
		}
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		fmt.Fprintf(&b, "\t%s = %s\n", strings.TrimPrefix(key, "core."), quote(p.Settings.Core[key]))
	}
	if p.Settings.ObjectFormat != "" {
		fmt.Fprintf(&b, "[extensions]\n\tobjectformat = %s\n", quote(p.Settings.ObjectFormat))
	}
	if p.ForTool {
		who := p.Settings.Identity.OrDefault()
		fmt.Fprintf(&b, "[user]\n\tname = %s\n\temail = %s\n", quote(who.Name), quote(who.Email))
		b.WriteString("[gc]\n\tauto = 0\n[init]\n\tdefaultBranch = main\n")
	}
	return b.String()
}

// quote writes a configuration value so that it can only be read as a value.
func quote(s string) string {
	r := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\x00", "")
	return `"` + r.Replace(s) + `"`
}
