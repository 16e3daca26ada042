package file

import (
	"context"
	"fmt"
	"strings"

	"agency/internal/agency"
	"agency/internal/tool"
)

type noArgs struct{}

// maxListed is how many files a list names.
const maxListed = 200

func checkFileSizes() tool.Tool {
	return tool.Define(texts, "check_file_sizes", tool.Read, func(ctx context.Context, env *tool.Env, _ noArgs) (tool.Result, error) {
		sizes, err := env.History.Sizes(ctx)
		return tool.OK(sizeReport(sizes, env.Limits)), err
	})
}

// sizeReport is the sum against the limits, then a line a file.
func sizeReport(sizes []tool.FileSize, most tool.ChangeLimits) string {
	added, deleted := 0, 0
	for _, f := range sizes {
		added, deleted = added+f.Added, deleted+f.Deleted
	}
	var b strings.Builder
	fmt.Fprintf(&b, "files changed: %d%s\n", len(sizes), against(len(sizes), most.Files))
	fmt.Fprintf(&b, "lines changed: %d%s, %d added and %d deleted\n", added+deleted, against(added+deleted, most.Lines), added, deleted)
	for i, f := range sizes {
		if i == maxListed {
			fmt.Fprintf(&b, "and %s\n", agency.Things(len(sizes)-i, "more file", "more files"))
			break
		}
		switch {
		case f.Gone:
			fmt.Fprintf(&b, "  -%d  deleted  %s\n", f.Deleted, f.Path)
		case f.Binary:
			fmt.Fprintf(&b, "  binary, %s  %s\n", tool.Size(f.Bytes), f.Path)
		default:
			fmt.Fprintf(&b, "  +%d -%d  %s, before %d, %s  %s\n", f.Added, f.Deleted, agency.Things(f.Lines, "line", "lines"), f.Lines-f.Added+f.Deleted, tool.Size(f.Bytes), f.Path)
		}
	}
	return b.String()
}

func against(have, most int) string {
	switch {
	case most == 0:
		return ""
	case have > most:
		return fmt.Sprintf(", OVER the limit of %d", most)
	}
	return fmt.Sprintf(" of at most %d", most)
}
