package view

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/llm"
	"agency/internal/registry"
	"agency/internal/report"
	"agency/internal/session/record"
	"agency/internal/store"
)

// Transcript is a session's conversation, block by block. An empty name is the
// run's last session. Of a turn it is what was said in that and the results of its calls,
// of the session that is named in full.
func (r *Reader) Transcript(ctx context.Context, id agency.RunID, name agency.SessionID, only ...int) (api.TranscriptDoc, error) {
	if n := api.Turn(only); n > 0 && strings.HasPrefix(string(name), string(id)+"/") {
		return turnOf(ctx, r, name, n)
	}
	doc, err := r.Inspect(ctx, id)
	if err != nil {
		return api.TranscriptDoc{}, err
	}
	s, err := pick(doc, name)
	if err != nil {
		return api.TranscriptDoc{}, err
	}
	out := api.TranscriptDoc{Session: s, Lines: []api.MessageLine{}}
	var messages []llm.Message
	var gates []agency.Gate
	err = r.read(ctx, func(q *store.Snapshot) (err error) {
		if gates, err = registry.Gates(q, id); err == nil {
			out.System, messages, err = record.Transcript(q, s.ID)
		}
		return err
	})
	if err != nil {
		return out, err
	}
	turn := 1
	for _, m := range messages {
		for _, b := range m.Blocks {
			out.Lines = append(out.Lines, line(turn, m.Role, b))
		}
		if m.Role == llm.Assistant {
			turn++
		}
	}
	answeredBy(out.Lines, s.Contract, gates)
	return out, nil
}

// answeredBy names the people whose answers the results of a conversation are.
func answeredBy(lines []api.MessageLine, of agency.ContractID, gates []agency.Gate) {
	by := map[string]string{} // by the call that asked
	for i, l := range lines {
		var asked struct {
			Question string `json:"question"`
		}
		switch {
		case l.Kind == "tool_result":
			lines[i].By = by[l.CallID]
		case l.Kind != "tool_call", json.Unmarshal(l.Args, &asked) != nil, asked.Question == "":
		default:
			at := slices.IndexFunc(gates, func(g agency.Gate) bool {
				return g.Kind == agency.GateQuestion && g.ContractID == of && !g.Open() && strings.HasPrefix(g.Body, report.Quote(asked.Question))
			})
			if at >= 0 { // the same question, asked again, is at the next gate
				by[l.CallID] = gates[at].Decision.By
				gates = slices.Delete(slices.Clone(gates), at, at+1)
			}
		}
	}
}

// turnOf is a turn of a conversation. Nothing else of the run is read for it: who follows a run
// asks with each.
func turnOf(ctx context.Context, r *Reader, s agency.SessionID, n int) (api.TranscriptDoc, error) {
	out := api.TranscriptDoc{Session: api.SessionDoc{ID: s}, Lines: []api.MessageLine{}}
	var messages []llm.Message
	err := r.read(ctx, func(q *store.Snapshot) (err error) {
		messages, err = record.OfTurn(q, s, n)
		return err
	})
	for _, m := range messages {
		for _, b := range m.Blocks {
			out.Lines = append(out.Lines, line(n, m.Role, b))
		}
	}
	return out, err
}

func pick(doc api.InspectDoc, name agency.SessionID) (api.SessionDoc, error) {
	var names []string
	for i, s := range doc.Sessions {
		if s.ID == name || strings.HasSuffix(string(s.ID), "/"+string(name)) || name == "" && i == len(doc.Sessions)-1 {
			return s, nil
		}
		names = append(names, string(s.ID))
	}
	err := agency.Errorf(agency.KindNotFound, "run %s has no session %q", doc.ID, name)
	if len(names) == 0 {
		return api.SessionDoc{}, agency.Errorf(agency.KindNotFound, "run %s has no session yet", doc.ID)
	}
	return api.SessionDoc{}, err.WithMend("its sessions: %s", strings.Join(names, ", "))
}

func line(turn int, role llm.Role, b llm.Block) api.MessageLine {
	l := api.MessageLine{Turn: turn, Role: string(role)}
	switch b := b.(type) {
	case llm.Text:
		l.Kind, l.Text = "text", b.Text
	case llm.ToolUse:
		l.Kind, l.Tool, l.CallID, l.Args = "tool_call", b.Name, b.ID, b.Args
	case llm.ToolResult:
		l.Kind, l.CallID, l.Text, l.Error = "tool_result", b.ID, b.Text, b.IsError
	case llm.Reasoning:
		l.Kind, l.Text = "reasoning", b.Text
	case llm.Image:
		l.Kind, l.CallID, l.Text = "image", b.Of, b.String()
	}
	return l
}
