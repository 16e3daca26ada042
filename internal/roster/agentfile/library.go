package agentfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"agency/internal/agency"
	"agency/internal/bounded"
	"agency/internal/config"
	"agency/internal/roster"
	"agency/internal/text"
)

// Bounds of a library.
const (
	maxFiles   = 2000
	maxBytes   = 64 << 20
	maxEntries = 100_000 // of the folders, agents or not
)

// Source is a folder of agent files.
type Source struct {
	Layer Layer
	Name  string // shown before paths
	// FS holds the folder. Where others may change it meanwhile, it is bounded.FS,
	// which does not wait for what it opens.
	FS  fs.FS
	Dir string // slash path in FS; empty: all of it
}

// Library are the agents that files describe, a name each.
type Library struct {
	files map[string]*reading
	notes []string
}

// loader gathers a library.
type loader struct {
	lib     Library
	faults  config.Faults
	byLayer map[Layer]map[string]*reading
	entries int
	files   int
	bytes   int
	lenient bool              // what is wrong is a note, and the file left out
	raws    map[string][]byte // by name, where they are wanted
}

// Load reads every *.md below the sources, nearest first: of two files of one name the
// nearer counts. It follows no links and enters no hidden folders. A folder that is
// not there holds nothing. The error is config.Faults with all that is wrong in any
// file, KindInvalid beyond 2000 files or 64 MiB, KindTransient where reading fails.
func Load(sources ...Source) (Library, error) {
	l := newLoader()
	for _, s := range sources {
		if err := l.source(s); err != nil {
			return Library{}, err
		}
	}
	if err := l.faults.Err(); err != nil {
		return Library{}, err
	}
	return l.lib, nil
}

// LoadSound is Load for whoever works with what is sound: a file in which something is
// wrong, and a second one of a name, are left out and noted.
func LoadSound(sources ...Source) (Library, error) {
	l := newLoader()
	l.lenient = true
	for _, s := range sources {
		if err := l.source(s); err != nil {
			return Library{}, err
		}
	}
	return l.lib, nil
}

func newLoader() *loader {
	return &loader{lib: Library{files: map[string]*reading{}}, byLayer: map[Layer]map[string]*reading{}}
}

func (l *loader) note(path, format string, args ...any) {
	l.lib.notes = append(l.lib.notes, shownPath(path)+": "+fmt.Sprintf(format, args...))
}

func (l *loader) source(s Source) error {
	dir := path.Clean(s.Dir)
	if !fs.ValidPath(dir) {
		return agency.Errorf(agency.KindInvalid, "agent files: %q is no folder below %s", s.Dir, s.Name)
	}
	if link := linkTo(s.FS, dir); link != "" {
		l.note(path.Join(s.Name, link), "a link, which is not followed")
		return nil
	}
	err := fs.WalkDir(s.FS, dir, func(p string, d fs.DirEntry, err error) error {
		shown := path.Join(s.Name, p)
		switch l.entries++; {
		case len(l.faults) >= many:
			return fs.SkipAll
		case err != nil && p == dir && errors.Is(err, fs.ErrNotExist):
			return fs.SkipAll
		case err != nil:
			return agency.Errorf(agency.KindTransient, "agent files: %s: %w", shownPath(shown), agency.Cause(err))
		case l.entries > maxEntries:
			return agency.Errorf(agency.KindInvalid, "agent files: %s has more than %d files and folders", shownPath(path.Join(s.Name, dir)), maxEntries)
		case d.IsDir() && p != dir && strings.HasPrefix(d.Name(), "."):
			l.note(shown, "a hidden folder, which is not read")
			return fs.SkipDir
		case d.IsDir() && p != dir && holdsSkill(s.FS, p):
			l.note(shown, "a skill, which is no agent")
			return fs.SkipDir
		case d.IsDir() || path.Ext(p) != ".md":
			return nil
		case !d.Type().IsRegular():
			l.note(shown, "a link or no plain file, which is not read")
			return nil
		}
		return l.file(s, p, shown)
	})
	return err
}

// holdsSkill tells whether a folder is a skill's: libraries keep agents and skills beside
// each other, and both begin with a name and a description.
func holdsSkill(fsys fs.FS, dir string) bool {
	_, err := fs.Lstat(fsys, path.Join(dir, "SKILL.md"))
	return err == nil
}

// linkTo is the link on the way to a folder, or empty.
func linkTo(fsys fs.FS, dir string) string {
	for p := dir; p != "."; p = path.Dir(p) {
		if info, err := fs.Lstat(fsys, p); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return p
		}
	}
	return ""
}

