package native

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
)

// countingServer is a model server that speaks every wire, goes wrong in every
// way, and keeps its own count of tokens, whatever it tells of it.
type countingServer struct {
	mu      sync.Mutex
	rng     *rand.Rand
	entries []billEntry
	calm    int // per cent of requests that are answered whole
	served  []served
}

// served is one request and what it came to by the server's own count.
type served struct {
	entry   int
	do      string // whole, document, door, drop, or how it broke off
	at      int    // after which frame
	usage   string // how it tells its count
	model   string // that it says it is
	in, out int64  // counted; 0 and 0 where it was refused
	told    int64  // tokens that it says beyond what it counted, of each kind
}

// frame is one event of a stream and the output tokens that it holds.
type frame struct {
	data   string
	tokens int64
}

var (
	doors  = []int{429, 529, 503, 401, 402, 404, 400}
	breaks = []string{"close", "end", "half", "error overloaded", "error limited"}
	usages = []string{
		"end", "end", "both", "first", "none", "zero", "negative", "huge",
		"less", "zeroed", "emptied", "sum", "above", "cached", "choice", "groq", "names",
	}
)

// hidden is what an answer took that nobody sees of it, where its count tells
// of it in the sum alone.
const hidden = 300

func (s *countingServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var entry int
	_, _ = fmt.Sscanf(r.URL.Path, "/entry%d/", &entry)
	s.mu.Lock()
	one, frames := s.decide(entry, int64(len(body)))
	s.served = append(s.served, one)
	wire := s.entries[entry].wire
	status := doors[s.rng.IntN(len(doors))]
	s.mu.Unlock()
	switch {
	case strings.HasPrefix(one.do, "door"):
		usage := ""
		if one.in > 0 {
			usage = billAnswer{wire: wire}.usageJSON(fmt.Sprint(one.in), fmt.Sprint(one.out))
		}
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"error":{"type":"refused","message":"no such model today"}%s}`, usage)
		return
	case one.do == "drop":
		panic(http.ErrAbortHandler)
	case wire == "anthropic":
		w.Header().Set("Content-Type", "text/event-stream")
	}
	end := len(frames)
	if one.do != "whole" && one.do != "document" {
		end = one.at
	}
	for _, f := range frames[:end] {
		_, _ = io.WriteString(w, f.data)
		w.(http.Flusher).Flush()
	}
	switch kind, what, _ := strings.Cut(one.do, " "); kind {
	case "close":
		panic(http.ErrAbortHandler)
	case "half":
		_, _ = io.WriteString(w, frames[end].data[:len(frames[end].data)/2])
	case "error":
		_, _ = io.WriteString(w, errorFrame(wire, what))
	}
}

// decide draws what happens to a request.
func (s *countingServer) decide(entry int, bytes int64) (served, []frame) {
	one := served{entry: entry, do: "whole", usage: usages[s.rng.IntN(len(usages))], in: bytes / 5}
	e := s.entries[entry]
	one.model = []string{"", e.id, e.id + "-20260101", "other"}[s.rng.IntN(4)]
	last := s.rng.IntN(3) == 0
	a := billAnswer{wire: e.wire, one: one, last: last, n: len(s.served)}
	if s.rng.IntN(100) >= s.calm {
		one.do = []string{"door", "door counts", "drop", "break", "break", "break", "torn document"}[s.rng.IntN(7)]
	} else if s.rng.IntN(6) == 0 {
		one.do = "document"
	}
	a.one.do = one.do
	frames := a.frames(s.rng)
	switch one.usage {
	case "huge":
		one.told = 1 << 40
	case "cached":
		one.told = 2*one.in + hidden
	}
	if one.do == "break" {
		one.do, one.at = breaks[s.rng.IntN(len(breaks))], s.rng.IntN(len(frames)-1)
		if one.at == 0 && !strings.HasPrefix(one.do, "error") {
			one.at = 1
		}
	}
	switch {
	case one.do == "door", strings.HasPrefix(one.do, "error") && one.at == 0:
		one.in = 0
	case one.do == "door counts":
		one.model, one.out = "", 50
	case one.do == "drop":
		one.model = "" // nobody learns what would have answered
	case one.do == "whole", strings.HasSuffix(one.do, "document"):
		one.at = len(frames)
		fallthrough
	default:
		for _, f := range frames[:one.at] {
			one.out += f.tokens
		}
	}
	if one.at == 0 {
		one.told = 0
	}
	return one, frames
}

// billAnswer writes one answer: a text and a call.
type billAnswer struct {
	wire string
	one  served
	last bool
	n    int
}

func (a billAnswer) frames(rng *rand.Rand) []frame {
	pieces := make([]string, 1+rng.IntN(4))
	var out int64
	for i := range pieces {
		pieces[i] = strings.Repeat("word ", 2+rng.IntN(20))
		out += int64(len(pieces[i]) / 4)
	}
	name, args := "read_file", `{"path":"main.txt"}`
	if a.last {
		name, args = "signal_complete", `{"evidence":[{"criterion":"goal","kind":"file","ref":"main.txt"}],"files_modified":[]}`
	}
	out += int64(len(args) / 4)
	if a.one.usage == "above" || a.one.usage == "sum" {
		out += hidden
	}
	if strings.HasSuffix(a.one.do, "document") {
		switch a.one.usage { // tells once
		case "both", "first", "less", "zeroed", "emptied":
			a.one.usage = "end"
		}
		first, end := a.tells(a.one.in, out, rng)
		return []frame{{a.document(pieces, name, args, cmp.Or(end, first), rng), out}}
	}
	first, end := a.tells(a.one.in, out, rng)
	fs := map[string]func([]string, string, string, string, string) []frame{
		"anthropic": a.anthropic, "openai": a.chat, "responses": a.responses, "gemini": a.gemini,
	}[a.wire](pieces, name, args, first, end)
	for i := range fs {
		if (a.one.usage == "above" || a.one.usage == "sum") && strings.Contains(fs[i].data, end) {
			fs[i].tokens += hidden
		}
	}
	return fs
}

// tells is what the server says of its count at the beginning and at the end;
// empty: nothing.
func (a billAnswer) tells(in, out int64, rng *rand.Rand) (first, end string) {
	n := func(in, out any, more ...any) string { return a.usageJSON(fmt.Sprint(in), fmt.Sprint(out), more...) }
	switch a.one.usage {
	case "end", "choice", "groq", "names":
		return "", n(in, out)
	case "both":
		return n(in, 1), n(in, out)
	case "first":
		return n(in, 1), ""
	case "zero":
		return n(0, 0), n(0, 0)
	case "negative":
		return "", n(-in, -out)
	case "huge":
		huge := []string{"1e300", "9223372036854775807", "1000000000000000"}[rng.IntN(3)]
		return n(in, 1), n(huge, huge)
	case "less":
		return n(in, out), n(0, 1)
	case "zeroed":
		return n(in, out), n(0, 0)
	case "emptied":
		return n(in, out), n("null", "null")
	case "sum":
		return "", a.usageJSON("", "", "total", in+out)
	case "above":
		return "", n(in, 1, "total", in+out)
	case "cached":
		return "", n(in, out, "cached", in+hidden)
	}
	return "", ""
}

// usageJSON is a count in the wire's words; more are further numbers by their
// kind, and an empty number is left out.
func (a billAnswer) usageJSON(in, out string, more ...any) string {
	openai := map[string]string{"at": "usage", "in": "prompt_tokens", "out": "completion_tokens", "total": "total_tokens", "cached": `prompt_tokens_details":{"cached_tokens`}
	responses := map[string]string{"at": "usage", "in": "input_tokens", "out": "output_tokens", "total": "total_tokens", "cached": `input_tokens_details":{"cached_tokens`}
	names := map[string]map[string]string{
		"openai": openai, "responses": responses,
		"anthropic": {"at": "usage", "in": "input_tokens", "out": "output_tokens", "total": "total_tokens", "cached": "cache_read_input_tokens"},
		"gemini":    {"at": "usageMetadata", "in": "promptTokenCount", "out": "candidatesTokenCount", "total": "totalTokenCount", "cached": "cachedContentTokenCount"},
	}[a.wire]
	switch {
	case a.one.usage == "names" && a.wire == "openai":
		names = responses
	case a.one.usage == "names" && a.wire == "responses":
		names = openai
	}
	var parts []string
	for i, more := 0, append([]any{"in", in, "out", out}, more...); i < len(more); i += 2 {
		name, number := names[more[i].(string)], fmt.Sprint(more[i+1])
		if number == "" {
			continue
		}
		part := `"` + name + `":` + number
		if strings.Contains(name, "{") {
			part += "}"
		}
		parts = append(parts, part)
	}
	all := fmt.Sprintf(`"%s":{%s}`, names["at"], strings.Join(parts, ","))
	if a.one.usage == "groq" && a.wire == "openai" {
		all = `"x_groq":{` + all + `}`
	}
	return "," + all
}

// document is an answer in one piece, with an error in its end where it is
// half of one.
func (a billAnswer) document(pieces []string, name, args, usage string, rng *rand.Rand) string {
	end := ""
	if a.one.do == "torn document" {
		end = `,"error":` + []string{
			`{"type":"overloaded_error","message":"busy"}`, `{"type":"rate_limit_error","code":"rate_limit_exceeded","message":"slow down"}`,
			`{"code":503,"status":"UNAVAILABLE","message":"overloaded"}`,
		}[rng.IntN(3)]
	}
	key := map[bool]string{true: "modelVersion", false: "model"}[a.wire == "gemini"]
	if a.one.model != "" {
		end += `,"` + key + `":` + quoted(a.one.model)
	}
	text, id := quoted(strings.Join(pieces, "")), fmt.Sprintf("call%d", a.n)
	switch a.wire {
	case "anthropic":
		return fmt.Sprintf(`{"type":"message","content":[{"type":"text","text":%s},{"type":"tool_use","id":"%s","name":"%s","input":%s}],"stop_reason":"tool_use"%s%s}`,
			text, id, name, args, usage, end)
	case "responses":
		return fmt.Sprintf(`{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":%s}]},{"type":"function_call","call_id":"%s","name":"%s","arguments":%s}]%s%s}`,
			text, id, name, quoted(args), usage, end)
	case "gemini":
		return fmt.Sprintf(`{"candidates":[{"content":{"parts":[{"text":%s},{"functionCall":{"name":"%s","args":%s}}]},"finishReason":"STOP"}]%s%s}`, text, name, args, usage, end)
	}
	inChoice, beside := "", usage
	if a.one.usage == "choice" {
		inChoice, beside = usage, ""
	}
	return fmt.Sprintf(`{"choices":[{"index":0,"message":{"content":%s,"tool_calls":[{"id":"%s","function":{"name":"%s","arguments":%s}}]},"finish_reason":"tool_calls"%s}]%s%s}`,
		text, id, name, quoted(args), inChoice, beside, end)
}

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func sse(format string, args ...any) string { return "data: " + fmt.Sprintf(format, args...) + "\n\n" }

