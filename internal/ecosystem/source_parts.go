package ecosystem

import (
	"strings"

	"agency/internal/regexp"
)

// SettingsFile is a file that decides how tests run by a part of it only: the rest, such
// as dependencies, may change.
type SettingsFile struct {
	// Glob is the pattern of its name, as of path.Match.
	Glob string
	// Parts are those parts, by their names.
	Parts func(src []byte) map[string]string
	// New: it decides where it is new, too. The scripts of a new package do not
	// decide about the tests that there were.
	New bool
}

// TheWholeFile is the part where all of a file decides.
const TheWholeFile = "the whole file"

// Program is the text of a program, all of which decides.
func Program(src []byte) map[string]string {
	return map[string]string{TheWholeFile: strings.Join(strings.Fields(string(src)), " ")}
}

var tableHead = Compile(`^\s*\[+\s*([^\]]+?)\s*\]+`)

// Tables are the tables of a TOML or INI file whose name matches, each with its
// lines.
func Tables(src []byte, wanted *regexp.Regexp) map[string]string {
	out := Texts{}
	name := ""
	for line := range strings.Lines(string(src)) {
		line = strings.TrimSpace(line)
		if m := tableHead.FindStringSubmatch(line); m != nil && !strings.Contains(line, "=") {
			name = ""
			if plain := strings.ReplaceAll(m[1], `"`, ""); wanted.MatchString(plain) {
				name = "[" + plain + "]"
				out.Add(name, "\n")
			}
			continue
		}
		if name != "" && line != "" && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, ";") {
			out.Add(name, line+"\n")
		}
	}
	return out.All()
}

// Texts are parts that grow, each as it is found.
type Texts map[string]*strings.Builder

// Add lets a part grow.
func (t Texts) Add(name, text string) {
	if t[name] == nil {
		t[name] = &strings.Builder{}
	}
	t[name].WriteString(text)
}

// All are the parts as they are.
func (t Texts) All() map[string]string {
	out := make(map[string]string, len(t))
	for name, b := range t {
		out[name] = b.String()
	}
	return out
}
