package board

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"agency/internal/agency"
)

// ConflictKind says what agents disagree on.
type ConflictKind string

// The kinds of conflicts (R1 4.5).
const (
	FileWrite          ConflictKind = "file_write"          // two agents have changed a file apart from each other
	ReviewDisagreement ConflictKind = "review_disagreement" // two reviewers judge a contract differently
)

// clash is a conflict as messages show it.
type clash struct {
	kind     ConflictKind
	resource string
	agents   []agency.AgentID
	evidence []agency.MessageID
}

// said is a message with its payload, wherever that is kept.
type said struct {
	agency.Message
	payload []byte
}

// clashes finds the conflicts in messages, which stand in the order in which
// they were sent. built tells whether a commit has another in its history.
func clashes(all []said, built func(commit, on agency.OID) bool) []clash {
	return append(fileClashes(all, built), reviewClashes(all)...)
}

// fileClashes finds the files that several agents say they have changed, unless
// the later one had the earlier one's work before it.
func fileClashes(all []said, built func(commit, on agency.OID) bool) []clash {
	type work struct {
		said
		HandoffPackage
	}
	byFile := map[string]map[string]work{} // each agent's last word counts
	for _, m := range all {
		w := work{said: m}
		if m.Type != agency.MessageTaskComplete || json.Unmarshal(m.payload, &w.HandoffPackage) != nil {
			continue
		}
		for _, file := range w.FilesModified {
			if byFile[file] == nil {
				byFile[file] = map[string]work{}
			}
			byFile[file][m.Message.From] = w
		}
	}
	follows := func(a, b work) bool {
		return a.Base != "" && b.Commit != "" && (a.Base == b.Commit || built != nil && built(a.Base, b.Commit))
	}
	var out []clash
	for _, file := range slices.Sorted(maps.Keys(byFile)) {
		c := clash{kind: FileWrite, resource: file}
		works := slices.Collect(maps.Values(byFile[file]))
		slices.SortFunc(works, func(a, b work) int { return cmp.Compare(a.Message.From, b.Message.From) })
		for _, a := range works {
			apart := func(b work) bool { return a.Message.From != b.Message.From && !follows(a, b) && !follows(b, a) }
			if slices.ContainsFunc(works, apart) {
				c.agents = append(c.agents, agency.AgentID(a.Message.From))
				c.evidence = append(c.evidence, a.Message.ID)
			}
		}
		if len(c.agents) > 0 {
			out = append(out, c)
		}
	}
	return out
}

// reviewClashes finds the contracts of which two reviewers' last verdicts
// differ, on the same work where they name it.
func reviewClashes(all []said) []clash {
	type verdict struct {
		said
		good   bool
		commit agency.OID
	}
	byContract := map[agency.ContractID]map[string]verdict{}
	for _, m := range all {
		good := m.Type == agency.MessageReviewApproved
		bad := m.Type == agency.MessageReviewFeedback || m.Type == agency.MessageReviewRejected || m.Type == agency.MessageRevisionRequested
		if !good && !bad || m.ContractID == "" {
			continue
		}
		var p struct {
			Verdict string     `json:"verdict"`
			Commit  agency.OID `json:"commit"`
		}
		_ = json.Unmarshal(m.payload, &p) // without one the type is the verdict
		if p.Verdict != "" {
			good = p.Verdict == "approve"
		}
		if byContract[m.ContractID] == nil {
			byContract[m.ContractID] = map[string]verdict{}
		}
		byContract[m.ContractID][m.From] = verdict{m, good, p.Commit}
	}
	var out []clash
	for _, id := range slices.Sorted(maps.Keys(byContract)) {
		c := clash{kind: ReviewDisagreement, resource: string(id)}
		verdicts := slices.Collect(maps.Values(byContract[id]))
		slices.SortFunc(verdicts, func(a, b verdict) int { return cmp.Compare(a.From, b.From) })
		for _, a := range verdicts {
			against := func(b verdict) bool {
				return a.good != b.good && (a.commit == b.commit || a.commit == "" || b.commit == "")
			}
			if slices.ContainsFunc(verdicts, against) {
				c.agents = append(c.agents, agency.AgentID(a.From))
				c.evidence = append(c.evidence, a.ID)
			}
		}
		if len(c.agents) > 0 {
			out = append(out, c)
		}
	}
	return out
}
