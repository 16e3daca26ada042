package toolset

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/tool"
)

type progress struct {
	tool.Records
	of map[agency.FeatureID][]tool.TeamContract
}

func (p progress) Progress(_ context.Context, id agency.FeatureID) ([]tool.TeamContract, error) {
	return p.of[id], nil
}

func TestFeatureTools(t *testing.T) {
	dir := t.TempDir()
	text := `[{"id": "a", "description": "First.", "verification_steps": ["it works"]},
{"id": "b", "description": "Second.\nMore.", "depends_on": ["a"]}, {"id": "c", "description": "Third.", "status": "done"}]`
	if err := os.WriteFile(filepath.Join(dir, "features.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	files, err := tool.OpenFiles(dir, "/repo")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = files.Close() }()
	landed := tool.TeamContract{Contract: agency.Contract{ID: "x", Title: "X", Status: agency.StatusComplete}, Proofs: []agency.Proof{{Criterion: agency.Criterion{ID: "c1", Text: "t"}, Proof: agency.ProofVerified}}}
	unproved := landed
	unproved.ID, unproved.Proofs = "y", []agency.Proof{{Criterion: agency.Criterion{ID: "c1", Text: "t"}, Proof: agency.ProofOpen}}
	env := &tool.Env{Files: files, Records: progress{of: map[agency.FeatureID][]tool.TeamContract{
		"a": {landed}, "b": {landed, {Contract: agency.Contract{ID: "z", Title: "Z", Status: agency.StatusInProgress}}, unproved},
	}}}
	for _, tt := range []struct {
		name, tool, args string
		failed           bool
		want             []string
	}{
		{"all", "get_feature_status", `{}`, false, []string{"a: pending, ready  First.", "b: pending, waits for a  Second.\n", "c: done  Third."}},
		{"one", "get_feature_status", `{"feature_id": "a"}`, false, []string{"a: pending", "It is done when:\n- it works", "contract x: complete  X"}},
		{"nobody", "get_feature_status", `{"feature_id": "q"}`, true, []string{"error: ", "no feature q"}},
		{"landed and proved", "mark_feature_complete", `{"feature_id": "a", "evidence": "done"}`, false, []string{"feature a is complete: its 1 contract has landed"}},
		{"not landed", "mark_feature_complete", `{"feature_id": "b", "evidence": "done"}`, true, []string{"error: ", "contract z is in_progress", "contract y: nothing proves criterion c1"}},
		{"nobody worked on it", "mark_feature_complete", `{"feature_id": "c", "evidence": "done"}`, true, []string{"error: ", "has no proof"}},
		{"no evidence", "mark_feature_complete", `{"feature_id": "a"}`, true, []string{"error: ", "evidence"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res, err := named([]string{tt.tool})[0].Run(context.Background(), env, json.RawMessage(tt.args))
			if err != nil || res.Failed != tt.failed || res.Wrote != "" || res.Effect != nil {
				t.Fatalf("%+v, %v", res, err)
			}
			for _, w := range tt.want {
				if !strings.Contains(res.Text, w) {
					t.Errorf("%q lacks %q", res.Text, w)
				}
			}
		})
	}
	after, err := os.ReadFile(filepath.Join(dir, "features.json"))
	if err != nil || string(after) != text {
		t.Errorf("the backlog was changed: %s, %v", after, err)
	}
}
