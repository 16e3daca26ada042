package host

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"agency/internal/agency"
)

// Vault holds the keys that clients brought, in memory only, and takes them
// out of whatever is about to be written.
type Vault struct {
	mu     sync.Mutex
	byRun  map[agency.RunID]map[string]string
	hidden map[string]bool
	words  atomic.Pointer[[][]byte]
}

// NewVault makes an empty vault.
func NewVault() *Vault {
	return &Vault{byRun: map[agency.RunID]map[string]string{}, hidden: map[string]bool{}}
}

// minSecret is the shortest text that is taken for a secret: a shorter one is
// a placeholder, and taking it out would mangle ordinary text.
const minSecret = 8

// Put adds a run's keys by provider; those of an earlier client stay where the
// new one has none.
func (v *Vault) Put(run agency.RunID, secrets map[string]string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	have := v.byRun[run]
	if have == nil {
		have = map[string]string{}
		v.byRun[run] = have
	}
	for provider, key := range secrets {
		if key != "" {
			have[provider] = key
		}
	}
	v.rebuild()
}

// minHidden is the shortest text that Hide takes: what is hidden is used by no
// run, and a placeholder such as "not-needed" is not worth mangling text for.
const minHidden = 12

// maxHidden bounds how many texts are hidden.
const maxHidden = 256

// Hide takes texts out of what is written although no run uses them as keys.
func (v *Vault) Hide(texts []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, t := range texts {
		if len(t) >= minHidden && len(v.hidden) < maxHidden {
			v.hidden[t] = true
		}
	}
	v.rebuild()
}

// Key is the key of a run for a provider.
func (v *Vault) Key(run agency.RunID, provider string) (string, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	key, ok := v.byRun[run][provider]
	return key, ok
}

// rebuild lists what is taken out, longest first, so that a key that contains
// another goes whole. Keys stay listed after their run has ended: its last
// events are still being written then.
func (v *Vault) rebuild() {
	seen := map[string]bool{}
	list := func(key string) {
		if len(key) < minSecret {
			return
		}
		seen[key] = true
		if b, err := json.Marshal(key); err == nil { // as it stands inside a JSON string
			seen[string(b[1:len(b)-1])] = true
		}
	}
	for _, secrets := range v.byRun {
		for _, key := range secrets {
			list(key)
		}
	}
	for key := range v.hidden {
		list(key)
	}
	words := make([][]byte, 0, len(seen))
	for _, w := range slices.SortedFunc(maps.Keys(seen), func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) }) {
		words = append(words, []byte(w))
	}
	v.words.Store(&words)
}

// redacted stands where a key stood.
var redacted = []byte("[redacted]")

// Redact takes every key out of a text. It returns b itself where there is
// none in it.
func (v *Vault) Redact(b []byte) []byte {
	words := v.words.Load()
	if words == nil {
		return b
	}
	for _, w := range *words {
		if bytes.Contains(b, w) {
			b = bytes.ReplaceAll(b, w, redacted)
		}
	}
	return b
}
