package file

import (
	"context"
	"strings"

	"agency/internal/tool"
)

type useSkillArgs struct {
	Name string `json:"name,omitempty" jsonschema_description:"The skill; without it all are listed."`
	File string `json:"file,omitempty" jsonschema_description:"A file of the skill's folder instead of its instructions."`
}

func useSkill() tool.Tool {
	return tool.Define(texts, "use_skill", tool.Read, func(_ context.Context, env *tool.Env, a useSkillArgs) (tool.Result, error) {
		name := strings.TrimSpace(a.Name)
		if name == "" {
			return tool.OK(tool.SkillList(env.Files.Skills())), nil
		}
		words, err := env.Files.UseSkill(name, strings.TrimSpace(a.File))
		return tool.OK(words), err
	})
}
