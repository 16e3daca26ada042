package codebase

import (
	"io/fs"
	"sync"
	"time"

	"agency/internal/fingerprint"
)

// maxStates is how many states of files are remembered.
const maxStates = 1 << 20

// states remembers what files of folders are by what the kernel says of them, so that a
// search reads only what changed.
type states struct {
	mu   sync.Mutex
	have map[string]known // by folder and path
}

// known is a file as it was read: its state, and "" as the key of one that is no text.
type known struct {
	state, key string
	size       int
}

// stateOf is a file of the checkout as a source; false where it is no text.
func stateOf(t Tree, name string, d fs.DirEntry) (source, bool) {
	now, place := "", t.at+"\x00"+name
	if t.at != "" {
		if info, err := d.Info(); err == nil {
			now = fingerprint.File(info, time.Now())
		}
	}
	m := &t.e.states
	m.mu.Lock()
	k, have := m.have[place]
	m.mu.Unlock()
	if now != "" && have && k.state == now {
		return source{path: name, key: k.key, size: k.size}, k.key != ""
	}
	text := t.read(name)
	s := source{path: name, size: len(text), text: text}
	if text != nil {
		s.key = keyOf(name, text)
	}
	if now != "" {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.have == nil || len(m.have) >= maxStates {
			m.have = map[string]known{}
		}
		m.have[place] = known{now, s.key, s.size}
	}
	return s, text != nil
}
