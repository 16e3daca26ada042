// Package codebase answers what agents and people ask of a checkout's code: what a file
// defines, where a name is defined and used, and changes that follow names. It reads the
// checkout's files as text and runs nothing of it; a change is given back, and whoever asked
// writes it.
//
// Each answer says how sure it is. Go is known by types (package gotypes), other languages
// where a language server sees the checkout (package lsp) and else by syntax (package
// symbols), and what has no syntax here by its text.
package codebase

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"agency/internal/agency"
	"agency/internal/code"
	"agency/internal/code/gotypes"
	"agency/internal/code/lsp"
	"agency/internal/code/symbols"
	"agency/internal/fingerprint"
	"agency/internal/store/fulltext"
)

// Certainty is how sure an answer is.
type Certainty string

// The degrees: what a name stands for is known; its form is; only its letters are.
const (
	Types  Certainty = "types"
	Syntax Certainty = "syntax"
	Text   Certainty = "text"
)

// Bounds of what is read of a checkout for one answer.
const (
	maxFiles = 200_000
	maxFile  = code.MaxSize
	maxKept  = 4096 // files whose symbols are kept
)

// Engine answers. It is safe for concurrent use, and loads what it needs when it is asked.
type Engine struct {
	syntax *code.Engine
	place  func() gotypes.Place
	index  *fulltext.Index // nil: none
	behind behind          // what is done behind answers

	mu      sync.Mutex
	outside *gotypes.Outside
	kept    map[[sha256.Size]byte]symbols.File // by the file's name and text

	listings listings
}

// New makes one over a reader of syntax, which stays the caller's; place tells where code
// outside of checkouts lies, when it is first needed; index, where it is not nil, is where
// the words of files are kept for searches.
func New(syntax *code.Engine, place func() gotypes.Place, index *fulltext.Index) *Engine {
	return &Engine{syntax: syntax, place: place, index: index, kept: map[[sha256.Size]byte]symbols.File{}}
}

func (e *Engine) others() *gotypes.Outside {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.outside == nil {
		e.outside = gotypes.NewOutside(e.place())
	}
	return e.outside
}

// Tree is a checkout that is asked about.
type Tree struct {
	e        *Engine
	fsys     fs.FS
	at       string         // the folder on this machine, where what the kernel says of its files can be relied on
	embedder Embedder       // nil: none
	servers  *lsp.Workspace // nil: none
}

// Of is the checkout with these files. What the file system opens must not wait, such as a
// pipe does.
func (e *Engine) Of(fsys fs.FS) Tree { return Tree{e: e, fsys: fsys} }

// Asking is the checkout with the language servers that see it.
func (t Tree) Asking(servers *lsp.Workspace) Tree {
	t.servers = servers
	return t
}

// At is the checkout in a folder of this machine: files of it that are as they were are not
// read again.
func (t Tree) At(dir string) Tree {
	if fingerprint.Steady(dir) {
		t.at = dir
	}
	return t
}

// Skipped tells whether a folder holds others' code, or what is made of code.
func Skipped(name string) bool {
	switch name {
	case "node_modules", "site-packages", ".venv", "venv", "vendor", "__pycache__", ".agency", ".tox", ".mypy_cache":
		return true
	}
	n := strings.ToLower(name)
	return n == ".git" || n == "git~1"
}

// errTooMany is that of a checkout with more files than are looked at for one answer.
var errTooMany = agency.Errorf(agency.KindInvalid, "the repository has more than %d files", maxFiles)

// walk tells of the checkout's regular files below a path, in order, but those of others'
// code; false ends it. Who must have seen all of them is told by errTooMany that it has not.
func (t Tree) walk(ctx context.Context, below string, visit func(name string) bool) error {
	return entries(ctx, t, below, func(p string, d fs.DirEntry) bool { return d.IsDir() || visit(p) })
}

// entries tells of them with what the folder says of each, and of the folders that it passes
// over.

func entries(ctx context.Context, t Tree, below string, visit func(name string, d fs.DirEntry) bool) error {
	n := 0
	return fs.WalkDir(t.fsys, below, func(p string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && d != nil && d.IsDir():
			return fs.SkipDir
		case err != nil:
			return nil
		case d.IsDir() && p != below && Skipped(d.Name()):
			visit(p, d)
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		if n++; n > maxFiles {
			return errTooMany
		}
		if !visit(p, d) {
			return fs.SkipAll
		}
		return nil
	})
}

// read is the text of a file; nil where it is none, or larger than what people write.
func (t Tree) read(name string) []byte {
	f, err := t.fsys.Open(name)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil || len(b) > maxFile || bytes.IndexByte(b[:min(len(b), 8000)], 0) >= 0 {
		return nil
	}
	return b
}

