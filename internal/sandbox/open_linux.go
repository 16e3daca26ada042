package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"agency/internal/agency"
	"agency/internal/beneath"
	"agency/internal/linux/overlay"
	"agency/internal/linux/socket"
	"agency/internal/rootfs"
	"agency/internal/supervisor"
)

// prepareLandlock lays out a command of the landlock tier: it works in the
// checkout at the host's own path, with a folder for temporary files of its own
// and caches of its own, which begin with the user's.
func (r *Runner) prepareLandlock(s Spec) (prepared, error) {
	fail := func(kind agency.Kind, err error) (prepared, error) {
		return prepared{}, agency.Errorf(kind, "sandbox: %w", err)
	}
	caches := map[string]string{}
	for _, o := range s.Tools.Overlays {
		if err := mayBegin(o, r.sight); err != nil {
			return fail(planKind(err), err)
		}
		own, err := overlay.Warm(filepath.Join(s.LayerDir, o.Name), o.Lower)
		if err != nil {
			return fail(agency.KindTransient, fmt.Errorf("cache %s: %w", o.At, err))
		}
		caches[o.At] = own
	}
	p, err := r.openPlan(s, caches)
	if err != nil {
		return fail(planKind(err), err)
	}
	tmp, err := tempDir("agency-landlock-")
	if err != nil {
		return fail(agency.KindTransient, err)
	}
	c := prepared{plan: p, req: supervisor.Request{Dir: filepath.Join(s.Place.Root, s.Dir), Argv: s.Argv, Limits: s.Limits.inside(), Tmp: tmp}}
	tools, own, vars := s.Tools.Env, s.Env, []string(nil)
	if len(s.Hosts) > 0 && r.ReachesHosts() {
		if err := c.listen(); err != nil {
			_ = beneath.Remove(tmp)
			return fail(agency.KindTransient, fmt.Errorf("proxy: %w", err))
		}
		tools, own, vars = javaProxyAt(tools, c.req.Port), javaProxyAt(own, c.req.Port), proxyEnv(c.req.Port)
	}
	at := onHost(s, caches)
	c.req.Env = environment(tmp, tmp, moved(tools, at), plainGit(s.Place), vars, moved(own, at))
	c.req.Programs = candidates(s.Argv[0], getEnv(c.req.Env, "PATH"))
	c.release = func() {
		if c.listener != nil {
			_ = c.listener.Close() // where the command never began
		}
		_ = beneath.Remove(tmp)
	}
	return c, nil
}

// listen opens the listener of the command's proxy.
func (c *prepared) listen() (err error) {
	if c.listener, err = socket.Listen([4]byte{127, 0, 0, 1}, 0); err != nil {
		return err
	}
	if c.req.Port, err = c.listener.Port(); err != nil {
		return errors.Join(err, c.listener.Close())
	}
	return nil
}

// openPlan lists what a command of the landlock tier can reach.
func (r *Runner) openPlan(s Spec, caches map[string]string) (supervisor.Plan, error) {
	show := items{sight: r.sight}
	add := func(host string, writable bool, by pledge) {
		if host != "" {
			show.add(rootfs.Item{Kind: rootfs.Bind, Host: host, Writable: writable, Under: -1}, by)
		}
	}
	looksOn := s.Begun != nil
	show.add(rootfs.Item{Kind: rootfs.Bind, Host: s.Place.Root, Writable: !s.Place.ReadOnly && !looksOn, Apart: looksOn, Under: -1}, pledgeNone)
	add(s.Place.GitDir, true, pledgeNone)
	add(s.Out, true, pledgeNone)
	for _, o := range s.Place.Objects {
		add(o, false, pledgeNone)
	}
	for _, m := range s.Tools.ReadOnly {
		show.add(rootfs.Item{Kind: rootfs.Bind, Host: m.Host, Apart: m.Apart, Under: -1}, found(m.Own))
	}
	for _, m := range s.Reads {
		add(m.Host, false, pledgeUser)
	}
	for _, o := range s.Tools.Overlays {
		add(caches[o.At], true, pledgeNone)
		if _, err := os.Stat(o.Lower); err == nil {
			add(o.Lower, false, found(o.Own)) // its large files are linked
		}
	}
	for i := range show.list {
		show.list[i].At = show.list[i].Host
	}
	return supervisor.Plan{Landlock: true, Loopback: r.loopback, Once: s.Out != "", Plan: rootfs.Plan{Items: show.list}}, show.err
}

// mayBegin says whether a cache of a command's own may begin with the user's.
func mayBegin(o Overlay, sight agency.Sight) error {
	return resolveItem(&rootfs.Item{Kind: rootfs.Overlay, Host: o.Lower}, found(o.Own), sight)
}

// refusedSocket is how programs say that there are no such sockets.
var refusedSocket = []byte("ddress family not supported")

// tellOpen tells a command that failed for want of loopback what it needs, and
// whose caches stood in for the user's.
func (r *Runner) tellOpen(s Spec, res *Result) {
	for _, o := range s.Tools.Overlays {
		res.OwnCaches = append(res.OwnCaches, o.At)
	}
	if res.ExitCode == 0 {
		return
	}
	if len(s.Hosts) > 0 && !r.loopback && !r.ReachesHosts() {
		res.tell("this machine's tier cannot hold a command to a proxy: " + strings.Join(s.Hosts, ", ") + " cannot be reached; " + waysOut())
	}
	if r.loopback || !bytes.Contains(res.Output, refusedSocket) {
		return
	}
	res.tell("needs loopback: this machine's tier has no network of its own and denies sockets; sandbox.loopback: allow opens those of the internet, " +
		"and with them every service on this machine's loopback and, as this tier cannot tell it from the world, the internet; none that have a path")
}
