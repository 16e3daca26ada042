package brief

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"agency/internal/agency"
	"agency/internal/roster"
	"agency/internal/text"
)

// Bounds of what one contract hands on to another.
const (
	maxHandedOn = 50  // contracts
	maxNames    = 100 // files or tests of a contract
	maxName     = 200 // runes of a name
)

// WithOutputs is a contract with the outputs of others among its inputs, by who
// may see what (docs/design.md, Modes): whoever works on it sees what it depends on;
// a test engineer also what is implemented; a reviewer of all that has landed
// everything that is complete. The overseer sees states and no outputs. What
// the contract's author wrote into its inputs stays.
func WithOutputs(c agency.Contract, role agency.RoleID, all []agency.Contract) agency.Contract {
	var seen []agency.Contract
	for _, o := range all {
		if o.ID != c.ID && o.Status == agency.StatusComplete && sees(c, role, o) {
			seen = append(seen, o)
		}
	}
	slices.SortStableFunc(seen, func(a, b agency.Contract) int { // what it builds on is never one too many
		return cmp.Compare(slices.Index(c.DependsOn, b.ID), slices.Index(c.DependsOn, a.ID))
	})
	if len(seen) == 0 {
		return c
	}
	inputs := make(agency.Inputs, len(c.Inputs)+len(seen))
	maps.Copy(inputs, c.Inputs)
	for _, o := range seen[:min(len(seen), maxHandedOn)] {
		key := "outputs of " + string(o.ID)
		if _, taken := inputs[key]; !taken {
			inputs[key] = outputs(o)
		}
	}
	c.Inputs = inputs
	return c
}

// SeesAll tells whether a role may see outputs of others than what the contract
// depends on.
func SeesAll(c agency.Contract, role agency.RoleID) bool {
	return role == agency.RoleTestEngineer || role == agency.RoleReviewer && c.AssignedRole == agency.RoleReviewer
}

func sees(c agency.Contract, role agency.RoleID, o agency.Contract) bool {
	switch {
	case role == agency.RoleOverseer, roster.Leads(role):
		return false // states; and who leads is told of the whole team otherwise
	case role == agency.RoleTestEngineer:
		return slices.Contains(c.DependsOn, o.ID) || roster.Implements(o.AssignedRole)
	case role == agency.RoleReviewer:
		return slices.Contains(c.DependsOn, o.ID) || SeesAll(c, role) && (roster.Implements(o.AssignedRole) || o.AssignedRole == agency.RoleTestEngineer)
	}
	return slices.Contains(c.DependsOn, o.ID)
}

// outputs is what a contract came to, as it was measured.
func outputs(c agency.Contract) json.RawMessage {
	o := c.ActualOutputs
	doc := struct {
		Title         string     `json:"title"`
		FilesCreated  []string   `json:"files_created,omitempty"`
		FilesModified []string   `json:"files_modified,omitempty"`
		FilesDeleted  []string   `json:"files_deleted,omitempty"`
		TestsPassing  []string   `json:"tests_passing,omitempty"` // that did not before
		Commit        agency.OID `json:"commit,omitempty"`
		Review        string     `json:"review,omitempty"`
	}{
		tame(c.Title), names(o.FilesCreated), names(o.FilesModified), names(o.FilesDeleted), names(o.TestsPassing), o.Commit,
		oneLine(o.Review),
	}
	b, err := json.Marshal(doc)
	if err != nil { // texts and lists of texts cannot fail
		return json.RawMessage("null")
	}
	return b
}

func names(in []string) []string {
	out := make([]string, 0, min(len(in), maxNames))
	for _, s := range in[:min(len(in), maxNames)] {
		out = append(out, tame(s))
	}
	return out
}

// tame is a name on one line that cannot end the block it stands in.
func tame(s string) string { return text.Head(oneLine(s), maxName) }

// ReadsOf are the kinds of artifacts that stand in the brief of a role over a contract of a
// tiered run: what binds it.
func ReadsOf(c agency.Contract, role agency.RoleID) []agency.ArtifactKind {
	designed := len(c.TierPath) > 0 && c.TierPath[0] == agency.TierArchitect
	switch {
	case role == agency.RoleArchitect && c.Reworks() != c.ID: // its proposal was sent back
		return []agency.ArtifactKind{agency.ArtifactBoundaries, agency.ArtifactAssumptions, agency.ArtifactProposal}
	case role == agency.RoleArchitect:
		return []agency.ArtifactKind{agency.ArtifactBoundaries, agency.ArtifactAssumptions}
	case role == agency.RoleLead && len(c.DependsOn) > 0:
		return []agency.ArtifactKind{agency.ArtifactBoundaries, agency.ArtifactAssumptions, agency.ArtifactProposal}
	case role == agency.RoleSquadLead && designed:
		return []agency.ArtifactKind{agency.ArtifactBoundaries, agency.ArtifactAssumptions, agency.ArtifactArchitecture}
	case role == agency.RoleVisionary && c.Type == agency.TypeReview:
		return []agency.ArtifactKind{agency.ArtifactArchitecture}
	}
	return nil
}

// maxArtifact is how many runes of an artifact a brief holds; read_artifact shows all.
const maxArtifact = 16 << 10

// WithArtifacts is a contract with artifacts among its inputs. What its author wrote into
// its inputs stays.
func WithArtifacts(c agency.Contract, published []agency.Artifact) agency.Contract {
	if len(published) == 0 {
		return c
	}
	inputs := make(agency.Inputs, len(c.Inputs)+len(published))
	maps.Copy(inputs, c.Inputs)
	for i, a := range published {
		key := string(a.Kind)
		if i+1 < len(published) && published[i+1].Kind == a.Kind || a.Kind == agency.ArtifactProposal {
			key += " of " + string(a.Contract)
		}
		if _, taken := inputs[key]; !taken {
			inputs[key] = agency.TextInput(text.Head(a.Content, maxArtifact))
		}
	}
	c.Inputs = inputs
	return c
}
