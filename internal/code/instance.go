package code

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// instance is a core with one grammar in it, for one caller at a time.
type instance struct {
	host    *host
	lang    Language
	core    api.Module
	memory  api.Memory
	others  []api.Module // what was loaded into it
	grammar uint64       // address
	symbols []string
	fields  []string
	dead    bool // a call trapped: its memory is not to be trusted
}

// instance makes one. Loading is not cancelled half-way: it is short, and the
// next caller needs it too.
func (h *host) instance(ctx context.Context, lang Language) (*instance, error) {
	ctx = context.WithoutCancel(ctx)
	m, err := h.module(ctx, core)
	if err != nil {
		return nil, err
	}
	side, err := h.module(ctx, string(lang))
	if err != nil {
		return nil, err
	}
	c, err := h.runtime.InstantiateModule(ctx, m.code, wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize"))
	if err != nil {
		return nil, fmt.Errorf("start the parser: %w", err)
	}
	i := &instance{host: h, lang: lang, core: c, memory: c.Memory()}
	if err = i.load(ctx, side, "tree_sitter_"+string(lang)); err == nil {
		err = i.names(ctx)
	}
	if err != nil {
		i.close()
		return nil, fmt.Errorf("load the syntax of %s: %w", lang, err)
	}
	return i, nil
}

func (i *instance) close() {
	i.dead = true
	for n := len(i.others) - 1; n >= 0; n-- {
		_ = i.others[n].Close(context.Background())
	}
	_ = i.core.Close(context.Background())
}

func (i *instance) call(ctx context.Context, name string, args ...uint64) (uint64, error) {
	if i.dead {
		return 0, errors.New("the parser has ended")
	}
	r, err := i.core.ExportedFunction(name).Call(ctx, args...)
	if err != nil {
		i.dead = true
		return 0, err
	}
	if len(r) == 0 {
		return 0, nil
	}
	return r[0], nil
}

// names reads what the grammar calls its nodes and their fields.
func (i *instance) names(ctx context.Context) error {
	list := func(count, name string, first uint64) (out []string, err error) {
		n, err := i.call(ctx, count, i.grammar)
		if err != nil {
			return nil, err
		}
		if first > 0 { // fields begin with 1
			out = append(out, "")
		}
		for k := range n {
			p, err := i.call(ctx, name, i.grammar, k+first)
			if err != nil {
				return nil, err
			}
			out = append(out, i.text(uint32(p)))
		}
		return out, nil
	}
	var err error
	if i.symbols, err = list("tsw_symbols", "tsw_symbol", 0); err == nil {
		i.fields, err = list("tsw_fields", "tsw_field", 1)
	}
	return err
}

// text reads a string that ends with zero.
func (i *instance) text(at uint32) string {
	var s []byte
	for at != 0 {
		b, ok := i.memory.ReadByte(at)
		if !ok || b == 0 {
			break
		}
		s = append(s, b)
		at++
	}
	return string(s)
}

// maxTime is how long one file may take. Code takes some 0.4 s a megabyte on an
// idle machine; what is none can take hours.
const maxTime = time.Second

// parse makes the tree of a source; the instance is dead after an error.
func (i *instance) parse(ctx context.Context, src []byte) (*tree, error) {
	until, cancel := context.WithTimeoutCause(ctx, maxTime, ErrTooMuch)
	defer cancel()
	t, err := i.dump(context.WithValue(context.WithoutCancel(ctx), untilKey{}, until), src)
	if err == nil {
		return t, nil
	}
	i.dead = true
	if until.Err() != nil {
		return nil, context.Cause(until)
	}
	// What else ends a parse is the bound of its memory, which the core meets
	// with a trap; the trap's text is a dump of WebAssembly.
	why, _, _ := strings.Cut(err.Error(), "\n")
	return nil, fmt.Errorf("%w: %s", ErrTooMuch, why)
}

func (i *instance) dump(ctx context.Context, src []byte) (*tree, error) {
	text, err := i.call(ctx, "tsw_malloc", uint64(len(src)+1))
	if err != nil {
		return nil, err
	}
	if text == 0 || !i.memory.Write(uint32(text), src) {
		return nil, errors.New("no memory left")
	}
	parsed, err := i.call(ctx, "tsw_parse", i.grammar, text, uint64(len(src)))
	if err != nil {
		return nil, err
	}
	if parsed == 0 {
		return nil, errors.New("the parser gave no tree")
	}
	n, err := i.call(ctx, "tsw_walk", parsed)
	if err != nil {
		return nil, err
	}
	if int32(n) < 0 {
		return nil, errors.New("no memory left for the tree")
	}
	out, err := i.call(ctx, "tsw_out")
	if err != nil {
		return nil, err
	}
	records, ok := i.memory.Read(uint32(out), uint32(n)*recordSize)
	if !ok {
		return nil, errors.New("the parser's answer lies outside of its memory")
	}
	t := newTree(src, records, i.symbols, i.fields)
	for _, free := range []struct {
		name string
		arg  []uint64
	}{{"tsw_out_free", nil}, {"tsw_tree_delete", []uint64{parsed}}, {"tsw_free", []uint64{text}}} {
		if _, err := i.call(ctx, free.name, free.arg...); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// recordSize is the length in bytes of a node in the core's answer (shim.c).
const recordSize = 16

// newTree reads the core's answer: nodes in preorder, each with its depth.
func newTree(src, records []byte, symbols, fields []string) *tree {
	t := &tree{src: src, symbols: symbols, fields: fields, nodes: make([]record, len(records)/recordSize)}
	var open []int32 // the nodes around the next one
	end := func(from int, at int32) {
		for _, n := range open[from:] {
			t.nodes[n].next = at
		}
		open = open[:from]
	}
	for k := range t.nodes {
		b := records[k*recordSize:]
		word := func(n int) uint32 { return binary.LittleEndian.Uint32(b[4*n:]) }
		depth := int(word(1) >> 8)
		end(depth, int32(k))
		parent := int32(-1)
		if depth > 0 {
			parent = open[depth-1]
		}
		t.nodes[k] = record{
			symbol: uint16(word(0)), field: uint16(word(0) >> 16), flags: uint8(word(1)),
			start: int32(word(2)), end: int32(word(3)), parent: parent,
		}
		open = append(open, int32(k))
	}
	end(0, int32(len(t.nodes)))
	return t
}
