package git

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/text"
)

// Config is a configuration read as data: lower-case section and key with the
// subsection as it stands, each with its values in the order of reading.
type Config map[string][]string

// Get is the last value of a key, "" where it is not set.
func (c Config) Get(key string) string {
	v := c[key]
	if len(v) == 0 {
		return ""
	}
	return v[len(v)-1]
}

// ReadConfig reads the configuration that the user's git would obey in this
// repository: system, global, local and worktree, with its includes; of
// some scopes, or of all where none is named. Nothing of it is obeyed here.
func (g *Program) ReadConfig(ctx context.Context, loc Location, scopes ...string) (Config, error) {
	d := g.At(loc)
	// The hardening settings come by -c and would be listed, too: --show-scope
	// tells them apart.
	out, err := g.run(ctx, command{dir: &d, user: true, args: []string{"config", "--list", "--null", "--show-scope", "--includes"}})
	if err != nil {
		return nil, agency.Errorf(agency.KindInvalid, "the git configuration of %s cannot be read: %w", loc.WorkTree, err).
			WithMend("git -C %s config --list", loc.WorkTree)
	}
	cfg := Config{}
	parts := fields(out)
	for i := 0; i+1 < len(parts); i += 2 {
		if parts[i] == "command" || len(scopes) > 0 && !slices.Contains(scopes, parts[i]) {
			continue
		}
		key, value, ok := strings.Cut(parts[i+1], "\n")
		if !ok {
			value = "true" // a key without "=" is a set boolean
		}
		cfg[key] = append(cfg[key], value)
	}
	return cfg, nil
}

// Finding is a key of a repository's configuration that could run a program
// or redirect git.
type Finding struct {
	Key   string
	Value string
}

// Scan lists what in a configuration could run a program (docs/security.md).
// None of it is obeyed by this package; doctor and reports show it.
func (c Config) Scan() []Finding {
	var found []Finding
	for key, values := range c {
		if !dangerous(key) {
			continue
		}
		for _, v := range values {
			found = append(found, Finding{Key: key, Value: v})
		}
	}
	slices.SortFunc(found, func(a, b Finding) int {
		return strings.Compare(a.Key+"\x00"+a.Value, b.Key+"\x00"+b.Value)
	})
	return found
}

var dangerousKeys = []string{
	"core.hookspath", "core.fsmonitor", "core.sshcommand", "core.gitproxy", "core.pager", "core.editor", "core.askpass",
	"core.attributesfile", "core.worktree", "core.alternaterefscommand", "attr.tree", "diff.external", "gpg.program",
	"sequence.editor", "interactive.difffilter", "uploadpack.packobjectshook", "extensions.partialclone",
}

func dangerous(key string) bool {
	if slices.Contains(dangerousKeys, key) {
		return true
	}
	section, rest, _ := strings.Cut(key, ".")
	last := rest[strings.LastIndexByte(rest, '.')+1:]
	switch section {
	case "filter":
		return last == "clean" || last == "smudge" || last == "process" || last == "required"
	case "diff":
		return last == "command" || last == "textconv"
	case "merge", "mergetool", "difftool":
		return last == "driver" || last == "cmd"
	case "include", "includeif", "alias", "pager":
		return true
	case "credential":
		return last == "helper"
	case "gpg":
		return last == "program"
	case "remote":
		return last == "promisor" || last == "vcs" || last == "uploadpack" || last == "receivepack"
	}
	return false
}

// Neutral are the settings that take every dangerous key of the configuration
// out of force in a command that must run with the user's own git directory.
func (c Config) Neutral() []string {
	var kv []string
	for _, f := range c.Scan() {
		section, rest, _ := strings.Cut(f.Key, ".")
		last := rest[strings.LastIndexByte(rest, '.')+1:]
		switch {
		case strings.ContainsAny(f.Key, "=\n"): // cannot be named on a command line
			continue
		case section == "filter" && last == "required", section == "remote" && last == "promisor":
			kv = append(kv, f.Key+"=false")
		case section == "filter", section == "diff" && last != "external", section == "merge", section == "credential":
			kv = append(kv, f.Key+"=")
		}
	}
	return slices.Compact(kv)
}

// Settings are what the product takes from the user's configuration, read once
// as data.
type Settings struct {
	Identity Identity `json:"identity"`
	// Sign is set where the user signs commits: the final merge is (Program.Signing).
	Sign bool `json:"sign,omitempty"`
	// ObjectFormat is "" for SHA-1.
	ObjectFormat string `json:"object_format,omitempty"`
	// Core are the core.* keys that decide how files look on disk: line
	// endings, modes, symbolic links, case.
	Core map[string]string `json:"core,omitempty"`
	// Excludes and Attributes are the text of the user's own ignore rules and
	// of the repository's info/attributes.
	Excludes   string `json:"excludes,omitempty"`
	Attributes string `json:"attributes,omitempty"`
	// GlobalAttributes is the text of the user's own attributes, which give way
	// to those of a repository.
	GlobalAttributes string `json:"global_attributes,omitempty"`
	// Filters are the names of the filters that the configuration defines.
	Filters []string `json:"filters,omitempty"`
	// Neutral takes the dangerous keys of the configuration out of force in
	// commands that run with the user's own git directory.
	Neutral []string `json:"neutral,omitempty"`
	// Shallow is the repository's list of commits without parents.
	Shallow string `json:"shallow,omitempty"`
	// Sparse is the worktree's sparse checkout, "" where it has none.
	Sparse string `json:"sparse,omitempty"`
}