// symbols are those of a file. An error is that of the context, or of a file that cannot be
// read in bounds.
func (t Tree) symbols(ctx context.Context, name string, text []byte) (symbols.File, error) {
	key := sha256.Sum256(append([]byte(name+"\x00"), text...))
	t.e.mu.Lock()
	f, ok := t.e.kept[key]
	t.e.mu.Unlock()
	if ok {
		return f, nil
	}
	f, err := symbols.Read(ctx, t.e.syntax, name, text)
	if err != nil {
		return f, err
	}
	t.e.mu.Lock()
	defer t.e.mu.Unlock()
	if len(t.e.kept) >= maxKept {
		clear(t.e.kept)
	}
	t.e.kept[key] = f
	return f, nil
}

// source is a file of the checkout with its symbols, by the path of whoever asks.
func (t Tree) source(ctx context.Context, name string) (symbols.File, []byte, error) {
	if i, err := fs.Stat(t.fsys, name); err != nil || !i.Mode().IsRegular() {
		return symbols.File{}, nil, agency.Errorf(agency.KindNotFound, "%s is no file of the repository", name)
	}
	text := t.read(name)
	if text == nil {
		return symbols.File{}, nil, agency.Errorf(agency.KindInvalid, "%s is no text of at most 1 MiB", name)
	}
	f, err := t.symbols(ctx, name, text)
	if err != nil && code.Skip(err) == nil {
		return f, text, agency.Errorf(agency.KindInvalid, "the symbols of %s cannot be told: %w", name, err)
	}
	return f, text, err
}

// definition is the one that a symbol means in a file.
func definition(f symbols.File, symbol string) (symbols.Definition, error) {
	switch all := f.Named(symbol); len(all) {
	case 1:
		return all[0], nil
	case 0:
		return symbols.Definition{}, agency.Errorf(agency.KindNotFound, "%s defines no %s%s", f.Path, symbol, suggestion(f, symbol))
	default:
		var names []string
		for _, d := range all {
			names = append(names, d.Path()+":"+itoa(d.Line))
		}
		return symbols.Definition{}, agency.Errorf(agency.KindConflict, "%s defines several %s: %s; name one with its line, as they stand here", f.Path, symbol, strings.Join(names, ", "))
	}
}

// suggestion lists what a file defines where it is not what was asked for.
func suggestion(f symbols.File, symbol string) string {
	var near []string
	last := strings.ToLower(symbol[strings.LastIndexAny(symbol, ".:#")+1:])
	for _, d := range f.Definitions {
		if l := strings.ToLower(d.Name); last != "" && (strings.Contains(l, last) || strings.Contains(last, l)) && len(near) < 8 {
			near = append(near, d.Path())
		}
	}
	for _, d := range f.Definitions {
		if len(near) == 0 || len(near) < 8 && d.Container == "" && !slices.Contains(near, d.Path()) {
			near = append(near, d.Path())
		}
	}
	if len(near) == 0 {
		return ""
	}
	return "; it defines " + strings.Join(near, ", ")
}

// hasWord finds a name in a text that is no part of a longer one, from a byte on; -1: none.
func hasWord(text []byte, name string, from int) int {
	for at := from; at <= len(text) && name != ""; {
		i := bytes.Index(text[at:], []byte(name))
		if i < 0 {
			return -1
		}
		if i += at; !letter(text, i-1) && !letter(text, i+len(name)) {
			return i
		}
		at = i + 1
	}
	return -1
}

func letter(text []byte, i int) bool {
	return i >= 0 && i < len(text) && (text[i] == '_' || text[i] >= 0x80 || text[i] >= '0' && text[i] <= '9' || text[i]|0x20 >= 'a' && text[i]|0x20 <= 'z')
}

// lineAt is the line of a text that a byte stands in, without its blanks, and its number.
func lineAt(text []byte, at int) (line string, n int) {
	from := bytes.LastIndexByte(text[:at], '\n') + 1
	to := bytes.IndexByte(text[at:], '\n')
	if to < 0 {
		to = len(text) - at
	}
	line = strings.TrimSpace(strings.ToValidUTF8(string(text[from:at+to]), "?"))
	if len(line) > 160 {
		line = strings.ToValidUTF8(line[:160], "") + " ..."
	}
	return line, 1 + bytes.Count(text[:at], []byte("\n"))
}

// family is what files of one language can use of others.
func family(name string) string {
	switch l := code.SyntaxOf(name); l {
	case code.TypeScript, code.TSX, code.JavaScript:
		return "script"
	case code.C, code.CPP:
		return "c"
	default:
		return string(l)
	}
}

func folder(name string) string { return path.Dir(name) }