func tokensOf(s string) int64 { return int64(len(s) / 4) }

func (a billAnswer) anthropic(pieces []string, name, args, first, end string) []frame {
	model := ""
	if a.one.model != "" {
		model = `,"model":` + quoted(a.one.model)
	}
	out := []frame{
		{data: sse(`{"type":"message_start","message":{"type":"message","role":"assistant","content":[]%s%s}}`, model, first)},
		{data: sse(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)},
	}
	for _, p := range pieces {
		out = append(out, frame{sse(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%s}}`, quoted(p)), tokensOf(p)})
	}
	return append(out,
		frame{data: sse(`{"type":"content_block_stop","index":0}`)},
		frame{data: sse(`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"call%d","name":"%s","input":{}}}`, a.n, name)},
		frame{sse(`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":%s}}`, quoted(args)), tokensOf(args)},
		frame{data: sse(`{"type":"message_delta","delta":{"stop_reason":"tool_use"}%s}`, end)},
		frame{data: sse(`{"type":"message_stop"}`)},
	)
}

func (a billAnswer) chat(pieces []string, name, args, first, end string) []frame {
	model := ""
	if a.one.model != "" {
		model = `"model":` + quoted(a.one.model) + ","
	}
	out := []frame{{data: sse(`{%s"choices":[{"index":0,"delta":{"role":"assistant"}}]%s}`, model, first)}}
	for _, p := range pieces {
		out = append(out, frame{sse(`{%s"choices":[{"index":0,"delta":{"content":%s}}]}`, model, quoted(p)), tokensOf(p)})
	}
	out = append(out, frame{sse(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call%d","function":{"name":"%s","arguments":%s}}]}}]}`,
		a.n, name, quoted(args)), tokensOf(args)})
	switch {
	case end != "" && a.one.usage == "choice":
		out = append(out, frame{data: sse(`{"choices":[{"index":0,"delta":{}%s}]}`, end)})
	case end != "":
		out = append(out, frame{data: sse(`{"choices":[]%s}`, end)})
	}
	return append(out, frame{data: sse(`{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`)}, frame{data: "data: [DONE]\n\n"})
}