func (l *loader) file(s Source, p, shown string) error {
	raw, err := readFile(s.FS, p)
	if err != nil {
		return agency.Errorf(agency.KindTransient, "agent files: %s: %w", shownPath(shown), agency.Cause(err))
	}
	l.files++
	if l.bytes += len(raw); l.files > maxFiles || l.bytes > maxBytes {
		return agency.Errorf(agency.KindInvalid, "agent files: more than %d files or %d MiB, at %s", maxFiles, maxBytes>>20, shownPath(shown))
	}
	r, err := read(shown, raw)
	if errors.Is(err, ErrNoFrontmatter) {
		l.note(shown, "no frontmatter, so no agent")
		return nil
	}
	if err != nil {
		return err
	}
	r.file.Layer = s.Layer
	faults := r.doc.Faults()
	switch {
	case len(faults) > 0 && l.lenient:
		l.note(shown, "not taken: line %d: %s%s", faults[0].Line, faults[0].What, more(len(faults)-1))
	case len(faults) > 0:
		l.faults = append(l.faults, faults...)
	default:
		if l.keep(r) && l.raws != nil {
			l.raws[r.file.Name] = raw
		}
	}
	return nil
}

func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" (and %d more)", n)
}

// keep adds an agent unless a nearer one has its name, and tells whether it did.
func (l *loader) keep(r *reading) bool {
	f := r.file
	for _, n := range f.Notes {
		l.note(f.Path, "%s", n)
	}
	of := l.byLayer[f.Layer]
	if of == nil {
		of = map[string]*reading{}
		l.byLayer[f.Layer] = of
	}
	if other, twice := of[f.Name]; twice && l.lenient {
		l.note(f.Path, "not taken: %s has the same name, %s", shownPath(other.file.Path), f.Name)
		return false
	} else if twice {
		at := r.place("name")
		l.faults = append(l.faults, r.doc.At(at.line, at.col, "agent %s is also %s:%d: one layer has one of a name", f.Name, shownPath(other.file.Path), other.place("name").line))
		return false
	}
	of[f.Name] = r
	if near, ok := l.lib.files[f.Name]; ok {
		l.note(f.Path, "not used: %s has the same name and is nearer", shownPath(near.file.Path))
		return false
	}
	l.lib.files[f.Name] = r
	return true
}

// place is where a field stands, the first line where the file does not have it.
func (r *reading) place(key string) place {
	if at, ok := r.at[key]; ok {
		return at
	}
	return place{1, 1}
}

// readFile reads a byte more than a file may have, by which its reader tells.
func readFile(fsys fs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, bounded.ErrNotPlain)
	}
	return io.ReadAll(io.LimitReader(f, maxFile+1))
}

// shownPath is a path without what could make a terminal show another.
func shownPath(p string) string {
	if strings.ContainsFunc(p, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) {
		return strconv.Quote(p)
	}
	return p
}

func (l Library) names() []string { return slices.Sorted(maps.Keys(l.files)) }

// All are the agents, by name.
func (l Library) All() []File {
	out := make([]File, 0, len(l.files))
	for _, name := range l.names() {
		out = append(out, l.files[name].file)
	}
	return out
}

// Find looks an agent up; KindNotFound where there is none.
func (l Library) Find(name string) (File, error) {
	if r, ok := l.files[name]; ok {
		return r.file, nil
	}
	return File{}, agency.Errorf(agency.KindNotFound, "agent %s is not known%s", config.Quoted(name), text.Suggestion(name, l.names()))
}

// Notes are those of the files, nearer sources first, with what was not read. Each
// begins with a path.
func (l Library) Notes() []string { return slices.Clone(l.notes) }

// Tools are what a session of the agent would be offered: the role's tools that the
// file names, and always those by which such a session ends. Without a role it is
// what every role that sees the repository can read, and a report.
func (l Library) Tools(f File) []string {
	offered, endings := readers(), []string{"final_report"}
	if role, err := roster.Find(f.Role); err == nil {
		offered, endings = role.Tools(), role.Endings()
	}
	return slices.DeleteFunc(offered, func(t string) bool {
		return f.Tools != nil && !slices.Contains(f.Tools, t) && !slices.Contains(endings, t)
	})
}

// readers are the tools of an agent without a role, sorted. They change nothing, and
// speak to nobody: whom one may write to depends on its role.
func readers() []string {
	return []string{"final_report", "get_git_diff", "get_git_log", "list_directory", "read_file", "search_files", "use_skill"}
}
