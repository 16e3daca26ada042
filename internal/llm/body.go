package llm

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
)

// Bodies sends requests from buffers that are used again. A body exists while
// it is being written and no longer: while a thousand sessions wait for their
// answers, none keeps its conversation a second time. The zero value is ready
// for use; it is safe for concurrent use.
type Bodies struct {
	free sync.Pool // of *[]byte
}

// keptBody is the largest buffer that is kept for the next request.
const keptBody = 1 << 20

// Set gives a request a JSON body. encode appends it to a buffer; it is called
// again when the transport has to send the request a second time, and must
// then give the same bytes.
func (b *Bodies) Set(r *http.Request, encode func(dst []byte) []byte) {
	first := b.fill(encode)
	r.Header.Set("Content-Type", "application/json")
	r.ContentLength = int64(len(*first.buf))
	r.Body = first
	r.GetBody = func() (io.ReadCloser, error) { return b.fill(encode), nil }
}

func (b *Bodies) fill(encode func([]byte) []byte) *body {
	buf, ok := b.free.Get().(*[]byte)
	if !ok {
		buf = new([]byte)
	}
	*buf = encode((*buf)[:0])
	return &body{from: b, buf: buf}
}

// body is one reading of a buffer. A transport closes a body when it is done
// with it, also while another of its goroutines still reads.
type body struct {
	from *Bodies
	mu   sync.Mutex
	buf  *[]byte // nil once closed
	off  int
}

func (b *body) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.buf == nil {
		return 0, http.ErrBodyReadAfterClose
	}
	n := copy(p, (*b.buf)[b.off:])
	if b.off += n; n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (b *body) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.buf != nil && cap(*b.buf) <= keptBody {
		b.from.free.Put(b.buf)
	}
	b.buf = nil
	return nil
}

// Encoder appends a request's JSON to one buffer. It does not go through
// reflection, which cost more than the rest of a turn together. Every field has
// a fixed place, so that a request which appends messages repeats the bytes of
// the earlier one up to its last message.
type Encoder struct {
	Buf             []byte
	Tools           []byte // the list of tools, each in the wire's form
	provider, model string
}

// Encoder makes one that appends a request to dst; form as in Memo.Encode.
func (c *Client) Encoder(dst []byte, req Request, form func(Tool) any) Encoder {
	tools := c.tools.Encode(req.Tools, form)
	return Encoder{slices.Grow(dst, len(tools)+sizeHint(req)), tools, c.At.Provider, req.Model}
}

// Raw appends what is JSON already.
func (e *Encoder) Raw(json string) { e.Buf = append(e.Buf, json...) }

// Text appends what people and models write; see AppendText.
func (e *Encoder) Text(s string) { e.Buf = AppendText(e.Buf, s) }

// Quoted appends a name; see AppendQuoted.
func (e *Encoder) Quoted(s string) { e.Buf = AppendQuoted(e.Buf, s) }

// Next begins an element of a list.
func (e *Encoder) Next() {
	if e.Buf[len(e.Buf)-1] != '[' {
		e.Buf = append(e.Buf, ',')
	}
}

// Own tells whether reasoning may be given back to the model that is asked.
func (e *Encoder) Own(r Reasoning) bool { return r.By(e.provider, e.model) }

// sizeHint guesses the encoded size of a request without its tools, on the high
// side for code, so that a buffer for it is made once.
func sizeHint(req Request) int {
	n := 512 + len(req.System) + len(req.System)/8
	for _, msg := range req.Messages {
		n += 64
		for _, b := range msg.Blocks {
			switch b := b.(type) {
			case Text:
				n += len(b.Text) + len(b.Text)/8
			case ToolResult:
				n += 96 + len(b.ID) + len(b.Text) + len(b.Text)/8
			case ToolUse:
				n += 128 + len(b.ID) + len(b.Name) + len(b.Args) + len(b.Args)/4
			case Reasoning:
				n += len(b.Opaque)
			case Image:
				n += 128 + len(b.Name) + base64.StdEncoding.EncodedLen(len(b.Data))
			}
		}
	}
	return n
}

// toolsKept is how many sets of tools are kept in their encoded form: one for
// each kind of session that asks the same model at the same time.
const toolsKept = 8

// Memo keeps the sets of tools that were sent last, in their encoded form.
// A session sends the same set with every request, and its schemas are most of
// a short request. What is kept is never changed, only replaced, so that
// concurrent requests share it; the zero value is empty.
type Memo struct {
	sets atomic.Pointer[[]toolSet]
}

type toolSet struct {
	tools []Tool // a copy of its own, for the caller may change his
	json  []byte
}

// Encode gives the list of the tools, sorted by name, to be read only. form is a
// tool as the adapter's wire has it; it is always the same function.
func (m *Memo) Encode(tools []Tool, form func(Tool) any) []byte {
	var kept []toolSet
	if p := m.sets.Load(); p != nil {
		kept = *p
	}
	for _, s := range kept {
		if slices.EqualFunc(s.tools, tools, sameTool) {
			return s.json
		}
	}
	sets := make([]toolSet, 1, toolsKept)
	sets[0] = toolSet{cloneTools(tools), encodeTools(tools, form)}
	sets = append(sets, kept[:min(len(kept), toolsKept-1)]...)
	m.sets.Store(&sets) // of two at once one is lost, and encoded again
	return sets[0].json
}

func encodeTools(in []Tool, form func(Tool) any) []byte {
	out := make([]any, 0, len(in))
	for _, t := range SortedTools(in) {
		out = append(out, form(t))
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return []byte("[]") // cannot happen: SortedTools has made the schemas valid
	}
	return raw
}

func sameTool(a, b Tool) bool {
	return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.Schema, b.Schema)
}

func cloneTools(in []Tool) []Tool {
	out := slices.Clone(in)
	for i := range out {
		out[i].Schema = bytes.Clone(out[i].Schema)
	}
	return out
}
