package resources

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"agency/internal/agency"
	"agency/internal/check/detect"
	"agency/internal/code/lsp"
	"agency/internal/event"
	"agency/internal/flow"
	"agency/internal/mcp"
	"agency/internal/registry"
	"agency/internal/roster/agentfile"
	"agency/internal/sandbox"
	"agency/internal/session"
	"agency/internal/store"
	"agency/internal/workspace"
)

// servers are the MCP servers that all sessions of a run share.
type servers struct {
	mu   sync.Mutex
	have map[string]*mcp.Client
}

// close ends them.
func (s *servers) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.have {
		c.Close()
	}
	s.have = nil
}

// served are the names of the servers whose tools a session gets, sorted: of an agent of a
// file, those that are for its role or for all such agents, and of which its file leaves it
// any.
func served(b *resources, spec session.Spec, may agentfile.File) []string {
	all := b.kept().Config.MCP
	return slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(name string) bool {
		roles := all[name].Roles
		return !slices.Contains(roles, string(spec.Role)) && (may.Role == "" || !slices.Contains(roles, string(may.Role))) || !may.AsksServer(name)
	})
}

// connect gives a session the tools of its servers. One that does not answer is told to the
// log, and its tools are not there: a server of somebody else ends nobody's work.
func (s *Sessions) connect(ctx context.Context, b *resources, at place, spec session.Spec, t *session.Toolset) error {
	var own []*mcp.Client
	t.Ends = func() {
		for _, c := range own {
			c.Close()
		}
	}
	var may agentfile.File // what its file leaves it; of a role, all
	if spec.Post != nil {
		var err error
		if may, err = fileOf(b, spec); err != nil {
			return err
		}
	}
	for _, name := range served(b, spec, may) {
		c, err := s.server(ctx, b, at, spec, name)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		notes := []string{}
		if err != nil {
			notes = append(notes, err.Error()+": its tools are left out")
		} else {
			if b.kept().Config.MCP[name].Scope != scopeRun {
				own = append(own, c)
			}
			notes = c.Notes()
			for _, one := range c.Tools() {
				if may.MayUse(one.Name) {
					t.Outside = append(t.Outside, one)
				}
			}
		}
		if err := s.tell(ctx, spec, notes); err != nil {
			return err
		}
	}
	return nil
}

// tell tells the log what is not as somebody configured it, once a session.
func (s *Sessions) tell(ctx context.Context, spec session.Spec, notes []string) error {
	if len(notes) == 0 || spec.Part > 1 {
		return nil
	}
	return s.Runs.o.DB.WriteFenced(ctx, flow.ScopeOf(ctx).Fence, func(tx *store.Tx) error {
		for _, n := range notes {
			ev := agency.NewEvent(spec.Run, agency.SeverityWarning, n, agency.Log{Text: n})
			ev.ContractID, ev.AgentID, ev.Role = spec.Contract, spec.Agent, spec.Role
			if _, err := event.Append(tx, ev); err != nil {
				return err
			}
		}
		return nil
	})
}

// place is where a session works.
type place struct {
	run      *workspace.Run
	checkout *workspace.Workspace // nil: it has none
}

// scopeRun is the scope of a server that all sessions of a run share.
const scopeRun = "run"

// server connects a server, or finds the one that the run has.
func (s *Sessions) server(ctx context.Context, b *resources, at place, spec session.Spec, name string) (*mcp.Client, error) {
	conf := b.kept().Config.MCP[name]
	want := mcp.Server{Name: name, Command: conf.Command, URL: conf.URL, Timeout: time.Duration(conf.TimeoutSeconds) * time.Second}
	means := mcp.Means{
		HTTP:  reaching(conf.URL, b.kept().Config.Sandbox.AllowHosts),
		Start: func(ctx context.Context, p mcp.Process) error { return s.startServer(ctx, b, at, spec, name, p) },
	}
	if conf.Scope != scopeRun {
		return mcp.Connect(ctx, want, means)
	}
	b.servers.mu.Lock()
	defer b.servers.mu.Unlock()
	if c := b.servers.have[name]; c != nil {
		return c, nil
	}
	c, err := mcp.Connect(ctx, want, means)
	if err == nil {
		if b.servers.have == nil {
			b.servers.have = map[string]*mcp.Client{}
		}
		b.servers.have[name] = c
	}
	return c, err
}

// longest is how long a server may run: as long as any session.
const longest = 7 * 24 * time.Hour

