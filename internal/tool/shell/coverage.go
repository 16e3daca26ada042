package shell

import (
	"context"
	"fmt"
	"path"
	"strings"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/tool"
)

// maxListed is how many files a list of coverage names.
const maxListed = 200

func runTestsWithCoverage() tool.Tool {
	return tool.Define(texts, "run_tests_with_coverage", tool.Write, func(ctx context.Context, env *tool.Env, a checkArgs) (tool.Result, error) {
		if strings.ContainsAny(a.Target, "\x00\n") || len(a.Target) > 1000 {
			return tool.Refuse("the target is one line of at most 1000 letters"), nil
		}
		r, err := env.Checks.Cover(ctx, strings.TrimSpace(a.Target))
		if err != nil {
			return tool.Result{}, err
		}
		files, err := env.Checks.Coverage(ctx)
		if err != nil {
			return checked(r, "\ncoverage: the test command gives none\n"), nil //nolint:nilerr // the tests did run
		}
		return checked(r, "\n"+coverageTable(files, "")), nil
	})
}

type pathArg struct {
	Path string `json:"path,omitempty" jsonschema_description:"File or folder; all where absent."`
}

func getCoverageReport() tool.Tool { return measured("get_coverage_report", coverageTable) }

func listUncoveredLines() tool.Tool { return measured("list_uncovered_lines", uncovered) }

// measured shows the coverage of the files below a path.
func measured(name string, show func(files []check.FileCoverage, below string) string) tool.Tool {
	return tool.Define(texts, name, tool.Read, func(ctx context.Context, env *tool.Env, a pathArg) (tool.Result, error) {
		below, err := historyPath(env, a.Path) // of a file that is gone, too
		if err != nil {
			return tool.Result{}, err
		}
		files, err := env.Checks.Coverage(ctx)
		return tool.OK(show(files, below)), err
	})
}

// coverageTable is a line a file and one for all, of the files below a path.
func coverageTable(files []check.FileCoverage, below string) string {
	var b strings.Builder
	ran, all, listed := 0, 0, 0
	for _, f := range files {
		if !isBelow(f.Path, below) {
			continue
		}
		r, a := f.Counts()
		ran, all = ran+r, all+a
		if listed++; listed <= maxListed {
			fmt.Fprintf(&b, "%5s  %d of %s  %s\n", percent(r, a), r, agency.Things(a, "line", "lines"), f.Path)
		}
	}
	if listed == 0 {
		return "no file of " + orAll(below) + " was measured\n"
	}
	if listed > maxListed {
		fmt.Fprintf(&b, "and %s\n", agency.Things(listed-maxListed, "more file", "more files"))
	}
	return fmt.Sprintf("coverage %s: %d of %s\n%s", percent(ran, all), ran, agency.Things(all, "line", "lines"), b.String())
}

func uncovered(files []check.FileCoverage, below string) string {
	var b strings.Builder
	seen := false
	for _, f := range files {
		if !isBelow(f.Path, below) {
			continue
		}
		seen = true
		if len(f.Missed) == 0 {
			continue
		}
		lines := make([]string, len(f.Missed))
		for i, l := range f.Missed {
			lines[i] = l.String()
		}
		fmt.Fprintf(&b, "%s: %s\n", f.Path, strings.Join(lines, ", "))
	}
	switch {
	case !seen:
		return "no file of " + orAll(below) + " was measured\n"
	case b.Len() == 0:
		return "the tests reach every line\n"
	}
	return b.String()
}

func isBelow(file, at string) bool {
	at = path.Clean(at)
	return at == "." || at == "/" || file == at || strings.HasPrefix(file, at+"/")
}

func orAll(p string) string {
	if p == "" {
		return "the repository"
	}
	return tool.QuoteName(p)
}

func percent(part, all int) string {
	if all == 0 {
		return "100%"
	}
	return fmt.Sprintf("%d%%", part*100/all) // rounded down: 100 % means all
}
