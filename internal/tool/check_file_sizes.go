package tool

import (
	"context"
	"fmt"
	"strings"

	"agency/internal/agency"
)

// FileSize is a file that differs from the contract's base: the lines that
// changed, and what it holds now.
type FileSize struct {
	Path           string
	Added, Deleted int
	Lines          int // as it is now
	Bytes          int64
	Binary         bool // it has no lines
	Gone           bool
}

// ChangeLimits are the most that a contract should change; 0 is no limit.
type ChangeLimits struct{ Files, Lines int }

type noArgs struct{}

func checkFileSizes() Tool {
	return define("check_file_sizes", Read, func(ctx context.Context, env *Env, _ noArgs) (Result, error) {
		sizes, err := env.History.Sizes(ctx)
		if err != nil {
			return Result{}, err
		}
		return ok(sizeReport(sizes, env.Limits)), nil
	})
}

// sizeReport is the sum against the limits, then a line a file.
func sizeReport(sizes []FileSize, most ChangeLimits) string {
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
			fmt.Fprintf(&b, "  binary, %s  %s\n", size(f.Bytes), f.Path)
		default:
			fmt.Fprintf(&b, "  +%d -%d  %s, before %d, %s  %s\n", f.Added, f.Deleted, agency.Things(f.Lines, "line", "lines"), f.Lines-f.Added+f.Deleted, size(f.Bytes), f.Path)
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
