package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"agency/internal/agency"
)

// prepareLandlock lays out a command of the landlock tier: it works in the
// checkout at the host's own path, with a folder for temporary files of its own
// and caches of its own, which begin with the user's.
func (r *Runner) prepareLandlock(s Spec) (plan, request, func(), error) {
	fail := func(kind agency.Kind, err error) (plan, request, func(), error) {
		return plan{}, request{}, nil, agency.Errorf(kind, "sandbox: %w", err)
	}
	caches := map[string]string{}
	for _, o := range s.Tools.Overlays {
		own, err := warmCache(filepath.Join(s.LayerDir, o.Name), o.Lower)
		if err != nil {
			return fail(agency.KindTransient, fmt.Errorf("cache %s: %w", o.At, err))
		}
		caches[o.At] = own
	}
	p, err := openPlan(s, r.loopback, caches)
	if err != nil {
		return fail(planKind(err), err)
	}
	tmp, err := tempDir("agency-landlock-")
	if err != nil {
		return fail(agency.KindTransient, err)
	}
	req := request{Dir: filepath.Join(s.Place.Root, s.Dir), Argv: s.Argv, Limits: s.Limits, Tmp: tmp}
	tools, own, ways := s.Tools.Env, s.Env, []string(nil)
	if len(s.Hosts) > 0 && r.ReachesHosts() {
		if err := req.listen(); err != nil {
			_ = removeWork(tmp)
			return fail(agency.KindTransient, fmt.Errorf("proxy: %w", err))
		}
		tools, own, ways = javaProxyAt(tools, req.Port), javaProxyAt(own, req.Port), proxyEnv(req.Port)
	}
	req.Env = environment(tmp, tmp, moved(tools, caches), plainGit(s.Place), ways, moved(own, caches))
	return p, req, func() {
		if req.door != nil {
			_ = req.door.Close() // where the command never began
		}
		_ = removeWork(tmp)
	}, nil
}

// listen opens the door of the command's proxy.
func (r *request) listen() (err error) {
	if r.door, err = listenOn([4]byte{127, 0, 0, 1}, 0); err != nil {
		return err
	}
	if r.Port, err = r.door.port(); err != nil {
		return errors.Join(err, r.door.Close())
	}
	return nil
}

// openPlan lists what a command of the landlock tier can reach.
func openPlan(s Spec, loopback bool, caches map[string]string) (plan, error) {
	p := plan{Tier: TierLandlock, Loopback: loopback, Once: s.Out != "", At: s.Place.Root}
	add := func(host string, writable bool) {
		if host != "" {
			p.Items = append(p.Items, item{Kind: kindBind, Host: host, At: host, Writable: writable, Under: -1})
		}
	}
	add(s.Place.Root, !s.Place.ReadOnly)
	add(s.Place.GitDir, true)
	add(s.Out, true)
	for _, o := range s.Place.Objects {
		add(o, false)
	}
	for _, ms := range [][]Mount{s.Tools.ReadOnly, s.Reads} {
		for _, m := range ms {
			add(m.Host, false)
		}
	}
	for _, o := range s.Tools.Overlays {
		add(caches[o.At], true)
		if _, err := os.Stat(o.Lower); err == nil {
			add(o.Lower, false) // its large files are linked
		}
	}
	for i := range p.Items {
		if err := resolveItem(&p.Items[i]); err != nil {
			return plan{}, err
		}
		p.Items[i].At = p.Items[i].Host
	}
	return p, nil
}

// moved makes variables that name a cache name the one that stands in for it.
func moved(env []string, caches map[string]string) []string {
	out := make([]string, len(env))
	for i, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		for at, own := range caches {
			if within(value, at) {
				kv = name + "=" + own + strings.TrimPrefix(value, at)
			}
		}
		out[i] = kv
	}
	return out
}

// gaps are what the landlock tier leaves open, by the kernel's age.
func (t Tier) gaps(loopback bool) []string {
	if t != TierLandlock {
		return nil
	}
	gaps := []string{
		"modes, owners and times of your files outside can be changed, where your user may",
		"names, sizes and command lines of files and processes outside can be seen, and what /proc tells your user of the kernel",
		"all that the kernel has of file watches for your user can be held while a command runs",
		"a process that a command leaves ends with the next look, not at once, and lives on if its keeper is killed",
		".git below a checkout can be written; the host never reads it",
		"temporary files are on the machine's disk and bounded by counting, shared memory is the machine's own",
		"caches begin with a part of yours, and dependency folders are copied into each checkout",
	}
	switch {
	case loopback:
	case knowsPorts():
		gaps = append(gaps, "a command that may reach hosts (sandbox.allow_hosts, setup_hosts) can connect to the port of its proxy, another each time, "+
			"on every machine, and other programs of this one can use that proxy")
	default:
		gaps = append(gaps, "sandbox.allow_hosts and setup_hosts have no effect: this kernel's Landlock cannot hold a command to the port of a proxy (Linux before 6.7)")
	}
	if landlockInForce() < 6 {
		gaps = append(gaps, "your other processes can be sent signals (Linux before 6.12)")
	}
	if loopback {
		gaps = append(gaps, "the network is open (sandbox.loopback: allow)",
			"sockets that have a path, such as a container daemon's, can be reached (sandbox.loopback: allow)")
	}
	return gaps
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
		res.Output = append(res.Output, ("sandbox: this machine's tier cannot hold a command to a proxy: " +
			strings.Join(s.Hosts, ", ") + " cannot be reached; " + waysOut() + "\n")...)
	}
	if r.loopback || !bytes.Contains(res.Output, refusedSocket) {
		return
	}
	res.Output = append(res.Output, "sandbox: needs loopback: this machine's tier has no network of its own and denies sockets; sandbox.loopback: allow opens them\n"...)
}
