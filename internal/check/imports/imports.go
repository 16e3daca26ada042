// Package imports tells which files of a checkout a change can reach, by what
// its files say that they use. It reads text and runs nothing.
//
// It errs on one side only: a file counts as used where it may be, because a
// string names it or because what loads it cannot be told. What it does not
// know at all it says, and then everything is affected.
package imports

import (
	"context"
	"path"
	"regexp"
	"slices"
	"strings"
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

// reader reads a checkout within bounds.
type reader struct {
	ctx     context.Context
	src     Source
	tracked map[string]bool
	dirs    map[string]bool
	left    int64
	graph   Graph
}

func newReader(ctx context.Context, src Source, isCode func(string) bool) *reader {
	r := &reader{ctx: ctx, src: src, left: maxAll, tracked: map[string]bool{}, dirs: map[string]bool{}}
	r.graph = Graph{users: map[string][]string{}, hooks: map[string]bool{}}
	for _, f := range src.Files {
		r.tracked[f] = true
		for d := path.Dir(f); !r.dirs[d]; d = path.Dir(d) {
			r.dirs[d] = true
		}
		if isCode(f) && !others(f) {
			r.graph.Code = append(r.graph.Code, f)
		}
	}
	slices.Sort(r.graph.Code)
	return r
}

// others tells whether a file is of others' code that is kept in the checkout.
func others(f string) bool {
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

// each reads every file of code. False where there is too much of it, or the
// time is over.
func (r *reader) each(visit func(file, text string)) bool {
	if len(r.graph.Code) > maxFiles {
		return false
	}
	for _, f := range r.graph.Code {
		text := r.src.Read(f, maxFile+1)
		r.left -= int64(len(text))
		if text == nil || len(text) > maxFile || r.left < 0 || r.ctx.Err() != nil || r.graph.edges > maxEdges {
			return false
		}
		visit(f, string(text))
	}
	return true
}

// use notes that a file uses others.
func (r *reader) use(file string, used ...string) {
	for _, u := range used {
		if u != file && !slices.Contains(r.graph.users[u], file) {
			r.graph.users[u] = append(r.graph.users[u], file)
			r.graph.edges++
		}
		if built(u) { // of what it was made is not known
			r.wild(file)
		}
	}
}

func (r *reader) wild(file string) {
	if n := len(r.graph.wild); n == 0 || r.graph.wild[n-1] != file {
		r.graph.wild = append(r.graph.wild, file)
	}
}

var words = regexp.MustCompile(`[\w@$-][\w@$.-]*`)

// Mentioned tells whether a text, such as a configuration, names one of the
// files, by its name with or without extension, or as the index of its folder.
func Mentioned(text string, files map[string]bool) bool {
	named := map[string]bool{}
	for _, w := range words.FindAllString(text, -1) {
		named[w] = true
		named[stem(w)] = true
		for part := range strings.SplitSeq(w, ".") { // a module by its dotted name
			named[part] = true
		}
	}
	for f := range files {
		s := stem(path.Base(f))
		if named[s] || (s == "index" || s == "__init__") && named[path.Base(path.Dir(f))] {
			return true
		}
	}
	return false
}

// stem is a name without the extension of code.
func stem(name string) string {
	if isJS(name) || path.Ext(name) == ".py" {
		name = strings.TrimSuffix(name, path.Ext(name))
		return strings.TrimSuffix(name, ".d") // of TypeScript
	}
	return name
}