// coreKeys are copied into private git directories.
var coreKeys = []string{
	"core.autocrlf", "core.eol", "core.filemode", "core.symlinks", "core.ignorecase", "core.precomposeunicode",
	"core.protecthfs", "core.protectntfs", "core.trustctime", "core.checkstat", "core.sharedrepository", "core.bigfilethreshold",
}

// ReadSettings reads the user's configuration and the files that go with it.
func (g *Program) ReadSettings(ctx context.Context, loc Location) (Settings, error) {
	cfg, err := g.ReadConfig(ctx, loc)
	if err != nil {
		return Settings{}, err
	}
	s := Settings{
		Identity:     Identity{Name: cfg.Get("user.name"), Email: cfg.Get("user.email")}.OrDefault(),
		Sign:         truth(cfg.Get("commit.gpgsign")),
		ObjectFormat: strings.ToLower(cfg.Get("extensions.objectformat")),
		Core:         map[string]string{},
		Neutral:      cfg.Neutral(),
	}
	for _, key := range coreKeys {
		if v := cfg.Get(key); v != "" {
			s.Core[key] = v
		}
	}
	for _, f := range cfg.Scan() {
		if name, ok := strings.CutPrefix(f.Key, "filter."); ok {
			name = name[:max(0, strings.LastIndexByte(name, '.'))]
			if !slices.Contains(s.Filters, name) {
				s.Filters = append(s.Filters, name)
			}
		}
	}
	s.readFiles(g, cfg, loc)
	return s, nil
}

func (s *Settings) readFiles(h *Program, cfg Config, loc Location) {
	const limit = 1 << 20
	text := func(path string) string {
		b, err := readCapped(path, limit)
		if err != nil { // absent, or nothing that git itself could use
			return ""
		}
		return string(bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")))
	}
	own := func(key, name string) string {
		if p := expandHome(cfg.Get(key), h.opts.Getenv("HOME")); p != "" {
			return p
		}
		return h.userFile(name)
	}
	if p := own("core.excludesfile", "ignore"); filepath.IsAbs(p) {
		s.Excludes = withNewline(text(p))
	}
	if p := own("core.attributesfile", "attributes"); filepath.IsAbs(p) {
		s.GlobalAttributes = text(p)
	}
	s.Excludes += withNewline(text(filepath.Join(loc.CommonDir, "info", "exclude")))
	s.Attributes = text(filepath.Join(loc.CommonDir, "info", "attributes"))
	s.Shallow = text(filepath.Join(loc.CommonDir, "shallow"))
	if truth(cfg.Get("core.sparsecheckout")) {
		s.Sparse = text(filepath.Join(loc.GitDir, "info", "sparse-checkout"))
		s.Core["core.sparseCheckout"] = "true"
		if truth(cfg.Get("core.sparsecheckoutcone")) {
			s.Core["core.sparseCheckoutCone"] = "true"
		}
	}
}

// userFile is a file of the user's own git folder, "" where there is none.
func (g *Program) userFile(name string) string {
	base := g.opts.Getenv("XDG_CONFIG_HOME")
	if home := g.opts.Getenv("HOME"); base == "" && home != "" {
		base = filepath.Join(home, ".config")
	}
	if base == "" {
		return ""
	}
	return filepath.Join(base, "git", name)
}

func withNewline(s string) string {
	if s != "" && !strings.HasSuffix(s, "\n") {
		return s + "\n"
	}
	return s
}

func expandHome(path, home string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && home != "" {
		return filepath.Join(home, rest)
	}
	return path
}

func truth(v string) bool {
	switch strings.ToLower(v) {
	case "true", "yes", "on", "1":
		return true
	}
	return false
}

// Signing is how the user signs commits, read as data. The programs are those
// of the user's own configuration: a repository's may choose a key, it may not
// name what is executed.
type Signing struct {
	Format  string `json:"format"` // openpgp, ssh or x509
	Key     string `json:"key,omitempty"`
	Program string `json:"program,omitempty"`
	// KeyCommand names the key where none is configured (ssh only).
	KeyCommand string `json:"key_command,omitempty"`
}

// String says with what is signed, for people.
func (s Signing) String() string {
	if s.Key == "" {
		return s.Format + ", the key of your identity"
	}
	return s.Format + ", " + text.Head(s.Key, 60)
}

// Signing reads how the user signs commits in this repository; nil where not.
func (g *Program) Signing(ctx context.Context, loc Location) (*Signing, error) {
	cfg, err := g.ReadConfig(ctx, loc)
	if err != nil || !truth(cfg.Get("commit.gpgsign")) {
		return nil, err
	}
	own, err := g.ReadConfig(ctx, loc, "system", "global")
	if err != nil {
		return nil, err
	}
	s := &Signing{Format: strings.ToLower(cfg.Get("gpg.format")), Key: cfg.Get("user.signingkey")}
	switch s.Format {
	case "":
		s.Format = "openpgp"
	case "openpgp", "ssh", "x509":
	default:
		return nil, agency.Errorf(agency.KindInvalid, "gpg.format is %q in the git configuration of %s", s.Format, loc.WorkTree).
			WithMend("git config --global gpg.format openpgp (or ssh, x509)")
	}
	s.Program = own.Get("gpg." + s.Format + ".program")
	if s.Program == "" && s.Format == "openpgp" {
		s.Program = own.Get("gpg.program")
	}
	s.Program = expandHome(s.Program, g.opts.Getenv("HOME"))
	if s.Format == "ssh" {
		s.KeyCommand = own.Get("gpg.ssh.defaultkeycommand")
	}
	return s, nil
}
