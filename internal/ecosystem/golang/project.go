package golang

import (
	"cmp"
	"context"
	"path"
	"strings"

	"agency/internal/ecosystem"
)

func project() ecosystem.Project {
	return ecosystem.Project{
		Parts: ecosystem.Parts{
			Manifests: []string{"go.mod"}, Find: goParts, Tested: tested, Lacks: goLacks,
			Uses: func(c *ecosystem.Checkout, dir string) []string { return c.Named(path.Join(dir, "go.mod"), goReplace) },
		},
		Dependencies: ecosystem.Dependencies{
			Managers: []string{"go"}, Units: units,
			Sums:  []string{"go.sum"},
			Setup: func(c *ecosystem.Checkout, _ ecosystem.Unit, _ bool) string { return downloadCommand(findModules(c)) },
			Reader: func(base string) func([]byte) ecosystem.Versions {
				return map[string]func([]byte) ecosystem.Versions{"go.mod": ecosystem.Pairs(goEntry), "go.sum": ecosystem.Pairs(sumEntry)}[base]
			},
			Unread: []string{"go.work"},
			Installs: func(words []string) bool {
				return path.Base(words[0]) == "go" && len(words) > 2 && words[1] == "mod" && (words[2] == "download" || words[2] == "vendor")
			},
			Probe: func(c *ecosystem.Checkout, _ ecosystem.Unit, _ []ecosystem.Package) string {
				return cmp.Or(listLines(asking(c, findModules(c))), "true")
			},
			// A module that is broken in other ways needs no download.
			Answered: func(_ int, output string) bool { return len(missingIn(output)) == 0 },
			Hosts: func(base string, _ []byte) (part []byte, ok bool) { // links to homepages
				return nil, base == "go.mod" || base == "go.sum" || base == "go.work"
			},
			Registries: registries,
			Modules: &ecosystem.ModuleQuestion{
				Line: func(c *ecosystem.Checkout, starts []string) string {
					return listLines(asking(c, enteredModules(c, starts)))
				},
				Missing: missingIn,
				Mend:    func(c *ecosystem.Checkout, starts []string) string { return downloadCommand(enteredModules(c, starts)) },
			},
		},
		Toolchain: ecosystem.Toolchain{
			Tool: "go", Names: []string{"golang", "go"}, Looks: "go",
			Needed: func(c *ecosystem.Checkout) bool { return len(findModules(c)) > 0 }, Required: true, Find: goToolchain,
			VersionIn: func(part string) string {
				v, ok := strings.CutPrefix(part, "go")
				if v, _, _ = strings.Cut(v, " "); !ok {
					return ""
				}
				return v
			},
			Note: note,
		},
		Programs: ecosystem.Programs{
			Toolchain: []string{"go"}, Harmless: []string{"go", "golangci-lint", "staticcheck", "gofmt", "gofumpt", "gotestsum"},
			Folders: map[string][]string{"go": {"-C"}},
		},
	}
}

// registries are the proxy, and the database of sums.
func registries(ctx context.Context, m *ecosystem.Machine, _ string) string {
	out := m.Told(ctx, "go", "env", "GOPROXY", "GOSUMDB")
	if sum := ecosystem.LastLine(out); sum != "" && sum != "off" && !strings.Contains(sum, "://") {
		name, _, _ := strings.Cut(sum, "+")
		out += " https://" + name
	}
	return out
}
