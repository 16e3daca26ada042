package lease

import (
	"time"

	"agency/internal/store"
)

// tickEvery is how much of the clock a killed host may lose.
const tickEvery = time.Second

// Awake is the store's own clock: how long hosts have lived on it, without the
// time that the machine was asleep and without the time between two hosts. It
// never goes back. Leases, deadlines and times to live count on it, so that
// neither a restart nor a change of the wall clock ends one early.
//
// In a transaction it also keeps the clock: a host that dies loses at most the
// second since the last transaction that asked.
func Awake(q store.Querier) (time.Duration, error) {
	var mono time.Duration
	tx, writes := q.(*store.Tx)
	switch v := q.(type) {
	case *store.Tx:
		mono = v.Mono
	case *store.Snapshot:
		mono = v.Mono()
	}
	var base, tick time.Duration
	if err := q.QueryRow(selectClock).Scan(&base, &tick); err != nil {
		return 0, err
	}
	now := base + mono
	if now >= tick && now < tick+tickEvery {
		return now, nil
	}
	if now < tick { // a new host, whose monotonic clock begins anew
		now, base = tick, tick-mono
	}
	if !writes {
		return now, nil
	}
	_, err := tx.Exec(updateClock, int64(base), int64(now))
	return now, err
}
