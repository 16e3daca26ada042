package check

import (
	"encoding/json"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// Shuffled is a test line that runs the same tests in another order. False where
// no runner of it can do so, or it does already: then the line is as it was. In
// repo are the files of the repository; it may be nil.
func Shuffled(line string, repo fs.FS) (string, bool) {
	f := files{repo}
	var edits []edit
	for _, c := range goTests(line) {
		if !strings.Contains(line[c.start:c.end], "-shuffle") {
			edits = append(edits, insertAt(uint(c.after), " -shuffle=on"))
		}
	}
	for _, c := range findCalls(line, f) {
		switch option := c.shuffle(f); {
		case option == "" || c.buried:
		case c.script != "": // what follows the script's name is handed on to it
			edits = append(edits, c.atEnd(c.dashes()+option))
		default:
			edits = append(edits, c.afterOptions(option)...)
		}
	}
	return apply(line, edits), len(edits) > 0
}

// shuffle is the option by which a runner takes another order; empty where it
// has none.
func (c call) shuffle(repo files) string {
	switch {
	case c.runner == runVitest && !has(c.tool(), "--sequence.shuffle", "--sequence.shuffle.tests"):
		return " --sequence.shuffle"
	case c.runner == runJest && !has(c.tool(), "--randomize") && atLeast(jestVersion(c.dir, repo), 29, 5):
		return " --randomize"
	}
	return ""
}

// jestVersion is the version of Jest that a folder has, or asks for at least.
func jestVersion(dir string, repo files) string {
	for ; repo.FS != nil; dir = path.Dir(dir) {
		var have struct {
			Version string `json:"version"`
		}
		if json.Unmarshal(repo.readFile(path.Join(dir, "node_modules/jest/package.json")), &have) == nil && have.Version != "" {
			return have.Version
		}
		var asked struct {
			Dependencies    map[string]string `json:"dependencies"`
			DevDependencies map[string]string `json:"devDependencies"`
		}
		if json.Unmarshal(repo.readFile(path.Join(dir, "package.json")), &asked) == nil {
			if v := asked.DevDependencies["jest"] + asked.Dependencies["jest"]; v != "" {
				return v
			}
		}
		if dir == "." {
			break
		}
	}
	return ""
}

// leastVersion is a version, or a range that says the lowest one first.
var leastVersion = regexp.MustCompile(`^\s*(?:\^|~|>=|=|v)?\s*(\d+)(?:\.(\d+))?`)

func atLeast(version string, major, minor int) bool {
	m := leastVersion.FindStringSubmatch(version)
	if m == nil {
		return false
	}
	have, err := strconv.Atoi(m[1])
	if err != nil || have != major {
		return err == nil && have > major
	}
	part, err := strconv.Atoi(m[2])
	return err == nil && part >= minor
}
