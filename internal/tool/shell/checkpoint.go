package shell

import (
	"context"
	"fmt"
	"strings"

	"agency/internal/tool"
)

type createCheckpointArgs struct {
	Label string `json:"label"`
}

type rollbackCheckpointArgs struct {
	CheckpointID string `json:"checkpoint_id" jsonschema_description:"Id that create_checkpoint gave."`
}

func createCheckpoint() tool.Tool {
	return tool.Define(texts, "create_checkpoint", tool.Write, func(ctx context.Context, env *tool.Env, a createCheckpointArgs) (tool.Result, error) {
		label := strings.Join(strings.Fields(a.Label), " ")
		if label == "" || len(label) > 200 {
			return tool.Refuse("the label is 1 to 200 letters"), nil
		}
		c, err := env.Checkpoints.Create(ctx, label)
		return tool.OK(fmt.Sprintf("checkpoint_id: %s (%s)", c.ID, c.Label)), err
	})
}

func rollbackCheckpoint() tool.Tool {
	return tool.Define(texts, "rollback_checkpoint", tool.Write, func(ctx context.Context, env *tool.Env, a rollbackCheckpointArgs) (tool.Result, error) {
		c, err := env.Checkpoints.Rollback(ctx, strings.TrimSpace(a.CheckpointID))
		return tool.OK(fmt.Sprintf("all files are as they were at checkpoint %s (%s); what you read of them since may be out of date", c.ID, c.Label)), err
	})
}
