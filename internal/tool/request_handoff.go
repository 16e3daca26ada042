package tool

import (
	"context"
	"strings"

	"agency/internal/agency"
	"agency/internal/roster"
)

type requestHandoffArgs struct {
	Role   string `json:"role" jsonschema_description:"The role that should take the work over."`
	Reason string `json:"reason" jsonschema_description:"Why it is theirs, what is done, and what is open."`
}

func requestHandoff() Tool {
	return define("request_handoff", Write, func(ctx context.Context, env *Env, a requestHandoffArgs) (Result, error) {
		role, err := roster.Find(agency.RoleID(strings.TrimSpace(a.Role)))
		switch {
		case err != nil || !role.Holds:
			return refuse("no contract can be handed to a role " + quoteName(a.Role) + "; roles: " + strings.Join(holders(), ", ")), nil
		case strings.TrimSpace(a.Reason) == "" || len(a.Reason) > maxLetter:
			return refuse("the reason is empty or longer than " + size(maxLetter)), nil
		}
		return posted(env.Mail.Handoff(ctx, role.ID, a.Reason))
	}).board()
}

// holders are the roles that hold contracts.
func holders() []string {
	var out []string
	for _, r := range roster.Roles() {
		if r.Holds {
			out = append(out, string(r.ID))
		}
	}
	return out
}
