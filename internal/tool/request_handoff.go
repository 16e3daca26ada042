package tool

import (
	"context"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/roster"
)

type requestHandoffArgs struct {
	Role   string `json:"role" jsonschema_description:"The role that should go on with the contract."`
	Reason string `json:"reason" jsonschema_description:"Why it is theirs; what is done, and what is to be done."`
}

// Handoff asks for another role to go on with the contract.
type Handoff struct {
	Role   agency.RoleID
	Reason string
}

func (Handoff) effect() {}

// Handoffs tells whether an agent may hand its contract over: the error says why
// not.
type Handoffs interface {
	MayHandOver(ctx context.Context, to agency.RoleID) error
}

func requestHandoff() Tool {
	return define("request_handoff", Write, func(ctx context.Context, env *Env, a requestHandoffArgs) (Result, error) {
		reason := strings.TrimSpace(strings.ToValidUTF8(a.Reason, "\uFFFD"))
		role := agency.RoleID(strings.TrimSpace(a.Role))
		switch {
		case !slices.Contains(holders(), string(role)):
			return refuse("no work can be handed to a role " + quoteName(a.Role) + "; roles: " + strings.Join(holders(), ", ")), nil
		case reason == "" || len(reason) > maxQuestion:
			return refuse("the reason is empty or longer than " + size(maxQuestion)), nil
		}
		if err := env.Handoffs.MayHandOver(ctx, role); err != nil {
			return Result{}, err
		}
		return Result{Text: "asked", Effect: Handoff{Role: role, Reason: reason}}, nil
	}).last()
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

// Posted says who will read what was sent.
func Posted(sent Sent, err error) (Result, error) {
	res, err := posted(sent, err)
	if err != nil {
		return answer(err)
	}
	return res, nil
}
