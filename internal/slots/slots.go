// Package slots holds what is scarce on the machine: a resource has so many slots, and
// whoever runs a command that needs it holds one of them meanwhile. A slot is a file in a
// folder of the user, held by a lock of the operating system on it: it counts for all
// processes of the user on this machine, and the end of the process that holds it,
// however it comes, gives it back without anybody cleaning up.
//
// Those who wait in one process come first come first served: who needs what an earlier one
// waits for waits behind it. Between processes there is no queue: whoever asks first after a
// slot was given back has it, and asks the more often the longer it has waited.
//
// It does not know commands: who needs what, and who is told of the waiting, is the
// caller's business.
package slots

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"agency/internal/agency"
)

// Folder is where the slots lie in a user's state folder.
func Folder(state string) string { return filepath.Join(state, "resources") }

// How far two tries are apart, and after how long whoever waits is told to.
const (
	firstPause = 500 * time.Millisecond
	leastPause = 100 * time.Millisecond
	patience   = time.Second
)

// Pool is the resources of a user as one configuration counts them. Another one may
// count them otherwise: each uses the slots up to its own count. The zero Pool has
// none. It is safe for concurrent use.
type Pool struct {
	dir    string
	counts map[string]int
	line   *line
}

// New makes a Pool over a folder, which is made when the first slot is taken; counts is
// how many slots each resource has.
func New(dir string, counts map[string]int) *Pool {
	return &Pool{dir: dir, counts: counts, line: newLine()}
}

// Counted is the same pool as another configuration counts it: those who wait for either
// wait in one line.
func (p *Pool) Counted(counts map[string]int) *Pool {
	return &Pool{dir: p.dir, counts: counts, line: p.line}
}

// Busy is what keeps somebody waiting: a resource all of whose slots are held.
type Busy struct {
	Resource string
	Of       int // its slots
}

// Held is a slot of each resource that was asked for.
type Held struct {
	files []*os.File
	line  *line
	// Waited is how long it took to get them.
	Waited time.Duration
}

// Release gives them back. It may be called again, and on nil.
func (h *Held) Release() {
	if h == nil {
		return
	}
	for _, f := range h.files {
		_ = f.Close() // the lock goes with the file
	}
	if len(h.files) > 0 && h.line != nil {
		h.line.tell()
	}
	h.files = nil
}

// Wait is what is told of whoever waits. Each is called by whoever waits, and its error ends
// the waiting.
type Wait struct {
	// Busy is called once where it waits for longer than a second.
	Busy func(Busy) error
	// Rest, where set, is called again and again while it waits. It may rest itself, and
	// tells so: whoever has rested begins to wait anew, behind those who came meanwhile, and
	// what it rested is no waiting.
	Rest func(ctx context.Context, leave func()) (rested bool, err error)
}

// Take takes a slot of each resource, all or none, and waits until they are to be had or
// the context ends, whose cause is the error then. The same name twice is one slot.
func (p *Pool) Take(ctx context.Context, names []string, tell Wait) (*Held, error) {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	if len(names) == 0 {
		return &Held{}, nil
	}
	if err := p.known(names); err != nil {
		return nil, err
	}
	w := p.line.join(names)
	defer func() { p.line.leave(w) }()
	began, told, waits := time.Now(), false, false
	for pause := firstPause; ; pause = max(pause*3/4, leastPause) {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		first, moved := p.line.behind(w)
		busy := &Busy{first, p.counts[first]}
		if first == "" {
			held, b, err := p.try(names)
			if err != nil {
				return nil, err
			}
			if busy = b; busy == nil {
				held.Waited, held.line = time.Since(began), p.line
				return held, nil
			}
		}
		if !waits {
			waits = true
			defer stops(ctx)()
		}
		if !told && time.Since(began) >= patience {
			told = true
			if err := tell.Busy(*busy); err != nil {
				return nil, err
			}
		}
		if tell.Rest != nil {
			rested, err := tell.Rest(ctx, func() { p.line.leave(w) })
			if err != nil {
				return nil, err
			}
			if rested {
				w, began, told, pause = p.line.join(names), time.Now(), false, firstPause
				continue
			}
		}
		next := time.NewTimer(pause + rand.N(pause)) // not all at once
		select {
		case <-next.C:
		case <-moved:
			next.Stop()
		case <-ctx.Done():
			next.Stop()
		}
	}
}

func (p *Pool) known(names []string) error {
	for _, name := range names {
		if _, ok := p.counts[name]; !ok {
			return agency.Errorf(agency.KindInvalid, "resource %s: no such one is configured", name).WithMend("set resources.%s in your own configuration: agency config show resources", name)
		}
	}
	return nil
}

// try takes all of them, or gives back what it got and says what it could not have. All
// who ask take in the order of the names.
func (p *Pool) try(names []string) (h *Held, busy *Busy, err error) {
	h = &Held{}
	defer func() {
		if err != nil || busy != nil {
			h.Release()
		}
	}()
	for _, name := range names {
		n := p.counts[name]
		f, err := p.one(name, n)
		if err != nil {
			return h, nil, err
		}
		if f == nil {
			return h, &Busy{name, n}, nil
		}
		h.files = append(h.files, f)
	}
	return h, nil, nil
}

// one takes a slot of n; nil: all are held.
func (p *Pool) one(name string, n int) (*os.File, error) {
	for i := range n {
		f, err := take(p.dir, slotName(name, i), true)
		if err != nil || f != nil {
			return f, faulty(p.dir, err)
		}
	}
	return nil, nil
}

func slotName(name string, i int) string { return fmt.Sprintf("%s.%d.lock", name, i) }

// InUse is how many slots of a resource are held now. It takes those that are free for a
// moment, makes nothing, and waits for nobody.
func (p *Pool) InUse(name string) (n int, err error) {
	for i := range p.counts[name] {
		f, err := take(p.dir, slotName(name, i), false)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return n, faulty(p.dir, err)
		case f == nil:
			n++
		default:
			_ = f.Close() // only looked at
		}
	}
	return n, nil
}

func faulty(dir string, err error) error {
	if err == nil {
		return nil
	}
	return agency.Errorf(agency.KindTransient, "resources: %w", err).
		WithMend("rm -r %s once nothing runs, and make its parent yours alone: chmod 700 %s", dir, filepath.Dir(dir))
}
