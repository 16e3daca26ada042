package gotypes

import (
	"bytes"
	"go/build"
	"go/parser"
	"go/token"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// maxGlances is how many files are remembered.
const maxGlances = 1 << 19

// glance is what is known of a file without reading it again.
type glance struct {
	pkg     string
	built   bool // on this platform
	imports []string
	words   []uint16 // a part of each word's hash, sorted
}

// glances remembers files by their names and states.
type glances struct {
	mu  sync.Mutex
	all map[Listed]*glance
}

func (g *glances) get(l Listed) *glance {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.all[l]
}

func (g *glances) put(l Listed, known *glance) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.all == nil || len(g.all) >= maxGlances {
		g.all = map[Listed]*glance{}
	}
	g.all[l] = known
}

// glance looks at a file; nil where it cannot be read.
func (s *source) glance(o *Outside, l Listed) *glance {
	_, changed := s.files.Changed[l.Name]
	keep := l.State != "" && !changed
	if keep {
		if g := o.glances.get(l); g != nil {
			return g
		}
	}
	text := s.text(l.Name)
	if text == nil {
		return nil
	}
	g := glanceOf(l.Name, text)
	if keep {
		o.glances.put(l, g)
	}
	return g
}

func glanceOf(name string, text []byte) *glance {
	b := build.Default
	b.CgoEnabled = false
	g := &glance{built: matches(b, "/"+path.Dir(name), name, text), words: wordsOf(text)}
	f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly)
	if f == nil {
		return g
	}
	if f.Name != nil {
		g.pkg = strings.Clone(f.Name.Name)
	}
	for _, i := range f.Imports {
		if imported, _ := strconv.Unquote(i.Path.Value); err == nil { // of what parsed
			g.imports = append(g.imports, strings.Clone(imported))
		}
	}
	return g
}

// matches tells whether this platform builds a file.
func matches(b build.Context, dir, name string, text []byte) bool {
	b.OpenFile = func(string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }
	ok, err := b.MatchFile(dir, path.Base(name))
	return ok && err == nil && !strings.HasPrefix(name, "_")
}

// mayHave tells whether a name can stand in the file; rarely true of one that does not.
func (g *glance) mayHave(name string) bool {
	_, ok := slices.BinarySearch(g.words, hashOf([]byte(name)))
	return ok
}

func wordsOf(text []byte) []uint16 {
	var out []uint16
	for w := range bytes.FieldsFuncSeq(text, func(r rune) bool {
		return r != '_' && r < 0x80 && (r < '0' || r > '9') && (r|0x20 < 'a' || r|0x20 > 'z')
	}) {
		out = append(out, hashOf(w))
	}
	slices.Sort(out)
	return slices.Clip(slices.Clone(slices.Compact(out)))
}

func hashOf(word []byte) uint16 {
	h := uint32(2166136261) // FNV-1a, whose parts package hash/fnv does not give without an allocation each
	for _, b := range word {
		h = (h ^ uint32(b)) * 16777619
	}
	return uint16(h>>16) ^ uint16(h)
}
