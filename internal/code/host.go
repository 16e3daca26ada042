package code

import (
	"bytes"
	"compress/gzip"
	"context"
	"embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

//go:embed grammar/*.wasm.gz
var modules embed.FS

// core is the module that every grammar is loaded into.
const core = "core"

// maxPages bounds an instance's memory, in pages of 64 KiB: 256 MiB.
const maxPages = 4096

// host runs modules. What it compiled is shared by all instances.
type host struct {
	runtime wazero.Runtime
	cache   wazero.CompilationCache // nil: none
	dir     string                  // of the cache

	mu       sync.Mutex
	compiled map[string]*module
}

type module struct {
	once sync.Once
	code wazero.CompiledModule
	raw  []byte
	err  error
}

// newHost starts a runtime with what modules may call: the question whether to
// go on, and a system that has nothing. Ending a context from outside of the
// guest (WithCloseOnContextDone) is not used: it makes the guest three times
// slower.
func newHost(ctx context.Context, cacheDir string) (*host, error) {
	ctx = context.WithoutCancel(ctx)
	h := &host{compiled: map[string]*module{}}
	c := wazero.NewRuntimeConfig().WithMemoryLimitPages(maxPages).WithDebugInfoEnabled(false)
	if cacheDir != "" {
		dir := filepath.Join(cacheDir, "modules") // our own, so that it may be deleted
		if cache, err := wazero.NewCompilationCacheWithDir(dir); err == nil {
			h.cache, h.dir = cache, dir
			c = c.WithCompilationCache(cache)
		}
	}
	h.runtime = wazero.NewRuntimeWithConfig(ctx, c)
	_, err := h.runtime.NewHostModuleBuilder("host").NewFunctionBuilder().
		WithGoFunction(api.GoFunc(progress), nil, []api.ValueType{i32}).Export("progress").Instantiate(ctx)
	if err == nil {
		err = noSystem(ctx, h.runtime)
	}
	if err != nil {
		return nil, fmt.Errorf("start the modules' runtime: %w", err)
	}
	return h, nil
}

// noSystem answers what the core's C library asks of WASI, which it does for
// messages that nobody reads: there is no such function.
func noSystem(ctx context.Context, r wazero.Runtime) error {
	const i64, notSupported = api.ValueTypeI64, 52
	b := r.NewHostModuleBuilder("wasi_snapshot_preview1")
	for name, params := range map[string][]api.ValueType{
		"clock_time_get": {i32, i64, i32}, "fd_close": {i32}, "fd_seek": {i32, i64, i32, i32}, "fd_write": {i32, i32, i32, i32},
	} {
		b = b.NewFunctionBuilder().WithGoFunction(api.GoFunc(func(_ context.Context, stack []uint64) {
			stack[0] = notSupported
		}), params, []api.ValueType{i32}).Export(name)
	}
	_, err := b.Instantiate(ctx)
	return err
}

type untilKey struct{}

// progress answers a module that asks whether to stop: when the context that a
// call was made for has ended.
func progress(ctx context.Context, stack []uint64) {
	stack[0] = 0
	if until, ok := ctx.Value(untilKey{}).(context.Context); ok && until.Err() != nil {
		stack[0] = 1
	}
}

func (h *host) close() error {
	err := h.runtime.Close(context.Background())
	if h.cache != nil {
		if cerr := h.cache.Close(context.Background()); err == nil {
			err = cerr
		}
	}
	return err
}

// dropCache deletes what the cache holds. That it stays is no harm: the next
// process does without once more.
func (h *host) dropCache() { _ = os.RemoveAll(h.dir) }

// module is a module of the folder grammar, compiled once.
func (h *host) module(ctx context.Context, name string) (*module, error) {
	h.mu.Lock()
	m := h.compiled[name]
	if m == nil {
		m = &module{}
		h.compiled[name] = m
	}
	h.mu.Unlock()
	m.once.Do(func() {
		if m.raw, m.err = unpack(name); m.err == nil {
			m.code, m.err = h.runtime.CompileModule(context.WithoutCancel(ctx), m.raw)
		}
	})
	if m.err != nil {
		return nil, fmt.Errorf("load the syntax of %s: %w", name, m.err)
	}
	return m, nil
}

func unpack(name string) ([]byte, error) {
	packed, err := modules.ReadFile("grammar/" + name + ".wasm.gz")
	if err != nil {
		return nil, err
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
