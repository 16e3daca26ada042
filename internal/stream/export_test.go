package stream

import "agency/internal/api"

// Told is what Next would tell now.
func (t *Tail) Told() []api.Delta { return t.gather() }

// Held is how many runs the hub remembers.
func (h *Hub) Held() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.runs)
}
