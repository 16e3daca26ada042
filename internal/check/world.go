package check

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"agency/internal/agency"
	"agency/internal/ecosystem"
	"agency/internal/fingerprint"
	"agency/internal/sandbox"
)

// loads are what a line loads beside the tree.
func (c *Checker) loads(line string) []fingerprint.Load {
	out := slices.Clone(c.o.Loads)
	for _, m := range c.o.Reads {
		out = append(out, fingerprint.Load{Path: m.Host})
	}
	for _, d := range c.o.Dependencies {
		if l, ok := d.load(); ok {
			out = append(out, l)
		}
	}
	return append(out, programsOf(line, c.o.Tools)...)
}

// load is what is installed in a dependency folder. One without lockfiles is a
// cache of builds, which tells by itself what of it is stale.
func (d Dependency) load() (fingerprint.Load, bool) {
	return fingerprint.Load{Path: d.Host, Packages: true}, d.Folder != "" && d.Host != "" && len(d.Locks) > 0
}

// programsOf are the programs that a line starts by a name or path outside of
// the checkout, where they lie: a test runner of the machine is one.
func programsOf(line string, tools sandbox.Toolchain) []fingerprint.Load {
	calls, _ := simpleCalls(line)
	dirs := filepath.SplitList(pathOf(tools))
	var out []fingerprint.Load
	add := func(at string) {
		if l := (fingerprint.Load{Path: at}); !slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	is := func(at string) bool {
		info, err := os.Stat(at)
		return err == nil && info.Mode().IsRegular()
	}
	for _, words := range calls {
		for _, w := range words { // what starts another program is followed by it
			switch {
			case filepath.IsAbs(w) && is(w):
				add(w)
			case w != "" && !strings.ContainsAny(w, "/=") && w[0] != '-':
				if i := slices.IndexFunc(dirs, func(d string) bool { return is(filepath.Join(d, w)) }); i >= 0 {
					add(filepath.Join(dirs[i], w))
				}
			}
		}
	}
	return out
}

// pathOf is the PATH of commands.
func pathOf(tools sandbox.Toolchain) string {
	for _, kv := range slices.Backward(tools.Env) {
		if p, ok := strings.CutPrefix(kv, "PATH="); ok {
			return p
		}
	}
	return ecosystem.SystemPath
}

// env is the hash of everything but tree and command that a result depends on:
// toolchain, sandbox, limits, the path, the caches, what is installed and all
// else that commands load, as it is at this moment. Which of what is installed a
// tree can use is decided by the tree. known is false where nothing may be
// reused: it could not be found out what commands would load, and the subject
// names no work. now takes nothing that was found out a moment ago.
func (c *Checker) env(ctx context.Context, s Subject, cmd Command, now bool) (hash agency.Hash, known bool) {
	var installed []string
	for _, d := range c.o.Dependencies {
		installed = append(installed, d.sign())
	}
	world, known := c.world.Sign(ctx, c.loads(cmd.Line), now)
	work := ""
	if !known {
		world, work, known = "", s.Work, s.Work != ""
	}
	var online []string
	if cmd.Kind == agency.CheckSetup {
		online = c.o.Online
	}
	b, err := json.Marshal(struct {
		Form      int
		Mode      sandbox.Mode
		Tier      sandbox.Tier
		Version   string
		Tools     sandbox.Toolchain
		At, Dir   string
		Layer     Layer
		Limits    sandbox.Limits
		Reads     []sandbox.Mount
		Installed []string `json:",omitempty"`
		Coverage  bool     `json:",omitempty"`
		Hosts     []string `json:",omitempty"`
		Env       []string `json:",omitempty"`
		Layers    []string `json:",omitempty"`
		Online    []string `json:",omitempty"`
		World     string   `json:",omitempty"`
		Work      string   `json:",omitempty"`
	}{
		5, c.o.Runner.Mode(), c.o.Runner.Tier(), c.o.Version, c.o.Tools, s.Place.At, s.Dir, s.layer(), limitsOf(c.limits, cmd), c.o.Reads,
		installed, s.Coverage, c.Hosts(cmd), s.Env, c.layerNames(ctx, s.Contract), online, world, work,
	})
	if err != nil { // plain data
		return "", false
	}
	sum := sha256.Sum256(b)
	return agency.Hash(hex.EncodeToString(sum[:])), known
}

// Keeps tells whether the result of a command on a subject can be found again by
// others than its own work.
func Keeps(ctx context.Context, c *Checker, s Subject, cmd Command) bool {
	s.Work = ""
	_, known := c.env(ctx, s, cmd, false)
	return known && s.Tree != ""
}

// Stands tells whether a receipt was made in the world as it is now: on a subject
// like this one its command would find what it found.
func (c *Checker) Stands(ctx context.Context, s Subject, r agency.Receipt, cmd Command) bool {
	cmd.Kind, cmd.Line = r.Kind, r.Command
	env, known := c.env(ctx, s, cmd, false)
	return known && env == r.Env
}

func limitsOf(limits sandbox.Limits, cmd Command) sandbox.Limits {
	limits.Wall = cmp.Or(max(cmd.Timeout, 0), DefaultTimeout)
	return limits
}

func (c *Checker) layer(s Subject) string {
	if s.Seals {
		return filepath.Join(c.o.LayerDir, trustedDir)
	}
	if s.Scratch != "" {
		return filepath.Join(c.o.LayerDir, scratchDir, s.Scratch)
	}
	return filepath.Join(c.o.LayerDir, string(s.layer()))
}

// builds holds commands back while what all of them would build is built once: beside
// each other they would all build it.
type builds struct {
	mu   sync.Mutex
	n    int           // who hold
	held chan struct{} // closed when the last of them lets go; nil: nobody holds
}

// Hold has the commands that Run is asked for wait until release, which may be called
// again; setup does not wait.
func (b *builds) Hold() (release func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.n++; b.n == 1 {
		b.held = make(chan struct{})
	}
	return sync.OnceFunc(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.n--; b.n == 0 {
			close(b.held)
			b.held = nil
		}
	})
}

// built waits until nothing is held back, or the context ends.
func (b *builds) built(ctx context.Context) error {
	b.mu.Lock()
	held := b.held
	b.mu.Unlock()
	if held == nil {
		return nil
	}
	select {
	case <-held:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Unbuilt tells whether there is a cache from which all commands may begin, and nothing in
// it yet.
func (c *packages) Unbuilt() bool {
	for _, o := range c.o.Tools.Overlays {
		if o.ByContent && c.o.Runner.Tier() == sandbox.TierFull && !sandbox.Sealed(c.warm(o)) {
			return true
		}
	}
	return false
}

// warm keeps what commands that are trusted have built in an overlay.
func (c *packages) warm(o sandbox.Overlay) string {
	return filepath.Join(c.o.LayerDir, warmDir, o.Name)
}
