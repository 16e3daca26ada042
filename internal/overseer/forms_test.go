package overseer

import (
	"encoding/json"
	"fmt"
	"slices"

	"agency/internal/agency"
)

// form is a way in which a history comes to be judged: as this program writes it, by
// somebody who knows docs/events.md alone, or in part.
type form struct {
	name string
	of   func(s *story)
}

// forms are the ways.
var forms = []form{
	{"whole", func(*story) {}},
	{"two digests", func(s *story) { // who writes them knows what tells two apart, and no more
		s.rewrite(func(e *agency.Event, d map[string]any) bool {
			drop(d, slices.Delete(slices.Clone(byProgram), 0, 2)...)
			return true
		})
	}},
	{"words for digests", func(s *story) {
		s.rewrite(func(e *agency.Event, d map[string]any) bool {
			if said, ok := s.said[e.ID]; ok {
				drop(d, byProgram...)
				d["call"], d["answer"] = said[0], said[1]
			}
			return true
		})
	}},
	{"words in summaries", func(s *story) {
		s.rewrite(func(e *agency.Event, d map[string]any) bool {
			if said, ok := s.said[e.ID]; ok {
				drop(d, byProgram...)
				e.Summary = said[0] + " -> " + said[1]
			}
			return true
		})
	}},
	{"gists", func(s *story) { // what the log shows
		s.rewrite(func(_ *agency.Event, d map[string]any) bool {
			drop(d, byProgram...)
			return true
		})
	}},
	{"gists of calls and turns", func(s *story) {
		s.rewrite(func(e *agency.Event, d map[string]any) bool {
			drop(d, byProgram...)
			return e.Type == "tool_called" || e.Type == "turn_completed"
		})
	}},
	{"no ids, sessions, turns, tokens", func(s *story) {
		s.rewrite(func(e *agency.Event, d map[string]any) bool {
			e.ID = 0
			drop(d, "session_id", "turn", "tokens_in", "tokens_cached", "tokens_out")
			return true
		})
	}},
	{"in a crowd", crowd},
	{"cut at the beginning", func(s *story) { // within the third turn, where there is work before the trouble
		if s.from > 3 {
			s.events = slices.DeleteFunc(s.events, func(e agency.Event) bool { return e.Time.Before(s.ends[2]) })
		}
	}},
}

// byProgram are the fields of a call that only a program writes.
var byProgram = []string{"call", "answer", "call_shape", "answer_shape", "removed", "added", "lines", "use", "waits"}

func drop(d map[string]any, fields ...string) {
	for _, f := range fields {
		delete(d, f)
	}
}

// rewrite changes events and the fields of their details; one for which f is false goes.
func (s *story) rewrite(f func(e *agency.Event, d map[string]any) bool) {
	kept := s.events[:0:0]
	for _, e := range s.events {
		d := map[string]any{}
		if len(e.Details) > 0 {
			_ = json.Unmarshal(e.Details, &d)
		}
		if f(&e, d) {
			e.Details, _ = json.Marshal(d)
			kept = append(kept, e)
		}
	}
	s.events = kept
}

// crowd tells of others who get on, and of what no version knows, between the events.
func crowd(s *story) {
	var all []agency.Event
	for i, e := range s.events {
		for n := range 3 {
			args := fmt.Appendf(nil, `{"path":"f%d","new_text":"line of%c%c %d"}`, i%7, 'a'+i%26, 'a'+i/26, n)
			o := agency.NewEvent("run-1", agency.SeverityInfo, "edit_file", agency.ToolCalled{
				Session: "s1", Turn: i + 1, Tool: "edit_file", Path: fmt.Sprint("f", i%7), CallDigests: DigestsOf(args, fmt.Sprint("edited ", i)),
			})
			o.Time, o.AgentID, o.ContractID = e.Time, agency.AgentID(fmt.Sprint("other-", n)), "c2"
			all = append(all, o)
		}
		all = append(all, e, agency.Event{RunID: "run-1", Time: e.Time, Type: "brand_new", AgentID: e.AgentID})
	}
	for i := range all {
		all[i].ID = int64(i + 1)
	}
	s.events = all
}
