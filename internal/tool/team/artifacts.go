package team

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/block"
	"agency/internal/tool"
)

type publishArtifactArgs struct {
	Kind    string `json:"kind" jsonschema:"enum=boundaries,enum=shared_assumptions,enum=proposal,enum=conflicts,enum=architecture,enum=task_list,enum=summary"`
	Content string `json:"content" jsonschema_description:"The whole of it, in Markdown; of conflicts a JSON list of {\"domain\", \"brief\"}."`
}

type readArtifactArgs struct {
	Kind string `json:"kind" jsonschema:"enum=boundaries,enum=shared_assumptions,enum=proposal,enum=conflicts,enum=architecture,enum=task_list,enum=summary"`
	From string `json:"from,omitempty" jsonschema_description:"The contract, or the agent, that it is of; all where it is left out."`
}

func publishArtifact() tool.Tool {
	return tool.Define(texts, "publish_artifact", tool.Write, func(ctx context.Context, env *tool.Env, a publishArtifactArgs) (tool.Result, error) {
		content := strings.TrimSpace(a.Content)
		if content == "" || len(content) > agency.MaxArtifact {
			return tool.Refuse("the content is empty or longer than " + tool.Size(agency.MaxArtifact) + "; what is longer stands in files that it names"), nil
		}
		if agency.ArtifactKind(a.Kind) == agency.ArtifactConflicts {
			if _, err := agency.ReadConflicts(content); err != nil {
				return tool.Refuse(err.Error()), nil
			}
		}
		now, err := env.Artifacts.Publish(ctx, agency.ArtifactKind(a.Kind), content)
		if agency.KindOf(err) == agency.KindDenied {
			return tool.Refuse(err.Error()), nil
		}
		if err != nil {
			return tool.Result{}, err
		}
		return tool.OK(fmt.Sprintf("published: %s, version %d", now.Kind, now.Version)), nil
	}).OnBoard()
}

func readArtifact() tool.Tool {
	return tool.Define(texts, "read_artifact", tool.Read, func(ctx context.Context, env *tool.Env, a readArtifactArgs) (tool.Result, error) {
		kind := agency.ArtifactKind(a.Kind)
		if !slices.Contains(agency.ArtifactKinds(), kind) {
			return tool.Refuse("kind " + tool.QuoteName(a.Kind) + " is none of " + tool.Joined(agency.ArtifactKinds(), ", ")), nil
		}
		all, err := env.Artifacts.Read(ctx, kind)
		if err != nil {
			return tool.Result{}, err
		}
		var b strings.Builder
		for _, one := range all {
			if a.From == "" || a.From == string(one.Contract) || a.From == string(one.By) {
				b.WriteString(block.Data(fmt.Sprintf("%s of %s by %s, version %d", one.Kind, one.Contract, one.By, one.Version), one.Content) + "\n\n")
			}
		}
		if b.Len() == 0 {
			return tool.OK("nobody has published " + a.Kind + " yet"), nil
		}
		return tool.OK(strings.TrimSpace(b.String())), nil
	}).OnBoard()
}

type pathAmendmentArgs struct {
	Workstream   string   `json:"workstream" jsonschema_description:"Its id."`
	AddTiers     []string `json:"add_tiers" jsonschema_description:"Tiers that it has to go through beside those that were planned: t2 (it has to be designed), t3 (it has to be split into tasks)."`
	InsertBefore string   `json:"insert_before" jsonschema_description:"The tier of its path before which they come."`
	Reason       string   `json:"reason" jsonschema_description:"What you found that the plan did not foresee."`
}

func proposePathAmendment() tool.Tool {
	return tool.Define(texts, "propose_path_amendment", tool.Write, func(ctx context.Context, env *tool.Env, a pathAmendmentArgs) (tool.Result, error) {
		reason := strings.TrimSpace(a.Reason)
		if reason == "" || len(reason) > maxFinding {
			return tool.Refuse("the reason is empty or longer than " + tool.Size(maxFinding)), nil
		}
		m := agency.PathAmendment{Workstream: agency.ContractID(a.Workstream), InsertBefore: agency.Tier(strings.TrimSpace(a.InsertBefore)), Reason: reason}
		for _, t := range a.AddTiers {
			m.AddTiers = append(m.AddTiers, agency.Tier(strings.TrimSpace(t)))
		}
		path, err := env.Artifacts.Amend(ctx, m)
		switch agency.KindOf(err) {
		case agency.KindInvalid, agency.KindNotFound, agency.KindDenied:
			return tool.Refuse(err.Error()), nil
		}
		if err != nil {
			return tool.Result{}, err
		}
		return tool.OK(fmt.Sprintf("noted: %s goes through %s. The tier above and the next gate are told; nobody has to approve it. End your session as usual: what is added comes next", a.Workstream, agency.PathText(path))), nil
	}).OnBoard()
}
