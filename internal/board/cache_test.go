package board

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"agency/internal/agency"
	"agency/internal/store"
)

// TestTheCacheIsWhoIsThere lets agents come, change their role, go and be removed
// at random, in transactions some of which fail: what is remembered of them is
// always what the board says.
func TestTheCacheIsWhoIsThere(t *testing.T) {
	d := newDesk(t)
	rnd := rand.New(rand.NewPCG(3, 4))
	remembered := 0
	for range 1500 {
		id := agency.AgentID(fmt.Sprint("a", rnd.IntN(6)))
		role := agency.RoleID(fmt.Sprint("r", rnd.IntN(3)))
		fails := rnd.IntN(4) == 0
		_ = d.Write(t.Context(), func(tx *store.Tx) (err error) {
			switch rnd.IntN(16) {
			case 0, 1, 2:
				err = Join(tx, Agent{Run: run, ID: id, Role: role})
			case 3, 4:
				err = Leave(tx, run, id, AgentCompleted, "done")
			case 5:
				err = Forget(tx, run)
			default:
				_, err = agentsKnown(tx).party(tx, run, string(id))
			}
			if fails {
				return errSentBefore // any
			}
			return err
		})
		d.do(func(tx *store.Tx) error {
			for who, p := range agentsKnown(tx) {
				remembered++
				is, err := agentCache{}.party(tx, who.Run, string(who.Agent))
				if is != p {
					t.Fatalf("%s is %+v, remembered as %+v", who.Agent, is, p)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	if remembered < 200 {
		t.Errorf("only %d were remembered", remembered)
	}
}
