package rootfs

import (
	"fmt"

	"golang.org/x/sys/unix"

	"agency/internal/linux"
)

// Kind says what is shown at a path.
type Kind string

// The kinds.
const (
	Bind    Kind = "bind"
	Overlay Kind = "overlay"
	Memory  Kind = "memory" // a tmpfs
	Empty   Kind = "empty"  // an empty read-only folder
)

// fresh says whether what is shown is made anew for every command; all else
// stays mounted as long as the sandbox lives.
func (k Kind) fresh() bool { return k == Overlay || k == Memory }

// Item is one thing to show, in the order of mounting.
type Item struct {
	Kind     Kind
	Host, At string
	Writable bool
	Inside   bool // lies below the repository: no symbolic link on the way counts
	Apart    bool // read-only, and no place of the command: Shows does not count it
	Place    bool // is the repository: made read-only last, for the mount points in it
	Layers   string
	// Warm is a folder that nobody writes any more, which an overlay has over Host.
	Warm string
	// Under is the index of the nearest item that this one lies in, -1 for
	// none.
	Under int
	// HostID and LayersID are device and inode: a folder that was made anew, or
	// put there, at the same path is not the one that is mounted.
	HostID, LayersID, WarmID linux.FileID
}

// Plan is what is shown, the same for all commands of a sandbox.
type Plan struct {
	Items    []Item
	UID, GID int // inside
	// NoSeal makes no overlays of what is only read, as on a kernel that refuses them.
	NoSeal bool `json:",omitempty"`
	// Listeners are the sockets in the system's folders.
	Listeners []string `json:",omitempty"`
}

// underFresh says whether what the item lies in, at whatever depth, is fresh for each
// command.
func (p Plan) underFresh(i int) bool {
	for j := p.Items[i].Under; j >= 0; j = p.Items[j].Under {
		if p.Items[j].Kind.fresh() {
			return true
		}
	}
	return false
}

// Shows says whether anything of a folder of the host, by its path without links,
// is mounted where commands work with it.
func (p Plan) Shows(dir string) bool {
	for _, it := range p.Items {
		if it.Apart {
			continue
		}
		for _, host := range []string{it.Host, it.Layers, it.Warm} {
			if host != "" && linux.Within(host, dir) {
				return true
			}
		}
	}
	return false
}

// Writable are the paths inside that commands can write; looksOn leaves the repository
// itself out.
func (p Plan) Writable(looksOn bool) []string {
	var out []string
	for _, it := range p.Items {
		if (it.Kind == Memory || it.Writable) && !(looksOn && it.Place) {
			out = append(out, it.At)
		}
	}
	return out
}

// Disks opens one folder of each disk that the commands can write to, by
// its path inside.
func (p Plan) Disks() (out []int) {
	seen := map[uint64]bool{}
	for i, it := range p.Items {
		path := it.At
		switch {
		case it.Kind == Overlay:
			path = hiddenLayers(i)
		case it.Kind != Bind || !it.Writable:
			continue
		}
		fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			continue
		}
		var st unix.Stat_t
		if unix.Fstat(fd, &st) != nil || seen[uint64(st.Dev)] {
			_ = unix.Close(fd)
			continue
		}
		seen[uint64(st.Dev)] = true
		out = append(out, fd)
	}
	return out
}

// lowers are where an overlay's folders lie that it only reads, the uppermost first.
func (it Item) lowers(i int) (out []string) {
	if it.Warm != "" {
		out = append(out, hiddenWarm(i))
	}
	if it.Host != "" {
		out = append(out, hiddenLower(i))
	}
	return out
}

func hiddenWarm(i int) string   { return fmt.Sprintf("%s/warm/%d", Hidden, i) }
func hiddenLower(i int) string  { return fmt.Sprintf("%s/lower/%d", Hidden, i) }
func hiddenLayers(i int) string { return fmt.Sprintf("%s/layers/%d", Hidden, i) }
