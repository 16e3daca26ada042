package host

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"agency/internal/agency"
)

// Secrets holds the keys that clients brought, in memory only, and takes those
// that are secrets out of whatever is about to be written.
type Secrets struct {
	mu       sync.Mutex
	byRun    map[agency.RunID]map[string]string
	hidden   map[string]bool
	ordinary map[string]bool
	brought  func() // told when a client brought keys
	redactor atomic.Pointer[agency.Redactor]
}

// NewSecrets holds no key yet. What occurs in an ordinary text, such as the
// repository's path, is no secret.
func NewSecrets(ordinary ...string) *Secrets {
	v := &Secrets{byRun: map[agency.RunID]map[string]string{}, hidden: map[string]bool{}, ordinary: map[string]bool{}}
	v.know(ordinary)
	return v
}

// OnPut calls f whenever a client has brought keys. Set it before the first does.
func (v *Secrets) OnPut(f func()) { v.brought = f }

// Put adds a run's keys by provider, or place to announce to; those of an earlier client stay where the
// new one has none. Ordinary are the words of the run's configuration.
func (v *Secrets) Put(run agency.RunID, secrets map[string]string, ordinary ...string) {
	if v.brought != nil {
		defer v.brought()
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.know(ordinary)
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

// maxOrdinary bounds the texts in which no secret stands.
const maxOrdinary = 4096

func (v *Secrets) know(ordinary []string) {
	for _, o := range ordinary {
		if len(v.ordinary) < maxOrdinary {
			v.ordinary[o] = true
		}
	}
}

// maxHidden bounds how many texts are hidden.
const maxHidden = 256

// Hide takes secrets out of what is written although no run uses them as keys.
func (v *Secrets) Hide(texts []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, t := range texts {
		if agency.IsSecret(t) && len(v.hidden) < maxHidden {
			v.hidden[t] = true
		}
	}
	v.rebuild()
}

// Key is the key of a run for a provider.
func (v *Secrets) Key(run agency.RunID, provider string) (string, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	key, ok := v.byRun[run][provider]
	return key, ok
}

// Runs are those that keys are known of, sorted.
func (v *Secrets) Runs() []agency.RunID {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Sorted(maps.Keys(v.byRun))
}

// Placeholders names the providers of a run whose keys are no secrets, sorted:
// these are not taken out of anything.
func (v *Secrets) Placeholders(run agency.RunID) (providers []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	ordinary := slices.Collect(maps.Keys(v.ordinary))
	for provider, key := range v.byRun[run] {
		if !strings.HasPrefix(provider, "notify[") && !agency.IsSecret(key, ordinary...) { // an address may be nobody's secret
			providers = append(providers, provider)
		}
	}
	slices.Sort(providers)
	return providers
}

// rebuild makes the redactor. Keys stay in it after their run has ended: its
// last events are still being written then.
func (v *Secrets) rebuild() {
	ordinary := slices.Collect(maps.Keys(v.ordinary))
	all := maps.Clone(v.hidden)
	for _, secrets := range v.byRun {
		for _, key := range secrets {
			all[key] = true
		}
	}
	maps.DeleteFunc(all, func(key string, _ bool) bool { return !agency.IsSecret(key, ordinary...) })
	v.redactor.Store(agency.NewRedactor(slices.Sorted(maps.Keys(all))...))
}

// Redactor is what takes out those that are known now.
func (v *Secrets) Redactor() *agency.Redactor { return v.redactor.Load() }

// Redact takes every secret out of a text. It returns b itself where there is
// none in it.
func (v *Secrets) Redact(b []byte) []byte { return v.redactor.Load().Bytes(b) }
