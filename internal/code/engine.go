package code

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
)

// MaxSize is the size in bytes above which a file is refused: code that people
// write is smaller, and generated code is nobody's to prove.
const MaxSize = 1 << 20

// Errors of reading, told apart by errors.Is.
var (
	ErrLanguage = errors.New("a language that cannot be read")
	ErrTooLarge = errors.New("larger than 1 MiB")
	ErrTooMuch  = errors.New("more work than code that people write")
	errClosed   = errors.New("the reader of syntax is closed")
)

// Options of an engine.
type Options struct {
	// CacheDir is a folder of the user's own to keep compiled modules in; "" for
	// none. What lies in it is run: nothing else may write there. A cache that
	// cannot be used is done without.
	CacheDir string
}

// Engine reads files. It is safe for concurrent use, and loads what reads a
// language when the first file of it is read.
type Engine struct {
	cacheDir string
	slots    chan struct{} // bounds how many files are in memory as trees

	closing sync.Mutex // two that close at once must not wait for each other's slots

	mu     sync.Mutex
	host   *host // nil until a module is needed
	former []*host
	idle   map[Language][]*instance
	closed bool
}

// Bounds of the instances: how many work at once, and how large one may be, in
// bytes, to be kept for the next file.
const (
	maxAtWork = 8
	maxIdle   = 64 << 20
)

// New makes an engine; it does nothing yet.
func New(o Options) *Engine {
	return &Engine{
		cacheDir: o.CacheDir,
		slots:    make(chan struct{}, min(runtime.GOMAXPROCS(0), maxAtWork)),
		idle:     map[Language][]*instance{},
	}
}

// Close frees what was loaded, once nobody reads any more. It may be called
// again; reading afterwards is an error.
func (e *Engine) Close() error {
	e.closing.Lock()
	defer e.closing.Unlock()
	for range cap(e.slots) {
		e.slots <- struct{}{}
	}
	defer func() {
		for range cap(e.slots) {
			<-e.slots
		}
	}()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil
	}
	e.closed, e.idle = true, nil
	var errs []error
	for _, h := range append(e.former, e.host) {
		if h != nil {
			errs = append(errs, h.close())
		}
	}
	return errors.Join(errs...)
}

// file is a source that was parsed.
type file interface {
	functions() (fns []Function, broken bool)
	definitions() (all []Definition, broken bool)
	switched(cuts []SwitchedFunction, n switchNames) (Switched, error)
	testSpans() (all, top []Span) // top: those that are items of the file itself
	tokens(from, to int) []lexeme // those that begin there, in order
}

// read parses a file.
func (e *Engine) read(ctx context.Context, name string, src []byte) (file, error) {
	lang := LanguageOf(name)
	if lang == "" {
		return nil, fmt.Errorf("%s: %w", name, ErrLanguage)
	}
	if len(src) > MaxSize {
		return nil, fmt.Errorf("%s: %w", name, ErrTooLarge)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if lang == Go {
		return readGo(name, src), nil
	}
	t, err := e.parse(ctx, lang, src)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return &treeFile{tree: t, name: name, dialect: dialects[lang]}, nil
}

func (e *Engine) parse(ctx context.Context, lang Language, src []byte) (*tree, error) {
	select {
	case e.slots <- struct{}{}:
		defer func() { <-e.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	i, err := e.take(ctx, lang)
	if err != nil {
		return nil, err
	}
	t, err := i.parse(ctx, src)
	e.give(i)
	return t, err
}

// take gets an instance for a language, which nobody else has meanwhile: two
// grammars never share a memory, as a scanner's fault would reach the other.
func (e *Engine) take(ctx context.Context, lang Language) (*instance, error) {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil, errClosed
	}
	if l := e.idle[lang]; len(l) > 0 {
		i := l[len(l)-1]
		e.idle[lang] = l[:len(l)-1]
		e.mu.Unlock()
		return i, nil
	}
	if e.host == nil {
		h, err := newHost(ctx, e.cacheDir)
		if err != nil {
			e.mu.Unlock()
			return nil, err
		}
		e.host = h
	}
	h := e.host
	e.mu.Unlock()
	i, err := h.instance(ctx, lang)
	if err == nil || h.cache == nil {
		return i, err
	}
	if h, err = e.withoutCache(ctx, h); err != nil {
		return nil, err
	}
	return h.instance(ctx, lang)
}

// withoutCache puts a host without a cache in the place of one that failed with
// it: a torn file or a full disk is no reason to read nothing. What the cache
// held goes, so that the next process starts it anew.
func (e *Engine) withoutCache(ctx context.Context, failed *host) (*host, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.host != failed {
		return e.host, nil
	}
	h, err := newHost(ctx, "")
	if err != nil {
		return nil, err
	}
	failed.dropCache()
	e.former = append(e.former, failed)
	e.host = h
	return h, nil
}

func (e *Engine) give(i *instance) {
	e.mu.Lock()
	keep := !i.dead && i.memory.Size() <= maxIdle && i.host == e.host && len(e.idle[i.lang]) < 2
	if keep {
		e.idle[i.lang] = append(e.idle[i.lang], i)
	}
	e.mu.Unlock()
	if !keep {
		i.close()
	}
}
