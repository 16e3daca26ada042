package board

import (
	"time"

	"agency/internal/lease"
	"agency/internal/store"
)

// clock is what times to live, deadlines, holds and heartbeats count on: time
// during which a host lived and the machine was awake. It goes on where it
// stood when another host takes over.
func clock(q store.Querier) (time.Duration, error) { return lease.Awake(q) }