// startServer runs a server in the sandbox. It works in a folder of its own and sees the
// session's checkout where that has one, which it cannot write: what an agent changes goes through the agent's own
// tools. One that all sessions share sees no checkout, for each has another.
func (s *Sessions) startServer(ctx context.Context, b *resources, at place, spec session.Spec, name string, p mcp.Process) error {
	of, tools := strings.ReplaceAll(string(spec.ID()), "/", "+"), b.tools.Tools
	var env []string
	switch {
	case b.kept().Config.MCP[name].Scope == scopeRun:
		of = "all"
	case at.checkout != nil:
		env = append(env, "REPOSITORY="+b.repo)
		tools.ReadOnly = append(slices.Clone(tools.ReadOnly), sandbox.Mount{Host: at.checkout.Path(), At: b.repo, Own: true, Apart: true})
	}
	dir := filepath.Join(at.run.Folder(), "mcp", name, of)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return errors.Join(err, p.Stdin.Close())
	}
	defer func() { _ = os.RemoveAll(dir) }() // what it kept ends with it; what stays goes with the run
	limits := agentLimits(b.kept().Config.Sandbox)
	limits.Wall = longest
	res, err := b.runner.Run(ctx, sandbox.Spec{
		Place: sandbox.Place{Root: dir, At: dir}, Tools: tools, LayerDir: agentLayer(s.Runs.o.StateDir), Argv: p.Argv,
		Env: append(env, "HOME="+dir), Limits: limits, Reads: b.reads, Hosts: b.kept().Config.Sandbox.AllowHosts, Input: p.Stdin, Stdout: p.Stdout,
	})
	if err == nil && ctx.Err() == nil {
		err = fmt.Errorf("%s, exit code %d: %s", res.Cause, res.ExitCode, lastLine(res.Output))
	}
	return err
}

// lastLine is what a program said last.
func lastLine(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// reaching is an HTTP client that reaches one server, where it may be reached: on this
// machine, or one of the hosts that the user has allowed. It follows nothing elsewhere.
func reaching(address string, hosts []string) *http.Client {
	u, err := url.Parse(address)
	if err != nil || address == "" {
		return nil
	}
	ip := net.ParseIP(u.Hostname())
	here := u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	return &http.Client{
		Transport:     only{u.Host, here || slices.Contains(hosts, u.Hostname()), &http.Transport{Proxy: http.ProxyFromEnvironment, ResponseHeaderTimeout: time.Minute}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// only sends requests to one host, where that is allowed.
type only struct {
	host    string
	allowed bool
	next    http.RoundTripper
}

func (o only) RoundTrip(r *http.Request) (*http.Response, error) {
	switch {
	case r.URL.Host != o.host:
		return nil, fmt.Errorf("%s is another host than the server's", r.URL.Host)
	case !o.allowed:
		return nil, fmt.Errorf("%s is none of the hosts that may be reached: add it to sandbox.allow_hosts", r.URL.Hostname())
	}
	return o.next.RoundTrip(r)
}

// sweep ends the servers of runs that have ended.
func (r *Runs) sweep(ctx context.Context) {
	r.mu.Lock()
	all := maps.Clone(r.open)
	r.mu.Unlock()
	for id, b := range all {
		b.servers.mu.Lock()
		idle := len(b.servers.have) == 0
		b.servers.mu.Unlock()
		if idle {
			continue
		}
		if run, err := store.Get(ctx, r.o.DB, registry.Run, id); err == nil && run.State.Final() {
			b.servers.close()
		}
	}
}

// maxLanguageServers of a run are at work at one time, each in the limits of a command.
const maxLanguageServers = 4

// languages are the language servers of a session's checkout. They see it as commands do, with
// its dependencies, but cannot write it, and work in a folder of their own; they end with the
// session's part. Nil: the configuration wants none.
func (s *Sessions) languages(b *resources, o session.ToolsetOptions) *lsp.Workspace {
	if b.kept().Config.Context.LanguageServers == "off" {
		return nil
	}
	at := o.Repo
	if b.runner.Tier() != sandbox.TierFull {
		at = o.Workspace.Path() // where commands work there
	}
	return b.languages.Open(at, func(ctx context.Context, p lsp.Process) (int, error) {
		defer func() { _ = p.Stdin.Close() }()
		place, err := o.Workspace.Place()
		if err != nil {
			return -1, err
		}
		tools, err := o.Checker.Tools(ctx, place, o.Spec.Contract)
		if err != nil {
			return -1, err
		}
		tools.ReadOnly = append(slices.Clone(tools.ReadOnly), sandbox.Mount{Host: place.Root, At: at, Own: true, Apart: true})
		home := filepath.Join(o.Workspace.Run().Folder(), "languages", strings.ReplaceAll(string(o.Spec.ID()), "/", "+"))
		if err := os.MkdirAll(home, 0o700); err != nil {
			return -1, err
		}
		// What the user has of it where commands see nothing.
		beside := detect.FindBeside(ctx, detect.Input{Dir: b.repo, Env: b.kept().Getenv, Sight: b.runner.Sight(b.repo)}, p.Programs)
		tools, release, err := beside.Around(tools, o.Workspace.Run().Folder())
		if err != nil {
			return -1, err
		}
		defer release()
		limits := o.Limits
		limits.Wall = longest
		res, err := b.runner.Run(ctx, sandbox.Spec{
			Place: sandbox.Place{Root: home, At: home}, Tools: tools, LayerDir: o.LayerDir, Argv: p.Argv,
			Env: append(slices.Clone(p.Env), "HOME="+home), Limits: limits, Reads: o.Reads, Input: p.Stdin, Stdout: p.Stdout,
		})
		if err == nil && res.Cause != sandbox.CauseExited && ctx.Err() == nil {
			err = agency.Errorf(agency.KindTransient, "%s", res.Cause)
		}
		return res.ExitCode, err
	})
}
