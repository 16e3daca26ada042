package boardtest_test

import (
	"reflect"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/board/boardtest"
	"agency/internal/race"
	"agency/internal/store"
)

type doing = map[string]func(*store.Tx, agency.RunID, boardtest.Op) (boardtest.Result, error)

// TestPlantedBugs: the suite finds each of them.
func TestPlantedBugs(t *testing.T) {
	if race.Enabled {
		t.Skip("the suite itself is what is tested here")
	}
	ours := &backend{}
	for name, bug := range map[string]bug{
		"acknowledges before the commit": {early: true},
		"a broadcast loses one": {after: map[string]string{"send": `DELETE FROM board_delivery
WHERE (message, agent) = (SELECT message, max(agent) FROM board_delivery GROUP BY message ORDER BY message DESC LIMIT 1)
AND (SELECT recipient FROM board_message ORDER BY seq DESC LIMIT 1) = '*'`}},
		"a claim is not kept":          {repeated: "claim"},
		"every role may be written to": {anybody: true},
		"agents are known by heart":    {instead: doing{"join": byHeart, "leave": byHeart}},
		"no sender is told": {after: map[string]string{"leave": `UPDATE board_message SET status = 'read'
WHERE sender = 'system' AND status = 'pending'`}},
		"times by the wall clock": {options: func(o *store.Options) {
			now := o.Now
			o.Mono = func() time.Duration { return now().Sub(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)) }
		}},
		"a swap that does not compare": {instead: doing{"swap": func(tx *store.Tx, run agency.RunID, op boardtest.Op) (boardtest.Result, error) {
			op.Do = "put"
			return ours.state(tx, run, op)
		}}},
		"what was held is lost":    {forgets: true},
		"who leaves keeps it":      {instead: doing{"leave": onlyLeaves}},
		"a deletion is no version": {after: map[string]string{"delete": `DELETE FROM board_state WHERE deleted = 1`}},
	} {
		t.Run(name, func(t *testing.T) {
			rig := boardtest.NewRig(t.TempDir(), sqlite(bug))
			t.Cleanup(func() { _ = rig.Close() })
			for seed := range uint64(1000) {
				if err := rig.Play(t.Context(), boardtest.Program(seed)); err != nil {
					t.Logf("found by program %d: %v", seed, err)
					return
				}
			}
			t.Error("not found")
		})
	}
}

// byHeart keeps what is remembered of an agent that comes or goes.
func byHeart(tx *store.Tx, run agency.RunID, op boardtest.Op) (boardtest.Result, error) {
	for _, v := range tx.Memory() {
		if crew := reflect.ValueOf(v); crew.Kind() == reflect.Map {
			known := reflect.MakeMap(crew.Type())
			copyInto(known, crew)
			defer copyInto(crew, known)
		}
	}
	text, err := (&backend{}).plain(tx, run, op)
	return boardtest.Result{Text: text}, err
}

func copyInto(to, from reflect.Value) {
	for k, v := range from.Seq2() {
		to.SetMapIndex(k, v)
	}
}

// onlyLeaves ends an agent that keeps what it holds.
func onlyLeaves(tx *store.Tx, run agency.RunID, op boardtest.Op) (boardtest.Result, error) {
	if _, err := board.AgentOf(tx, run, agency.AgentID(op.Who)); err != nil {
		return boardtest.Result{}, err
	}
	_, err := tx.Exec(`UPDATE board_agent SET completed_at = 1, status = 'failed' WHERE run_id = ? AND agent_id = ?`, string(run), op.Who)
	return boardtest.Result{Text: "ok"}, err
}

// TestOrdered: the search finds an order where there is one, and only there.
func TestOrdered(t *testing.T) {
	put := func(text, says string, begun, ended int64) boardtest.Call {
		return boardtest.Call{Op: boardtest.Op{Do: "put", Who: "a", At: "k", Text: text}, Result: boardtest.Result{Text: says}, Begun: begun, Ended: ended}
	}
	get := func(says string, begun, ended int64) boardtest.Call {
		return boardtest.Call{Op: boardtest.Op{Do: "get", Who: "b", At: "k"}, Result: boardtest.Result{Text: says}, Begun: begun, Ended: ended}
	}
	swap := func(version int64, says string, begun, ended int64) boardtest.Call {
		return boardtest.Call{Op: boardtest.Op{Do: "swap", Who: "b", At: "k", Text: "9", Version: version}, Result: boardtest.Result{Text: says}, Begun: begun, Ended: ended}
	}
	for name, tt := range map[string]struct {
		calls []boardtest.Call
		want  bool
	}{
		"one after the other":    {[]boardtest.Call{put("1", "1", 1, 2), get("1:1", 3, 4)}, true},
		"a read of the past":     {[]boardtest.Call{put("1", "1", 1, 2), put("2", "2", 3, 4), get("1:1", 5, 6)}, false},
		"a read meanwhile":       {[]boardtest.Call{put("1", "1", 1, 2), put("2", "2", 3, 6), get("1:1", 4, 5)}, true},
		"a read of the future":   {[]boardtest.Call{get("1:1", 1, 2), put("1", "1", 3, 4)}, false},
		"two swaps of a version": {[]boardtest.Call{swap(0, "1", 1, 3), swap(0, "1", 2, 4)}, false},
		"one swap comes late":    {[]boardtest.Call{swap(0, "1", 1, 3), swap(0, "conflict 1", 2, 4)}, true},
	} {
		if got := boardtest.Ordered(tt.calls, "a", "b"); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
