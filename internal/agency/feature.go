package agency

import (
	"fmt"
	"slices"
	"strings"
)

// FeatureStatus says how far a feature of the backlog is.
type FeatureStatus string

// The statuses. Done means landed with evidence, or so said by a person.
const (
	FeaturePending    FeatureStatus = "pending"
	FeatureInProgress FeatureStatus = "in_progress"
	FeatureDone       FeatureStatus = "done"
)

// ParseFeatureStatus reads a status and the words that other tools have for
// it; nothing is pending.
func ParseFeatureStatus(s string) (FeatureStatus, error) {
	switch s {
	case "", "pending", "todo", "open", "ready":
		return FeaturePending, nil
	case "in_progress", "started":
		return FeatureInProgress, nil
	case "done", "complete", "completed", "passing":
		return FeatureDone, nil
	}
	return "", Errorf(KindInvalid, "status %q: want pending, in_progress or done", s)
}

// Feature is an entry of the backlog: a goal with an id.
type Feature struct {
	ID                FeatureID        `json:"id"`
	Description       string           `json:"description"`
	TestFile          string           `json:"test_file,omitempty"`
	Size              Complexity       `json:"size_estimate,omitempty"`
	VerificationSteps []string         `json:"verification_steps,omitempty"`
	DependsOn         []FeatureID      `json:"depends_on,omitempty"`
	Status            FeatureStatus    `json:"status"`
	Evidence          *FeatureEvidence `json:"evidence,omitempty"`
}

// FeatureEvidence is what a done feature rests on: the run and the receipts of
// its landed contracts, or a person's word.
type FeatureEvidence struct {
	Run      RunID       `json:"run,omitempty"`
	Criteria []string    `json:"criteria,omitempty"` // each with its proof
	Receipts []ReceiptID `json:"receipts,omitempty"`
	Note     string      `json:"note,omitempty"`
}

// CheckFeatureID says what is wrong with a feature's id; the rule is that of
// contracts, because a feature may become one.
func CheckFeatureID(id FeatureID) error {
	if err := CheckContractID(ContractID(id)); err != nil {
		return Errorf(KindInvalid, "%s", strings.Replace(err.Error(), "contract id", "feature id", 1))
	}
	return nil
}

// NextFeatures are those that may be worked on now: not done, everything that
// they depend on done. They come in the backlog's order.
func NextFeatures(all []Feature) []FeatureID {
	var out []FeatureID
	for _, f := range all {
		if f.Status != FeatureDone && len(MissingFeatures(all, f.ID)) == 0 {
			out = append(out, f.ID)
		}
	}
	return out
}

// MissingFeatures are those that a feature depends on and that are not done, the
// ones that must be done first in front.
func MissingFeatures(all []Feature, id FeatureID) []FeatureID {
	var out []FeatureID
	seen := map[FeatureID]bool{id: true}
	var visit func(FeatureID)
	visit = func(id FeatureID) {
		at := slices.IndexFunc(all, func(f Feature) bool { return f.ID == id })
		if at < 0 {
			return
		}
		for _, d := range all[at].DependsOn {
			if seen[d] {
				continue
			}
			seen[d] = true
			on := slices.IndexFunc(all, func(f Feature) bool { return f.ID == d })
			if on >= 0 && all[on].Status == FeatureDone {
				continue
			}
			visit(d)
			out = append(out, d)
		}
	}
	visit(id)
	return out
}

// FeatureCycle is one circle of depends_on with its first member repeated at
// the end, or nil.
func FeatureCycle(all []Feature) []FeatureID {
	contracts := make([]Contract, len(all))
	for i, f := range all {
		contracts[i].ID = ContractID(f.ID)
		for _, d := range f.DependsOn {
			contracts[i].DependsOn = append(contracts[i].DependsOn, ContractID(d))
		}
	}
	var out []FeatureID
	for _, id := range findCycle(contracts) {
		out = append(out, FeatureID(id))
	}
	return out
}

// Goal is the feature in words.
func (f Feature) Goal() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", strings.TrimSpace(f.Description))
	if f.TestFile != "" {
		fmt.Fprintf(&b, "\nIts tests are in %s.\n", f.TestFile)
	}
	if len(f.VerificationSteps) > 0 {
		fmt.Fprintf(&b, "\nIt is done when:\n- %s\n", strings.Join(f.VerificationSteps, "\n- "))
	}
	return strings.TrimSpace(b.String())
}

// Criteria are what must be true when the feature is done: its verification
// steps, and that its test file exists.
func (f Feature) Criteria() []Criterion {
	var out []Criterion
	for i, s := range f.VerificationSteps {
		out = append(out, Criterion{ID: fmt.Sprintf("step%d", i+1), Text: s})
	}
	if f.TestFile != "" {
		out = append(out, Criterion{ID: "test_file", Text: "its tests are in " + f.TestFile, Check: &Check{File: f.TestFile}})
	}
	return out
}
