package python

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"agency/internal/ecosystem"
	"agency/internal/regexp"
)

// packagesOf reads the packages of a file.
func packagesOf(base string) func([]byte) ecosystem.Versions {
	switch base {
	case "uv.lock", "poetry.lock", "pdm.lock":
		return ecosystem.TOMLLock
	case "Pipfile.lock":
		return pipfilePackages
	case "pyproject.toml":
		return projectPackages
	}
	if strings.HasSuffix(base, ".txt") && strings.Contains(base, "requirements") {
		return requirements
	}
	return nil
}

var (
	requirement = regexp.MustCompile(`^([A-Za-z0-9][\w.-]*)(?:\[[^\]]*\])?\s*([^#;]*)`)
	quoted      = regexp.MustCompile(`["']([^"'\n]+)["']`)
	projectList = regexp.MustCompile(`(?ms)^(?:dependencies|[\w-]+)\s*=\s*\[(.*?)\]\s*$`)
)

// requirements reads what pip is told, a package a line.
func requirements(b []byte) ecosystem.Versions {
	out := ecosystem.NewVersions()
	for line := range bytes.Lines(b) {
		if out.More {
			break
		}
		if m := requirement.FindStringSubmatch(strings.TrimSpace(string(line))); m != nil {
			version, _, _ := strings.Cut(m[2], "--hash")
			out.Add(pythonName(m[1]), strings.TrimSuffix(strings.TrimSpace(version), `\`))
		}
	}
	return out
}

var pythonRuns = regexp.MustCompile(`[-_.]+`)

// pythonName is a distribution's name in its one normal form.
func pythonName(name string) string { return strings.ToLower(pythonRuns.ReplaceAllString(name, "-")) }

func projectPackages(b []byte) ecosystem.Versions {
	out := ecosystem.NewVersions()
	for _, t := range out.Tables(b) {
		if t.Name != "project" && t.Name != "project.optional-dependencies" && t.Name != "dependency-groups" {
			continue
		}
		out.Each(projectList, t.Body, func(list []string) {
			if t.Name == "project" && !strings.HasPrefix(list[0], "dependencies") {
				return // classifiers and their like
			}
			out.Each(quoted, list[1], func(q []string) {
				for name, version := range requirements([]byte(q[1])).Of {
					out.Add(name, version)
				}
			})
		})
	}
	poetry := ecosystem.TOMLDependencies(b) // its tables have the same form
	out.More = out.More || poetry.More
	for name, version := range poetry.Of {
		if name != "python" {
			out.Add(pythonName(name), version)
		}
	}
	return out
}

func pipfilePackages(b []byte) ecosystem.Versions {
	read := ecosystem.NewVersions()
	read.Walk(b, func(at []string, value json.Token) {
		if len(at) > 2 && (at[0] == "default" || at[0] == "develop") {
			if len(at) > 3 {
				at = append(slices.Clone(at[:2]), "")
			}
			read.Set(at[1], at, value)
		}
	})
	out := ecosystem.NewVersions()
	out.More = read.More
	for name, version := range read.Of {
		out.Add(name, strings.TrimPrefix(version, "=="))
	}
	return out
}
