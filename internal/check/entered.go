package check

import (
	"io/fs"
	"path"
	"strings"

	"agency/internal/agency"
)

// Start is a program that a command starts, and the folder in which it does.
type Start struct {
	Program string // without its path
	Dir     string // relative to the checkout
	// Known tells that the program does what its name says: one that is not, such
	// as make, may enter other folders by itself.
	Known bool
	Kind  agency.CheckKind
}

// Starts are the programs that the commands of a checkout start, in folders that
// are known before a shell reads the lines, behind package scripts too.
func Starts(cmds Commands, repo fs.FS) []Start {
	n := needs{find: finder{repo: files{repo}}}
	for _, kind := range []agency.CheckKind{agency.CheckSetup, agency.CheckBuild, agency.CheckTypecheck, agency.CheckLint, agency.CheckTest} {
		n.kind, n.line, n.unsure = kind, cmds.Command(kind).Line, false
		n.read(n.line, ".")
	}
	return n.begun
}

// folderOptions are the options by which programs are told to work elsewhere.
var folderOptions = map[string][]string{
	"go": {"-C"}, "npm": {"--prefix", "-C"}, "pnpm": {"-C", "--dir"}, "yarn": {"--cwd"}, "make": {"-C"}, "cargo": {"-C", "--manifest-path"},
	"mvn": {"-f", "--file"}, "mvnw": {"-f", "--file"}, "gradle": {"-p", "--project-dir"}, "gradlew": {"-p", "--project-dir"},
}

// folderOf is where a call works that starts in a folder.
func folderOf(words []string, dir string) string {
	options := folderOptions[path.Base(words[0])]
	for i, w := range words[1:] {
		for _, o := range options {
			to, ok := strings.CutPrefix(w, o+"=")
			if w == o && i+2 < len(words) {
				to, ok = words[i+2], true
			}
			if !ok || dir == unknownDir {
				continue
			}
			if strings.HasSuffix(to, ".toml") || strings.HasSuffix(to, ".xml") {
				to = path.Dir(to)
			}
			if to = path.Join(dir, to); path.IsAbs(words[0]) || to == ".." || strings.HasPrefix(to, "../") {
				return unknownDir
			}
			return to
		}
	}
	return dir
}

// note notes that a call starts a program.
func (n *needs) note(words []string, dir string) {
	base := path.Base(words[0])
	if dir = folderOf(words, dir); dir != unknownDir {
		known := harmless[base] || toolchains[base] && base != "make" || isPython(base) || base == "yarn" || base == "pnpm"
		n.begun = append(n.begun, Start{Program: base, Dir: dir, Known: known, Kind: n.kind})
	}
}
