package detect

import (
	"encoding/json"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml"
)

// lockedAt are the versions that the lockfile of a folder names for what its
// manifest depends on; a package of which none is certain is left out.
func lockedAt(root fs.FS, dir string, m manifestJS) map[string]string {
	for _, n := range []string{"package-lock.json", "npm-shrinkwrap.json"} {
		if b := text(root, path.Join(dir, n)); b != "" {
			return lockedByNPM(b)
		}
	}
	if b := text(root, path.Join(dir, "pnpm-lock.yaml")); b != "" {
		return lockedByPNPM(b)
	}
	return lockedByYarn(text(root, path.Join(dir, "yarn.lock")), m)
}

func lockedByNPM(text string) map[string]string {
	var lock struct {
		Packages map[string]struct {
			Version string `json:"version"`
			Link    bool   `json:"link"`
		} `json:"packages"`
	}
	_ = json.Unmarshal([]byte(text), &lock) // a broken one names nothing
	out := map[string]string{}
	for at, p := range lock.Packages {
		if name, ok := strings.CutPrefix(at, "node_modules/"); ok && !p.Link && !strings.Contains(name, "/node_modules/") {
			out[name] = p.Version
		}
	}
	return out
}

// pnpmVersion is a version as pnpm writes it: with what it was installed beside
// behind it.
var pnpmVersion = regexp.MustCompile(`^(\d+\.\d+\.\d+[\w.+-]*)(?:[(_].*)?$`)

// lockedByPNPM reads the importer that the lockfile's own folder is; versions 5
// and 6 without workspaces have it at the top.
func lockedByPNPM(text string) map[string]string {
	type importer struct {
		Dependencies    map[string]any `yaml:"dependencies"`
		DevDependencies map[string]any `yaml:"devDependencies"`
	}
	var lock struct {
		Importers map[string]importer `yaml:"importers"`
		Packages  map[string]struct {
			Version string `yaml:"version"`
		} `yaml:"packages"`
	}
	var of importer
	if yaml.Unmarshal([]byte(text), &lock) != nil || yaml.Unmarshal([]byte(text), &of) != nil {
		return nil
	}
	if i, ok := lock.Importers["."]; ok {
		of = i
	}
	out := map[string]string{}
	for _, list := range []map[string]any{of.Dependencies, of.DevDependencies} {
		for name, entry := range list {
			version, _ := entry.(string)
			if full, ok := entry.(map[string]any); ok {
				version, _ = full["version"].(string)
			}
			if m := pnpmVersion.FindStringSubmatch(version); m != nil {
				out[name] = m[1]
			} else if p := lock.Packages[name+"@"+version]; p.Version != "" { // of a file or a repository
				out[name] = p.Version
			}
		}
	}
	return out
}

var yarnLocked = regexp.MustCompile(`(?m)^(\S[^\n]*):\n\s+version:? "?([^"\s]+)"?`)

// lockedByYarn finds what the manifest asks for word for word.
func lockedByYarn(text string, m manifestJS) map[string]string {
	versions := map[string]string{}
	for _, e := range yarnLocked.FindAllStringSubmatch(text, -1) {
		for key := range strings.SplitSeq(strings.ReplaceAll(e[1], `"`, ""), ", ") {
			versions[key] = e[2]
		}
	}
	out := map[string]string{}
	for _, list := range []map[string]json.RawMessage{m.Dependencies, m.DevDependencies} {
		for name, raw := range list {
			var spec string
			if json.Unmarshal(raw, &spec) != nil {
				continue
			}
			for _, key := range []string{name + "@" + spec, name + "@npm:" + spec} {
				if v := versions[key]; v != "" && !strings.HasPrefix(v, "0.0.0-use.") {
					out[name] = v
				}
			}
		}
	}
	return out
}
