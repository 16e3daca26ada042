package board

import (
	"time"

	"agency/internal/agency"
	"agency/internal/store"
)

// What agents share beside their mail stands in packages below this one, which
// it does not know. They follow what is told here by hooks (store.On), in the
// transaction in which it happens.

// Member names an agent of a run.
type Member struct {
	Run   agency.RunID
	Agent agency.AgentID
}

// HandedOver tells that a package is in the inbox of a contract's next agent.
// Its id is that of the message.
func HandedOver() store.Topic[Package] { return store.Topic[Package]{Name: "board.handoff"} }

// Package is a handoff with the id of its message.
type Package struct {
	ID agency.MessageID
	agency.HandoffPackage
}

// Timed is something that ends by time.
type Timed struct {
	// Due is when the next Expire has something to do, in time of the awake clock
	// from now; ok is false while nothing is timed.
	Due func(store.Querier) (in time.Duration, ok bool, err error)
	// Expire ends what is over, in all runs and at most most of it, and returns how
	// much there was. Who watches sees it go, and who waits gets its turn; for all
	// others each operation looks at the clock itself.
	Expire func(tx *store.Tx, most int) (int, error)
}

// WakeMaintain has Maintain look again once the transaction is durable: something
// in it has a time.
func WakeMaintain(tx *store.Tx) { publish(tx, change{timed: true}) }
