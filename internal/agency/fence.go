package agency

// Fence is a fencing token. Epoch rises each time a host takes the store; N
// rises with each new holder of what is fenced. A write that carries a lower
// token than the store knows comes from a holder that has been superseded and
// is refused in the same transaction (docs/design.md, Contracts).
type Fence struct {
	Epoch int64 `json:"epoch"`
	N     int64 `json:"n"`
}

// Less orders tokens by epoch, then by holder.
func (f Fence) Less(g Fence) bool {
	if f.Epoch != g.Epoch {
		return f.Epoch < g.Epoch
	}
	return f.N < g.N
}
