package main

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"time"

	"agency/internal/agency"
	"agency/internal/config"
	"agency/internal/overseer"
)

const (
	watchedAgents  = 100
	watchedSeconds = 60
	eventsASecond  = 5 // of each agent
)

// overseerRow lets the overseer watch a minute of a hundred agents, and compares
// that with reading the same events. How much of a core it takes, and how much
// memory it keeps, are figures against what it may.
func overseerRow() row {
	return row{figures: []string{"overseer/watch-vs-decode", "overseer/core-100", "overseer/resident-100"}, cheap: true, measure: func(ctx context.Context, b *bench) ([]figure, error) {
		lines, err := minuteOfEvents()
		if err != nil {
			return nil, err
		}
		events := make([]agency.Event, len(lines))
		decode := func(context.Context) (float64, error) {
			begun := time.Now()
			for i, l := range lines {
				if err := json.Unmarshal(l, &events[i]); err != nil {
					return 0, err
				}
			}
			return float64(time.Since(begun)), nil
		}
		if _, err := decode(ctx); err != nil {
			return nil, err
		}
		var kept *overseer.Watch
		s, err := b.rounds(ctx, contender{"decode", decode}, contender{"watch", func(context.Context) (float64, error) {
			kept = overseer.NewWatch(config.Defaults().Overseer)
			begun := time.Now()
			for _, e := range events {
				if _, faults := kept.Observe(e); len(faults) > 0 {
					return 0, fmt.Errorf("%+v", faults[0])
				}
			}
			return float64(time.Since(begun)), nil
		}})
		if err != nil {
			return nil, err
		}
		with := heapInUse()
		runtime.KeepAlive(kept)
		kept = nil
		without := heapInUse()
		raw := []string{s.raw("watch", 1e6, "ms"), s.raw("decode", 1e6, "ms")}
		core := median(s["watch"]) / float64(watchedSeconds*time.Second) / 0.02
		resident := (float64(with) - float64(without)) / (32 << 20)
		return []figure{
			{"overseer/watch-vs-decode", s.ratio("watch", "decode"), atMost(3), raw},
			{"overseer/core-100", core, atMost(1), raw},
			{"overseer/resident-100", resident, atMost(1), nil},
		}, nil
	}}
}

func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// minuteOfEvents are those of agents that read, change and test, four events a turn.
func minuteOfEvents() ([][]byte, error) {
	var out [][]byte
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for n := range watchedSeconds * eventsASecond {
		for agent := range watchedAgents {
			session, turn := agency.SessionID(fmt.Sprint("s", agent)), n/4+1
			args := fmt.Appendf(nil, `{"path":"pkg/file%d.go","old_text":"a%d","new_text":"b%d"}`, n%40, n, n)
			tool := []string{"read_file", "edit_file", "run_tests"}[n%3]
			var d agency.Detail = agency.ToolCalled{Session: session, Turn: turn, Tool: tool, CallDigests: overseer.DigestsOf(args, fmt.Sprint("answer ", n))}
			if n%4 == 3 {
				d = agency.TurnCompleted{Session: session, Turn: turn, In: int64(9000 + n), Cached: 8000, Out: 200}
			}
			e := agency.NewEvent("run", agency.SeverityInfo, tool, d)
			e.ID, e.Time, e.AgentID = int64(len(out)+1), at.Add(time.Duration(n)*time.Second/eventsASecond), agency.AgentID(fmt.Sprint("scaffolder-", agent))
			line, err := json.Marshal(e)
			if err != nil {
				return nil, err
			}
			out = append(out, line)
		}
	}
	return out, nil
}
