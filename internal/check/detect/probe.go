package detect

import (
	"encoding/json"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"agency/internal/check"
)

// Probe is a line that tells, run on a checkout in the sandbox and without
// network, whether what a unit needs is there although no folder of its own
// fits: "true" where nothing is needed, empty where it cannot be known.
func Probe(root fs.FS, u check.Dependency, changed []Package) string {
	switch u.Manager {
	case byGo:
		var line []string
		for _, d := range findModules(root) {
			line = append(line, "(cd "+shellWord("./"+d.dir)+" && "+listErrors+" "+d.patterns()+")")
		}
		return strings.Join(line, "; ")
	case byCargo:
		var line []string
		for _, d := range topmost(survey(root).with("Cargo.toml")) {
			line = append(line, inDir(d, "cargo metadata --offline --format-version 1 "+thisPlatform+" >/dev/null"))
		}
		return strings.Join(line, " && ")
	case byMaven:
		return artifacts(changed, `"${MAVEN_OPTS#-Dmaven.repo.local=}"`, ".")
	case byGradle:
		return artifacts(changed, `"$GRADLE_USER_HOME"/caches/modules-2/files-2.1`, "/")
	case byPip, byPoetry, byPDM, byPipenv, byUV:
		return distributions(root, u, changed)
	case byNPM, byPNPM, byYarn, byBundler, byComposer:
		if len(changed) == 0 || !slices.ContainsFunc(changed, func(p Package) bool { return p.To != "" }) && empty(root, u) {
			return "true"
		}
	}
	return ""
}

// thisPlatform leaves out what other systems than this one need: nobody has
// downloaded it.
const thisPlatform = `--filter-platform "$(rustc -vV | sed -n 's/^host: //p')"`

// empty tells whether no lockfile or manifest of a unit names a package.
func empty(root fs.FS, u check.Dependency) bool {
	return !slices.ContainsFunc(u.Locks, func(l string) bool { return len(Packages(l, nil, []byte(text(root, l)))) > 0 })
}

// artifacts looks for what changed in a cache of Maven or Gradle; the folders
// of a group are parted by its dots there, or not.
func artifacts(changed []Package, cache, dots string) string {
	var line []string
	for _, p := range changed {
		group, name, ok := strings.Cut(p.Name, ":")
		if p.To == "" {
			continue
		}
		if !ok || !plainWord(group) || !plainWord(name) || !plainWord(p.To) {
			return ""
		}
		at := path.Join(strings.ReplaceAll(group, dots, "/"), name, p.To)
		line = append(line, "{ test -e "+cache+"/"+at+" || test -e /usr/share/maven-repo/"+at+"; }")
	}
	if len(line) == 0 {
		return "true"
	}
	return strings.Join(line, " && ")
}

var plain1 = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]*$`)

func plainWord(s string) bool { return plain1.MatchString(s) }

// distributions asks the interpreter that the project runs on whether it has
// what changed. A project with a virtual environment of its own has that alone.
func distributions(root fs.FS, u check.Dependency, changed []Package) string {
	want := map[string]string{}
	for _, p := range changed {
		if p.To != "" {
			want[p.Name] = exact(p.To)
		}
	}
	if len(want) == 0 {
		return "true"
	}
	b, err := json.Marshal(want)
	if err != nil { // plain strings
		return ""
	}
	return "python3 -c " + shellWord(askDistributions) + " " + shellWord(string(b))
}

// exact is the version that a requirement pins; else any will do.
func exact(requirement string) string {
	if v, ok := strings.CutPrefix(requirement, "=="); ok && !strings.ContainsAny(v, "*,; ") {
		return v
	}
	if requirement != "" && requirement[0] >= '0' && requirement[0] <= '9' && !strings.Contains(requirement, ",") {
		return requirement
	}
	return ""
}

const askDistributions = `import json, sys
from importlib import metadata
for name, want in json.loads(sys.argv[1]).items():
    try: have = metadata.version(name)
    except metadata.PackageNotFoundError: sys.exit(name + " is not installed")
    if want and have != want: sys.exit(name + " " + have + " is installed")`

// cargoOffline is how Cargo says that it would have to download.
var cargoOffline = regexp.MustCompile(`(?i)--offline|offline was specified|failed to download|no matching package|unable to update registry|failed to load source`)

// Answered tells what a probe found: everything is there.
func Answered(u check.Dependency, exit int, output string) bool {
	switch u.Manager {
	case byGo: // a module that is broken in other ways needs no download
		return len(missingIn(output)) == 0
	case byCargo:
		return exit == 0 || !cargoOffline.MatchString(output)
	}
	return exit == 0
}
