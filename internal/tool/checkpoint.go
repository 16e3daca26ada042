package tool

import (
	"context"
	"fmt"
	"strings"
)

type createCheckpointArgs struct {
	Label string `json:"label" jsonschema_description:"What the files are like now, in a few words."`
}

type rollbackCheckpointArgs struct {
	CheckpointID string `json:"checkpoint_id" jsonschema_description:"Id that create_checkpoint gave."`
}

func createCheckpoint() Tool {
	return define("create_checkpoint", Write, func(ctx context.Context, env *Env, a createCheckpointArgs) (Result, error) {
		label := strings.Join(strings.Fields(a.Label), " ")
		if label == "" || len(label) > 200 {
			return refuse("the label is 1 to 200 letters"), nil
		}
		c, err := env.Checkpoints.Create(ctx, label)
		if err != nil {
			return Result{}, err
		}
		return ok(fmt.Sprintf("checkpoint_id: %s (%s)", c.ID, c.Label)), nil
	})
}

func rollbackCheckpoint() Tool {
	return define("rollback_checkpoint", Write, func(ctx context.Context, env *Env, a rollbackCheckpointArgs) (Result, error) {
		c, err := env.Checkpoints.Rollback(ctx, strings.TrimSpace(a.CheckpointID))
		if err != nil {
			return Result{}, err
		}
		return ok(fmt.Sprintf("all files are as they were at checkpoint %s (%s); what you read of them since may be out of date", c.ID, c.Label)), nil
	})
}
