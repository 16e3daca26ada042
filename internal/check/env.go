package check

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"agency/internal/agency"
	"agency/internal/sandbox"
)

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
	world, known := c.world.sign(ctx, c.loads(cmd.Line), now)
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
		5, c.o.Runner.Mode(), c.o.Runner.Tier(), c.o.Version, c.o.Tools, s.Place.At, s.Dir, s.layer(), c.limitsOf(cmd), c.o.Reads,
		installed, s.Coverage, c.hosts(cmd), s.Env, c.layerNames(), online, world, work,
	})
	if err != nil { // plain data
		return "", false
	}
	sum := sha256.Sum256(b)
	return agency.Hash(hex.EncodeToString(sum[:])), known
}

// Stands tells whether a receipt was made in the world as it is now: on a subject
// like this one its command would find what it found.
func (c *Checker) Stands(ctx context.Context, s Subject, r agency.Receipt, cmd Command) bool {
	cmd.Kind, cmd.Line = r.Kind, r.Command
	env, known := c.env(ctx, s, cmd, false)
	return known && env == r.Env
}
