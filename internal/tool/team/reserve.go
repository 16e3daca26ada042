package team

import (
	"context"
	"fmt"
	"strings"

	"agency/internal/agency"
	"agency/internal/block"
	"agency/internal/tool"
)

// maxReason bounds what is said of a name: others read it in one line.
const maxReason = 512

type reserveArgs struct {
	Namespace string `json:"namespace,omitempty" jsonschema_description:"What sort of name it is, for who reads it: migration, port. One name is one name in all of them."`
	Name      string `json:"name" jsonschema_description:"0042, 8080, /v1/users, db/0042_users.sql, api/, api/user.go#Parse."`
	Why       string `json:"why,omitempty" jsonschema_description:"What you need it for."`
}

type releaseArgs struct {
	Namespace string `json:"namespace,omitempty" jsonschema_description:"As reserved."`
	Name      string `json:"name" jsonschema_description:"The name, as reserved."`
}

func reserve() tool.Tool {
	return tool.Define(texts, "reserve", tool.Write, func(ctx context.Context, env *tool.Env, a reserveArgs) (tool.Result, error) {
		if len(a.Why)+len(a.Namespace) > maxReason {
			return tool.Refuse("why and namespace are longer than " + tool.Size(maxReason)), nil
		}
		r, got, err := env.Names.Reserve(ctx, agency.Reservation{Name: a.Name, Sort: strings.TrimSpace(a.Namespace), Why: strings.TrimSpace(a.Why)})
		switch {
		case err != nil:
			return tool.Answer(err)
		case got:
			return tool.OK(fmt.Sprintf("reserved: %s is your contract's, fence %d.%d. No change of another contract lands with it", r.Name, r.Fence.Epoch, r.Fence.N)), nil
		}
		return tool.Fail("%s is not free:\n%s\n%s", tool.QuoteName(a.Name), block.Data("reservation "+r.Name, r.Holder()), instead(r)), nil
	}).OnBoard()
}

// instead says what an agent does that cannot have a name.
func instead(r agency.Reservation) string {
	if r.Landed {
		return "It stays taken in this run: choose another."
	}
	return fmt.Sprintf("Choose another; or ask %s by send_message to release it.", r.By)
}

func release() tool.Tool {
	return tool.Define(texts, "release", tool.Write, func(ctx context.Context, env *tool.Env, a releaseArgs) (tool.Result, error) {
		given, err := env.Names.Release(ctx, a.Name)
		switch {
		case err != nil:
			return tool.Answer(err)
		case !given:
			return tool.OK("nobody holds " + tool.QuoteName(a.Name)), nil
		}
		return tool.OK("released: " + a.Name), nil
	}).OnBoard()
}
