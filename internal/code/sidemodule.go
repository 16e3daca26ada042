package code

import (
	"context"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// Grammars are published as side modules: WebAssembly that shares memory, table
// and C library of another module, as a shared library does of a process. This
// file loads them into the core
// (https://github.com/WebAssembly/tool-conventions/blob/main/DynamicLinking.md).

// Bytes of the WebAssembly format.
const (
	i32, funcref                            = 0x7f, 0x70
	kindFunc, kindTable, kindMem, kindGlob  = 0, 1, 2, 3
	secType, secImport, secFunc, secGlob    = 1, 2, 3, 6
	secExport, secCode                      = 7, 10
	opEnd, opLocalGet, opI32Const, opRefNul = 0x0b, 0x20, 0x41, 0xd0
)

// wasm is a module as it is written.
type wasm []byte

func newWasm() wasm { return wasm{0, 'a', 's', 'm', 1, 0, 0, 0} }

func (w wasm) bytes(b ...byte) wasm { return append(w, b...) }

func (w wasm) uint(v uint32) wasm {
	for ; v >= 0x80; v >>= 7 {
		w = append(w, byte(v)|0x80)
	}
	return append(w, byte(v))
}

func (w wasm) int(v int32) wasm {
	for v < -64 || v >= 64 {
		w = append(w, byte(v)|0x80)
		v >>= 7
	}
	return append(w, byte(v)&0x7f)
}

func (w wasm) name(s string) wasm { return append(w.uint(uint32(len(s))), s...) }

func (w wasm) section(id byte, body wasm) wasm {
	return append(w.bytes(id).uint(uint32(len(body))), body...)
}

// room is the memory and the table's entries that a side module asks for.
type room struct{ memory, align, table uint32 }

// roomOf reads the section dylink.0, with which a side module begins.
func roomOf(b []byte) (r room, err error) {
	bad := errors.New("not a side module")
	if len(b) < 10 || b[8] != 0 {
		return r, bad
	}
	rest := b[9:]
	next := func() (v uint32) {
		for shift := 0; shift < 35 && len(rest) > 0; shift += 7 {
			c := rest[0]
			rest = rest[1:]
			v |= uint32(c&0x7f) << shift
			if c < 0x80 {
				return v
			}
		}
		err = bad
		return 0
	}
	cut := func(n uint32) (head []byte) {
		if uint64(n) > uint64(len(rest)) {
			err = bad
			return nil
		}
		head, rest = rest[:n], rest[n:]
		return head
	}
	rest = cut(next())
	if string(cut(next())) != "dylink.0" {
		return r, bad
	}
	for len(rest) > 0 && err == nil {
		kind, body := next(), cut(next())
		if kind == 1 {
			rest = body
			return room{memory: next(), align: 1 << min(next(), 16), table: next()}, err
		}
	}
	return r, bad
}

// load puts a grammar into the instance and asks it for the language.
func (i *instance) load(ctx context.Context, side *module, language string) error {
	r, err := roomOf(side.raw)
	if err != nil {
		return err
	}
	align := max(16, r.align)
	size := (r.memory + align - 1) &^ (align - 1)
	base, err := i.call(ctx, "tsw_memalign", uint64(align), uint64(size))
	if err != nil {
		return err
	}
	if base == 0 || !i.memory.Write(uint32(base), make([]byte, size)) {
		return errors.New("no memory left")
	}
	slot, err := i.growTable(ctx, r.table)
	if err != nil {
		return err
	}
	env, err := i.link(ctx, environment(side, int32(base), slot), "core", i.core)
	if err != nil {
		return err
	}
	m, err := i.instantiate(ctx, side.code, "env", env)
	if err != nil {
		return err
	}
	for _, start := range []string{"__wasm_apply_data_relocs", "__wasm_call_ctors"} {
		if f := m.ExportedFunction(start); f != nil {
			if _, err := f.Call(ctx); err != nil {
				return fmt.Errorf("%s: %w", start, err)
			}
		}
	}
	f := m.ExportedFunction(language)
	if f == nil {
		return fmt.Errorf("no function %s", language)
	}
	got, err := f.Call(ctx)
	if err != nil {
		return err
	}
	i.grammar = got[0]
	return nil
}

// growTable makes the core's table longer and gives its first new entry. Only
// a module can do so: this one has one function, that calls table.grow.
func (i *instance) growTable(ctx context.Context, by uint32) (int32, error) {
	body := wasm{0, opRefNul, funcref, opLocalGet, 0, 0xfc, 0x0f, 0, opEnd}
	w := newWasm().
		section(secType, wasm{1, 0x60, 1, i32, 1, i32}).
		section(secImport, wasm{1}.name("core").name("__indirect_function_table").bytes(kindTable, funcref, 0, 1)).
		section(secFunc, wasm{1, 0}).
		section(secExport, wasm{1}.name("grow").bytes(kindFunc, 0)).
		section(secCode, append(wasm{1}.uint(uint32(len(body))), body...))
	m, err := i.link(ctx, w, "core", i.core)
	if err != nil {
		return 0, err
	}
	got, err := m.ExportedFunction("grow").Call(ctx, uint64(by))
	if err != nil {
		return 0, err
	}
	if int32(got[0]) < 0 {
		return 0, errors.New("the table of functions does not grow")
	}
	return int32(got[0]), nil
}

// environment is the module "env" of a side module: what the core has, under
// the names that the side module asks for, and where its own memory and
// functions begin.
func environment(side *module, memoryBase, tableBase int32) wasm {
	imports := side.code.ImportedFunctions()
	types, imp := wasm{}.uint(uint32(len(imports))), wasm{}.uint(uint32(len(imports)+3))
	exp := wasm{}.uint(uint32(len(imports) + 5))
	imp = imp.name("core").name("memory").bytes(kindMem, 0, 0)
	imp = imp.name("core").name("__indirect_function_table").bytes(kindTable, funcref, 0, 0)
	imp = imp.name("core").name("__stack_pointer").bytes(kindGlob, i32, 1)
	exp = exp.name("memory").bytes(kindMem, 0).name("__indirect_function_table").bytes(kindTable, 0)
	exp = exp.name("__stack_pointer").bytes(kindGlob, 0)
	exp = exp.name("__memory_base").bytes(kindGlob, 1).name("__table_base").bytes(kindGlob, 2)
	for k, f := range imports {
		_, name, _ := f.Import()
		types = types.bytes(0x60).uint(uint32(len(f.ParamTypes()))).bytes(f.ParamTypes()...)
		types = types.uint(uint32(len(f.ResultTypes()))).bytes(f.ResultTypes()...)
		imp = imp.name("core").name(name).bytes(kindFunc).uint(uint32(k))
		exp = exp.name(name).bytes(kindFunc).uint(uint32(k))
	}
	globals := wasm{2, i32, 0, opI32Const}.int(memoryBase).bytes(opEnd, i32, 0, opI32Const).int(tableBase).bytes(opEnd)
	return newWasm().section(secType, types).section(secImport, imp).section(secGlob, globals).section(secExport, exp)
}

// link compiles and loads a module that was made here.
func (i *instance) link(ctx context.Context, w wasm, from string, source api.Module) (api.Module, error) {
	c, err := i.host.runtime.CompileModule(ctx, w)
	if err != nil {
		return nil, err
	}
	return i.instantiate(ctx, c, from, source)
}

// instantiate loads a module that imports from one other.
func (i *instance) instantiate(ctx context.Context, c wazero.CompiledModule, from string, source api.Module) (api.Module, error) {
	ctx = experimental.WithImportResolver(ctx, func(name string) api.Module {
		if name == from {
			return source
		}
		return nil
	})
	m, err := i.host.runtime.InstantiateModule(ctx, c, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err == nil {
		i.others = append(i.others, m)
	}
	return m, err
}
