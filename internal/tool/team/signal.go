package team

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/tool"

	"github.com/invopop/jsonschema"
)

type signalCompleteArgs struct {
	Evidence      evidence `json:"evidence"`
	FilesCreated  []string `json:"files_created,omitempty"`
	FilesModified []string `json:"files_modified,omitempty"`
	Outputs       string   `json:"outputs,omitempty" jsonschema_description:"What was done and what could not be checked, for the reader of the change."`
}

type signalBlockedArgs struct {
	Reason    string `json:"reason"`
	Attempted string `json:"attempted"`
}

// evidence is a text, or a list with one entry for each criterion.
type evidence struct {
	text string
	list []agency.Evidence
}

// evidenceItem is one entry of the list.
type evidenceItem struct {
	Criterion string `json:"criterion"`
	Kind      string `json:"kind" jsonschema:"enum=test,enum=command,enum=file"`
	Ref       string `json:"ref"`
}

// JSONSchema is called by the schema's maker.
func (evidence) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{
		Description: "What shows that the criteria are met: a list with an entry for each, or a text.",
		OneOf:       []*jsonschema.Schema{{Type: "string"}, {Type: "array", Items: tool.SchemaOf[evidenceItem]()}},
	}
}

// UnmarshalJSON is strict, as the rest of the arguments is.
func (e *evidence) UnmarshalJSON(raw []byte) error {
	raw = bytes.TrimSpace(raw)
	if len(raw) > 0 && raw[0] == '"' {
		return json.Unmarshal(raw, &e.text)
	}
	if len(raw) == 0 || raw[0] != '[' {
		return errors.New(`argument "evidence" is neither a text nor a list`)
	}
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return err
	}
	for i, item := range items {
		one, err := decodeEvidence(item)
		if err != nil {
			return fmt.Errorf("entry %d of evidence: %w", i+1, err)
		}
		e.list = append(e.list, one)
	}
	return nil
}

var itemNames = []string{"criterion", "kind", "ref"}

func decodeEvidence(raw json.RawMessage) (agency.Evidence, error) {
	var item evidenceItem
	s := tool.Shape{Names: itemNames, Required: itemNames}
	if err := s.Decode(raw, &item); err != nil {
		return agency.Evidence{}, err
	}
	kind := agency.CheckKind(item.Kind)
	if !slices.Contains([]agency.CheckKind{agency.CheckTest, agency.CheckCommand, agency.CheckFile}, kind) {
		return agency.Evidence{}, fmt.Errorf("kind %s is none of test, command, file", tool.QuoteName(item.Kind))
	}
	if strings.TrimSpace(item.Ref) == "" {
		return agency.Evidence{}, errors.New("ref is empty")
	}
	return agency.Evidence{Criterion: item.Criterion, Kind: kind, Ref: strings.TrimSpace(item.Ref)}, nil
}

func signalComplete() tool.Tool {
	return tool.Define(texts, "signal_complete", tool.Write, func(_ context.Context, env *tool.Env, a signalCompleteArgs) (tool.Result, error) {
		if strings.TrimSpace(a.Evidence.text) == "" && len(a.Evidence.list) == 0 {
			return tool.Refuse("evidence is empty; name a test, a command or a file for each criterion"), nil
		}
		done := tool.Complete{Summary: firstOf(a.Outputs, a.Evidence.text, agency.SaysNothing), Evidence: a.Evidence.list}
		for i, e := range done.Evidence {
			if len(env.Criteria) > 0 && !slices.Contains(env.Criteria, e.Criterion) {
				return tool.Refuse(fmt.Sprintf("evidence names criterion %s, which the contract does not have; it has: %s",
					tool.QuoteName(e.Criterion), strings.Join(env.Criteria, ", "))), nil
			}
			if e.Kind == agency.CheckFile {
				rel, _, err := env.Files.Stat(e.Ref)
				if err != nil {
					return tool.Result{}, fmt.Errorf("evidence for %s: %w", e.Criterion, err)
				}
				done.Evidence[i].Ref = rel
			}
		}
		var err error
		if done.Outputs.FilesCreated, err = rels(env.Files, a.FilesCreated); err != nil {
			return tool.Result{}, err
		}
		if done.Outputs.FilesModified, err = rels(env.Files, a.FilesModified); err != nil {
			return tool.Result{}, err
		}
		return tool.Result{Text: "claim recorded", Effect: done}, nil
	}).Concludes()
}

func signalBlocked() tool.Tool {
	return tool.Define(texts, "signal_blocked", tool.Write, func(_ context.Context, _ *tool.Env, a signalBlockedArgs) (tool.Result, error) {
		if strings.TrimSpace(a.Reason) == "" {
			return tool.Refuse("the reason is empty"), nil
		}
		return tool.Result{Text: "recorded", Effect: tool.Blocked{Reason: tool.Cap(a.Reason, 8<<10), Attempted: tool.Cap(a.Attempted, 8<<10)}}, nil
	}).Concludes()
}

// rels checks the paths of a claim.
func rels(f *tool.Files, paths []string) ([]string, error) {
	var out []string
	for _, p := range paths {
		rel, err := f.Rel(p)
		if err != nil {
			return nil, err
		}
		out = append(out, rel)
	}
	return out, nil
}

func firstOf(texts ...string) string {
	for _, t := range texts {
		if t = strings.TrimSpace(t); t != "" {
			return tool.Cap(t, 4<<10)
		}
	}
	return ""
}
