// Package imports tells which files of a checkout a change can reach, by what
// its files say that they use. It reads text and runs nothing.
//
// It errs on one side only: a file counts as used where it may be, because a
// string names it or because what loads it cannot be told. What it does not
// know at all it says, and then everything is affected. How a language names what
// it uses is that language's (package ecosystem); the graph and its bounds are here.
package imports

import (
	"context"
	"path"
	"slices"
	"strings"

	"agency/internal/regexp"
)

// Bounds of what is read of a checkout, so that no repository can stall the
// host.
const (
	maxFiles = 20_000
	maxFile  = 1 << 20   // bytes of one file
	maxAll   = 256 << 20 // bytes of all
	maxEdges = 2_000_000
)

// Source is a checkout.
type Source struct {
	// Files are the regular files that git tracks, relative to the repository:
	// others are made by commands, from what cannot be told.
	Files []string
	// Read gives a file's text, at most so many bytes of it; nil where it cannot be
	// read, or not without leaving the checkout.
	Read func(name string, most int64) []byte
}

// With adds files that are gone, so that what still names them counts.
func (s Source) With(gone []string) Source {
	read := s.Read
	s.Files = append(slices.Clone(s.Files), gone...)
	s.Read = func(name string, most int64) []byte {
		if slices.Contains(gone, name) {
			return []byte{}
		}
		return read(name, most)
	}
	return s
}

// Graph is who uses whom among the code of a checkout.
type Graph struct {
	Code  []string            // the files that were read, sorted
	users map[string][]string // by file: those that use it
	wild  []string            // files that can load any other
	hooks map[string]bool     // files with hooks around the tests of all files
	exts  []string            // of code
	edges int
}

// Affected are the files that can behave otherwise where these changed, with
// them. It is not known where one of them is no code that was read.
func (g *Graph) Affected(changed []string) (hit map[string]bool, known bool) {
	hit = map[string]bool{}
	queue := append(slices.Clone(changed), g.wild...)
	for len(queue) > 0 {
		f := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if hit[f] {
			continue
		}
		hit[f] = true
		queue = append(queue, g.users[f]...)
	}
	for _, f := range changed {
		if _, ok := slices.BinarySearch(g.Code, f); !ok {
			return nil, false
		}
	}
	return hit, true
}

// Hooks tells whether a file, where it is run in one process with others,
// stands around their tests too.
func (g *Graph) Hooks(file string) bool { return g.hooks[file] }

// Reader makes a graph of a checkout, within bounds.
type Reader struct {
	Source
	Tracked map[string]bool // the files, and
	Dirs    map[string]bool // their folders
	Graph   Graph
	ctx     context.Context
	left    int64
}

// NewReader makes one for the files with these extensions.
func NewReader(ctx context.Context, src Source, exts ...string) *Reader {
	r := &Reader{ctx: ctx, Source: src, left: maxAll, Tracked: map[string]bool{}, Dirs: map[string]bool{}}
	r.Graph = Graph{users: map[string][]string{}, hooks: map[string]bool{}, exts: exts}
	for _, f := range src.Files {
		r.Tracked[f] = true
		for d := path.Dir(f); !r.Dirs[d]; d = path.Dir(d) {
			r.Dirs[d] = true
		}
		if slices.Contains(exts, path.Ext(f)) && !Others(f) {
			r.Graph.Code = append(r.Graph.Code, f)
		}
	}
	slices.Sort(r.Graph.Code)
	return r
}

// Text is that of a file which says how code is found.
func (r *Reader) Text(f string) []byte { return r.Read(f, maxFile) }

// Others tells whether a file is of others' code that is kept in the checkout.
func Others(f string) bool {
	return slices.ContainsFunc(strings.Split(path.Dir(f), "/"), func(d string) bool {
		return d == "node_modules" || d == "site-packages" || d == ".venv" || d == "venv"
	})
}

// built tells whether a file lies where what is made of other files does.
func built(f string) bool {
	return slices.ContainsFunc(strings.Split(path.Dir(f), "/"), func(d string) bool {
		return d == "dist" || d == "build" || d == "out" || d == "target" || d == "generated"
	})
}

// Each reads every file of code. False where there is too much of it, or the
// time is over.
func (r *Reader) Each(visit func(file, text string)) bool {
	if len(r.Graph.Code) > maxFiles {
		return false
	}
	for _, f := range r.Graph.Code {
		text := r.Read(f, maxFile+1)
		r.left -= int64(len(text))
		if text == nil || len(text) > maxFile || r.left < 0 || r.ctx.Err() != nil || r.Graph.edges > maxEdges {
			return false
		}
		visit(f, string(text))
	}
	return true
}

// Use notes that a file uses others.
func (r *Reader) Use(file string, used ...string) {
	for _, u := range used {
		if u != file && !slices.Contains(r.Graph.users[u], file) {
			r.Graph.users[u] = append(r.Graph.users[u], file)
			r.Graph.edges++
		}
		if built(u) { // of what it was made is not known
			r.Wild(file)
		}
	}
}

// Wild notes a file that can load any other.
func (r *Reader) Wild(file string) {
	if n := len(r.Graph.wild); n == 0 || r.Graph.wild[n-1] != file {
		r.Graph.wild = append(r.Graph.wild, file)
	}
}

var words = regexp.MustCompile(`[\w@$-][\w@$.-]*`)

// Hook notes a file with hooks around the tests of all files.
func (r *Reader) Hook(file string) { r.Graph.hooks[file] = true }

// Mentions tells whether a text, such as a configuration, names one of the
// files, by its name with or without extension, or as the index of its folder.
func (g *Graph) Mentions(text string, files map[string]bool) bool {
	named := map[string]bool{}
	for _, w := range words.FindAllString(text, -1) {
		named[w] = true
		named[g.Stem(w)] = true
		for part := range strings.SplitSeq(w, ".") { // a module by its dotted name
			named[part] = true
		}
	}
	for f := range files {
		s := g.Stem(path.Base(f))
		if named[s] || (s == "index" || s == "__init__") && named[path.Base(path.Dir(f))] {
			return true
		}
	}
	return false
}

// Stem is a name without the extension of code.
func (g *Graph) Stem(name string) string {
	if slices.Contains(g.exts, path.Ext(name)) {
		name = strings.TrimSuffix(name, path.Ext(name))
		return strings.TrimSuffix(name, ".d") // of TypeScript
	}
	return name
}