func (a billAnswer) responses(pieces []string, name, args, first, end string) []frame {
	model := ""
	if a.one.model != "" {
		model = `,"model":` + quoted(a.one.model)
	}
	out := []frame{
		{data: sse(`{"type":"response.created","response":{"id":"r%d","status":"in_progress"%s%s}}`, a.n, model, first)},
		{data: sse(`{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"m%d","content":[]}}`, a.n)},
	}
	for _, p := range pieces {
		out = append(out, frame{sse(`{"type":"response.output_text.delta","output_index":0,"delta":%s}`, quoted(p)), tokensOf(p)})
	}
	text := fmt.Sprintf(`{"type":"message","id":"m%d","content":[{"type":"output_text","text":%s}]}`, a.n, quoted(strings.Join(pieces, "")))
	call := fmt.Sprintf(`{"type":"function_call","id":"f%d","call_id":"call%d","name":"%s","arguments":%s}`, a.n, a.n, name, quoted(args))
	return append(out,
		frame{data: sse(`{"type":"response.output_item.done","output_index":0,"item":%s}`, text)},
		frame{sse(`{"type":"response.output_item.done","output_index":1,"item":%s}`, call), tokensOf(args)},
		frame{data: sse(`{"type":"response.completed","response":{"id":"r%d","status":"completed","output":[%s,%s]%s%s}}`, a.n, text, call, model, end)},
	)
}

