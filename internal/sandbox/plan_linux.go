package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"agency/internal/agency"
	"agency/internal/linux"
	"agency/internal/linux/overlay"
	"agency/internal/linux/socket"
	"agency/internal/rootfs"
	"agency/internal/supervisor"
)

// prepared is a command that can be handed to a sandbox of its plan.
type prepared struct {
	plan     supervisor.Plan
	req      supervisor.Request
	listener *socket.Socket // landlock tier: where its proxy listens on the host, nil for none
	release  func()
	seal     func() error // of a command that seals what it has built
}

// prepareFull lays out a command of the full tier.
func (r *Runner) prepareFull(s Spec) (prepared, error) {
	var held overlay.Set
	warm := map[string]string{}
	for _, o := range s.Tools.Overlays {
		if err := held.Take(o.At, filepath.Join(s.LayerDir, o.Name)); err != nil {
			held.Release()
			return prepared{}, agency.Errorf(agency.KindTransient, "sandbox: cache layers: %w", err)
		}
		if o.Warm == "" {
			continue
		}
		var err error
		if warm[o.At], err = held.Share(o.Warm); err != nil {
			held.Release()
			return prepared{}, agency.Errorf(agency.KindTransient, "sandbox: sealed cache: %w", err)
		}
	}
	p, err := makePlan(s, r.sight, warm)
	if err != nil {
		held.Release()
		return prepared{}, agency.Errorf(planKind(err), "sandbox: %w", err)
	}
	p.NoSeal = r.noSeal
	seal := func() (err error) {
		for _, o := range s.Tools.Overlays {
			if o.Warm != "" {
				err = errors.Join(err, held.Seal(o.At, o.Warm))
			}
		}
		return err
	}
	return prepared{plan: p, req: makeRequest(s, p, held.Layers), release: held.Release, seal: seal}, nil
}

// Sealed tells whether anything was sealed in a store of Overlay.Warm.
func Sealed(store string) bool { return overlay.Sealed(store) }

// SweepSealed removes what nobody needs of a store of Overlay.Warm.
func SweepSealed(store string, now time.Time) error { return overlay.SweepSealed(store, now) }

// planKind tells a folder that is not there from one that may not be mounted:
// the first can come back, as that of a repository that was moved, and is no
// result of the command.
func planKind(err error) agency.Kind {
	if errors.Is(err, fs.ErrNotExist) {
		return agency.KindTransient
	}
	if agency.KindOf(err) == agency.KindDenied {
		return agency.KindDenied
	}
	return agency.KindInvalid
}

// items lists what is shown, each by where it really leads and as far as the sight
// of commands reaches; err is the first refusal.
type items struct {
	sight agency.Sight
	list  []rootfs.Item
	err   error
}

func (l *items) add(it rootfs.Item, by pledge) {
	if l.err == nil {
		l.err = resolveItem(&it, by, l.sight)
		l.list = append(l.list, it)
	}
}

// makePlan lays out the file system of a sandbox. Paths are sorted parents
// first, so that the repository lies over the system, caches inside the
// repository over it, and none is hidden by what is mounted later; warm
// has the sealed folder of an overlay, by where it appears.
func makePlan(s Spec, sight agency.Sight, warm map[string]string) (supervisor.Plan, error) {
	show := items{sight: sight}
	show.add(rootfs.Item{Kind: rootfs.Memory, At: "/tmp"}, pledgeNone)
	show.add(rootfs.Item{Kind: rootfs.Memory, At: "/dev/shm"}, pledgeNone)
	show.add(rootfs.Item{Kind: rootfs.Bind, Host: s.Place.Root, At: s.Place.At, Writable: !s.Place.ReadOnly, Place: true}, pledgeNone)
	show.add(gitItem(s.Place), pledgeNone)
	for i, at := range objectsAt(s.Place) {
		show.add(rootfs.Item{Kind: rootfs.Bind, Host: s.Place.Objects[i], At: at}, pledgeNone)
	}
	for _, m := range s.Tools.ReadOnly {
		show.add(rootfs.Item{Kind: rootfs.Bind, Host: m.Host, At: m.At, Apart: m.Apart}, found(m.Own))
	}
	for _, m := range s.Reads {
		show.add(rootfs.Item{Kind: rootfs.Bind, Host: m.Host, At: m.At}, pledgeUser)
	}
	if s.Out != "" {
		show.add(rootfs.Item{Kind: rootfs.Bind, Host: s.Out, At: s.Out, Writable: true}, pledgeNone)
	}
	for _, o := range s.Tools.Overlays {
		show.add(rootfs.Item{
			Kind: rootfs.Overlay, Host: o.Lower, At: o.At, Writable: true, Layers: filepath.Join(s.LayerDir, o.Name), Warm: warm[o.At],
		}, found(o.Own))
	}
	if show.err != nil {
		return supervisor.Plan{}, show.err
	}
	for i, it := range show.list {
		show.list[i].Inside = it.At != s.Place.At && linux.Within(it.At, s.Place.At)
	}
	sort.SliceStable(show.list, func(i, j int) bool { return parentFirst(show.list[i].At, show.list[j].At) })
	nest(show.list)
	return supervisor.Plan{Once: s.Out != "", Plan: rootfs.Plan{
		Items: show.list, UID: supervisor.InsideID(os.Getuid()), GID: supervisor.InsideID(os.Getgid()), Listeners: rootfs.Listeners(),
	}}, nil
}

