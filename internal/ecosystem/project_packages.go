package ecosystem

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"agency/internal/bounded"
	"agency/internal/regexp"
)

// Package is one that differs between two states of a lockfile or manifest. A
// side on which it is not is empty; a version that the file does not tell is
// "*".
type Package struct {
	Name string `json:"name"`
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
}

// Bounds of what is read of one text.
const (
	MaxListed   = 20_000    // packages
	MaxVersion  = 1 << 10   // bytes of a name, and of all versions of a package
	maxMatches  = 100_000   // of a form
	MaxElements = 1_000_000 // keys and values of JSON, or marks of XML
	MaxAsked    = 64 << 10  // bytes of a command line that asks about packages
)

// Versions are those of the packages that a text names, each with its version or
// versions.
type Versions struct {
	Of   map[string]string
	More bool // there are more than are read
}

// NewVersions makes an empty one.
func NewVersions() Versions { return Versions{Of: map[string]string{}} }

// Add notes a version; a package can have several.
func (l *Versions) Add(name, version string) {
	if version = strings.TrimSpace(version); version == "" {
		version = "*"
	}
	have := l.Of[name]
	switch {
	case len(name) > MaxVersion || len(have)+len(version) > MaxVersion || have == "" && len(l.Of) >= MaxListed:
		l.More = true
	case have == "":
		l.Of[name] = version
	case !slices.Contains(strings.Split(have, ", "), version):
		all := append(strings.Split(have, ", "), version)
		slices.Sort(all)
		l.Of[name] = strings.Join(all, ", ")
	}
}

// Each calls what takes the matches of a form, as long as there are not too many.
func (l *Versions) Each(form *regexp.Regexp, text string, take func(m []string)) {
	all := form.FindAllStringSubmatch(text, maxMatches)
	l.More = l.More || len(all) == maxMatches
	for _, m := range all {
		take(m)
	}
}

// Pairs reads every name and version that a form finds.
func Pairs(form *regexp.Regexp) func([]byte) Versions {
	return func(b []byte) Versions {
		out := NewVersions()
		out.Each(form, string(b), func(m []string) { out.Add(m[1], m[2]) })
		return out
	}
}

// Walk calls each with the texts and truths of a document of JSON, and with the
// keys above them; one that is broken has none.
func (l *Versions) Walk(doc []byte, each func(at []string, value json.Token)) {
	err := bounded.JSON(bytes.NewReader(doc), MaxElements, func(at []string, value json.Token) error {
		each(at, value)
		return nil
	})
	switch {
	case errors.Is(err, bounded.ErrTooLarge):
		l.More = true
	case err != nil:
		clear(l.Of)
	}
}

// Set notes the one version of a package; with none it is there all the same.
func (l *Versions) Set(name string, at []string, value json.Token) {
	version, _ := value.(string)
	if _, ok := l.Of[name]; !ok && len(l.Of) >= MaxListed || len(name)+len(version) > MaxVersion && at[len(at)-1] == "version" {
		l.More = true
		return
	}
	if at[len(at)-1] != "version" {
		version = l.Of[name]
	}
	l.Of[name] = version
}

// Table is one of a file of TOML, as text.
type Table struct{ Name, Body string }

// Tables are those of a text that are not too many.
func (l *Versions) Tables(text []byte) []Table {
	all := TablesOf(string(text))
	l.More = l.More || len(all) == maxMatches
	return all
}

// TablesOf are the first of a text, maxMatches at most.
func TablesOf(toml string) []Table {
	var out []Table
	heads := tomlHead.FindAllStringSubmatchIndex(toml, maxMatches)
	for i, h := range heads {
		end := len(toml)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		out = append(out, Table{Name: toml[h[2]:h[3]], Body: toml[h[1]:end]})
	}
	return out
}

var tomlHead = regexp.MustCompile(`(?m)^\[+([^\]\n]+)\]+[ \t]*$`)

var (
	tomlPair  = regexp.MustCompile(`(?m)^([\w-]+)\s*=\s*(?:"([^"]*)"|\{[^}\n]*?version\s*=\s*"([^"]*)"[^}\n]*\}|\{[^}\n]*\})`)
	tomlEntry = regexp.MustCompile(`(?m)^\[\[package\]\]\s*\nname = "([^"]+)"\s*\nversion = "([^"]+)"`)
)

// TOMLDependencies reads the tables of dependencies of a manifest, as of Cargo and
// Poetry.
func TOMLDependencies(b []byte) Versions {
	out := NewVersions()
	for _, t := range out.Tables(b) {
		if !strings.HasSuffix(t.Name, "dependencies") || t.Name == "project.optional-dependencies" {
			continue
		}
		out.Each(tomlPair, t.Body, func(m []string) { out.Add(m[1], m[2]+m[3]) })
	}
	return out
}

// TOMLLock reads a lockfile of tables, as of Cargo, Poetry and uv.
func TOMLLock(b []byte) Versions { return Pairs(tomlEntry)(b) }