func (a billAnswer) gemini(pieces []string, name, args, first, end string) []frame {
	model := ""
	if a.one.model != "" {
		model = `,"modelVersion":` + quoted(a.one.model)
	}
	part := func(p, more string) string {
		return sse(`{"candidates":[{"content":{"parts":[%s]}}]%s%s}`, p, model, more)
	}
	out := []frame{{data: part(`{"text":""}`, first)}}
	for _, p := range pieces {
		out = append(out, frame{part(`{"text":`+quoted(p)+`}`, ""), tokensOf(p)})
	}
	return append(out,
		frame{part(fmt.Sprintf(`{"functionCall":{"name":"%s","args":%s}}`, name, args), ""), tokensOf(args)},
		frame{data: sse(`{"candidates":[{"content":{"parts":[]},"finishReason":"STOP"}]%s%s}`, model, end)},
	)
}

// errorFrame is how each wire says within a stream that it cannot go on.
func errorFrame(wire, what string) string {
	limited := what == "limited"
	switch wire {
	case "anthropic":
		if limited {
			return sse(`{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}`)
		}
		return sse(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)
	case "gemini":
		if limited {
			return sse(`{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"slow down","details":[{"retryDelay":"1s"}]}}`)
		}
		return sse(`{"error":{"code":503,"status":"UNAVAILABLE","message":"overloaded"}}`)
	case "responses":
		if limited {
			return sse(`{"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"slow down"}}}`)
		}
		return sse(`{"type":"error","error":{"type":"server_is_overloaded","message":"busy"}}`)
	}
	if limited {
		return sse(`{"error":{"type":"rate_limit_error","code":"rate_limit_exceeded","message":"slow down"}}`)
	}
	return sse(`{"error":{"type":"server_is_overloaded","message":"busy"}}`)
}