// nest finds what each item lies in: the last before it that contains it.
func nest(items []rootfs.Item) {
	for i := range items {
		items[i].Under = -1
		for j := i - 1; j >= 0; j-- {
			if linux.Within(items[i].At, items[j].At) {
				items[i].Under = j
				break
			}
		}
	}
}

// makeRequest is one command in the sandbox of a plan, whose overlays lie in
// these layers.
func makeRequest(s Spec, p supervisor.Plan, held map[string]overlay.Layer) supervisor.Request {
	r := supervisor.Request{
		Dir: filepath.Join(s.Place.At, s.Dir), Argv: s.Argv, Limits: s.Limits.inside(),
		Env: environment(rootfs.Home, "/tmp", s.Tools.Env, proxyOf(s), s.Env),
	}
	r.Programs = candidates(s.Argv[0], getEnv(r.Env, "PATH"))
	for _, it := range p.Items {
		if it.Kind == rootfs.Overlay {
			r.Layers = append(r.Layers, held[it.At].Name)
		}
	}
	return r
}

func gitItem(p Place) rootfs.Item {
	at := filepath.Join(p.At, ".git")
	if p.GitDir == "" {
		return rootfs.Item{Kind: rootfs.Empty, At: at}
	}
	return rootfs.Item{Kind: rootfs.Bind, Host: p.GitDir, At: at, Writable: true}
}

// pledge is what was promised of the host's path of an item.
type pledge int

const (
	pledgeNone  pledge = iota // the host's own: the checkout, its git dir, a folder for results
	pledgeOwn                 // a folder that the host made in its state folder
	pledgeFound               // judged when it was found, and no link on the way
	pledgeUser                // the user's: judged now, by where it leads
)

// found is the pledge of what a toolchain names.
func found(own bool) pledge {
	if own {
		return pledgeOwn
	}
	return pledgeFound
}

// resolveItem follows the host's symbolic links now, in the host's own view, and
// refuses what commands may not see; an overlay whose lower folder does not exist
// becomes a cache of its own.
func resolveItem(it *rootfs.Item, by pledge, sight agency.Sight) error {
	if it.Layers != "" {
		real, id, err := identify(it.Layers)
		if err != nil {
			return err
		}
		it.Layers, it.LayersID = real, id
	}
	if it.Warm != "" {
		real, id, err := identify(it.Warm)
		if err != nil {
			return err
		}
		it.Warm, it.WarmID = real, id
	}
	if it.Host == "" {
		return nil
	}
	real, id, err := identify(it.Host)
	if os.IsNotExist(err) && it.Kind == rootfs.Overlay {
		it.Host = ""
		return nil
	}
	if err == nil {
		err = by.keeps(it.Host, real, sight)
	}
	it.Host, it.HostID = real, id
	return err
}

// keeps holds a pledge: that what a toolchain names is what was judged, and that
// nothing hidden is shown whoever names it.
func (p pledge) keeps(path, real string, sight agency.Sight) error {
	switch {
	case p == pledgeNone || p == pledgeOwn:
		return nil
	case p == pledgeFound && path != real:
		return agency.Errorf(agency.KindDenied, "commands may not see %s: since it was found it leads to %s", path, real).
			WithMend("start the run again")
	}
	return refusal(path, real, sight.Refuses(real, agency.NamedByUser))
}

// identify follows a path to the end: a folder or an ordinary file, for nothing
// else of the host is shown.
func identify(path string) (real string, id linux.FileID, err error) {
	if real, err = filepath.EvalSymlinks(path); err != nil {
		return "", id, err
	}
	var st unix.Stat_t
	if err := unix.Lstat(real, &st); err != nil {
		return "", id, &os.PathError{Op: "stat", Path: real, Err: err}
	}
	if t := st.Mode & unix.S_IFMT; t != unix.S_IFDIR && t != unix.S_IFREG {
		return "", id, agency.Errorf(agency.KindDenied, "commands may not see %s: it is neither a folder nor an ordinary file", real).
			WithMend("take it out of sandbox.read")
	}
	return real, linux.FileID{uint64(st.Dev), st.Ino}, nil
}

// parentFirst orders paths so that a folder comes before what lies in it.
func parentFirst(a, b string) bool {
	return strings.ReplaceAll(a, "/", "\x00") < strings.ReplaceAll(b, "/", "\x00")
}
