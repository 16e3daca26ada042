package team

import (
	"context"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/roster"
	"agency/internal/tool"
)

type requestHandoffArgs struct {
	Role   string `json:"role" jsonschema_description:"The role that should go on with the contract."`
	Reason string `json:"reason" jsonschema_description:"Why it is theirs; what is done, and what is to be done."`
}

func requestHandoff() tool.Tool {
	return tool.Define(texts, "request_handoff", tool.Write, func(ctx context.Context, env *tool.Env, a requestHandoffArgs) (tool.Result, error) {
		reason := strings.TrimSpace(strings.ToValidUTF8(a.Reason, "\uFFFD"))
		role := agency.RoleID(strings.TrimSpace(a.Role))
		switch {
		case !slices.Contains(holders(), string(role)):
			return tool.Refuse("no work can be handed to a role " + tool.QuoteName(a.Role) + "; roles: " + strings.Join(holders(), ", ")), nil
		case reason == "" || len(reason) > maxQuestion:
			return tool.Refuse("the reason is empty or longer than " + tool.Size(maxQuestion)), nil
		}
		if err := env.Records.MayHandOver(ctx, role); err != nil {
			return tool.Result{}, err
		}
		return tool.Result{Text: "asked", Effect: tool.Handoff{Role: role, Reason: reason}}, nil
	}).Ends()
}

// holders are the roles that can go on with somebody's files: who holds
// contracts and changes files.
func holders() []string {
	var out []string
	for _, r := range roster.Roles() {
		if r.Holds && r.Offers("write_file") {
			out = append(out, string(r.ID))
		}
	}
	return out
}
