package wire

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"agency/internal/llm"
	"agency/internal/llm/rehearsal"
)

// geminiWire is generateContent. Model and method stand in the path.
type geminiWire struct{ model, method string }

func (geminiWire) name() string { return "gemini" }

type generateRequest struct {
	Contents []struct {
		Role  string   `json:"role"`
		Parts []inPart `json:"parts"`
	} `json:"contents"`
	System struct {
		Parts []inPart `json:"parts"`
	} `json:"systemInstruction"`
	Tools []struct {
		Functions []struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"functionDeclarations"`
	} `json:"tools"`
	Config struct {
		MaxOutput int64 `json:"maxOutputTokens"`
	} `json:"generationConfig"`
}

type inPart struct {
	Text      *string `json:"text"`
	Thought   bool    `json:"thought"`
	Signature string  `json:"thoughtSignature"`
	Call      *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
	Inline *struct {
		Media string `json:"mimeType"`
		Data  string `json:"data"`
	} `json:"inlineData"`
	Response *struct {
		ID       string                     `json:"id"`
		Name     string                     `json:"name"`
		Response map[string]json.RawMessage `json:"response"`
	} `json:"functionResponse"`
}

func (w geminiWire) read(body []byte) (llm.Request, bool, error) {
	var in generateRequest
	req := llm.Request{Model: w.model}
	if err := json.Unmarshal(body, &in); err != nil {
		return req, false, err
	}
	req.MaxOutput = in.Config.MaxOutput
	for _, p := range in.System.Parts {
		if p.Text != nil {
			req.System += *p.Text
		}
	}
	for _, t := range in.Tools {
		for _, f := range t.Functions {
			if err := checkParameters(f.Name, f.Parameters); err != nil {
				return req, false, err
			}
			req.Tools = append(req.Tools, llm.Tool{Name: f.Name, Description: f.Description, Schema: f.Parameters})
		}
	}
	g := generated{conversation: conversation{open: map[string]bool{}}}
	for i, c := range in.Contents {
		if err := g.content(c.Role, c.Parts); err != nil {
			return req, false, fmt.Errorf("contents[%d]: %w", i, err)
		}
	}
	if err := g.whole(); err != nil {
		return req, false, err
	}
	req.Messages = g.messages
	return req, w.method == "streamGenerateContent", nil
}

// checkParameters refuses what the vendor's own schema does not know.
func checkParameters(name string, raw json.RawMessage) error {
	if len(raw) == 0 {
		return nil
	}
	var s struct {
		Type       string                     `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
	}
	for _, unknown := range []string{`"additionalProperties"`, `"$schema"`, `"$ref"`, `"$defs"`, `"oneOf"`, `"const"`} {
		if strings.Contains(string(raw), unknown) {
			return fmt.Errorf("function_declarations[%s].parameters: unknown name %s", name, unknown)
		}
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return err
	}
	if s.Type == "OBJECT" && len(s.Properties) == 0 {
		return fmt.Errorf("function_declarations[%s].parameters.properties: should be non-empty for OBJECT type", name)
	}
	return nil
}

// generated is a conversation whose calls may have no ids: then the order says
// which result belongs to which call.
type generated struct {
	conversation
	waiting []waitingCall // calls of the last content that have no result yet
	calls   int
}

type waitingCall struct{ id, name string }

func (g *generated) content(role string, parts []inPart) error {
	if len(parts) == 0 {
		return errors.New("parts must not be empty")
	}
	switch role {
	case "model":
		return g.model(parts)
	case "user", "":
		return g.userParts(parts)
	}
	return fmt.Errorf("unknown role %q", role)
}

func (g *generated) model(parts []inPart) error {
	var blocks []llm.Block
	for i, p := range parts {
		switch {
		case p.Signature != "" && !ours(p.Signature):
			return fmt.Errorf("parts[%d]: thought signature is not valid", i)
		case p.Call != nil:
			args, invalid := llm.CheckArgs(string(p.Call.Args))
			if invalid != "" || p.Call.Name == "" {
				return fmt.Errorf("parts[%d].function_call: want a name and args that are an object", i)
			}
			g.calls++
			id := p.Call.ID
			if id == "" {
				id = fmt.Sprintf("unnamed-%d", g.calls)
			}
			g.waiting = append(g.waiting, waitingCall{id, p.Call.Name})
			blocks = append(blocks, llm.ToolUse{ID: id, Name: p.Call.Name, Args: args})
		case p.Text != nil && !p.Thought && *p.Text != "":
			blocks = append(blocks, llm.Text{Text: *p.Text})
		}
	}
	return g.assistant(blocks)
}

func (g *generated) userParts(parts []inPart) error {
	answered := false
	for i, p := range parts {
		switch {
		case p.Response != nil:
			answered = true
			if err := g.respond(p); err != nil {
				return fmt.Errorf("parts[%d]: %w", i, err)
			}
		case p.Text != nil:
			g.user(llm.Text{Text: *p.Text})
		case p.Inline != nil:
			shown, err := picture(p.Inline.Media, p.Inline.Data)
			if err != nil {
				return fmt.Errorf("parts[%d]: %w", i, err)
			}
			g.user(shown)
		default:
			return fmt.Errorf("parts[%d]: required oneof field 'data' must have one initialized field", i)
		}
	}
	if answered && len(g.waiting) > 0 || !answered && len(g.open) > 0 {
		return errors.New("the number of function response parts is not equal to the number of function call parts of the function call turn")
	}
	return nil
}

func (g *generated) respond(p inPart) error {
	if len(g.waiting) == 0 {
		return errors.New("function response without a function call")
	}
	at := 0
	for i, w := range g.waiting {
		if p.Response.ID != "" && w.id == p.Response.ID {
			at = i
		}
	}
	w := g.waiting[at]
	if w.name != p.Response.Name || p.Response.ID != "" && p.Response.ID != w.id {
		return fmt.Errorf("function response of %q answers the call of %q", p.Response.Name, w.name)
	}
	g.waiting = append(g.waiting[:at:at], g.waiting[at+1:]...)
	var text string
	failed := p.Response.Response["error"]
	raw := failed
	if raw == nil {
		raw = p.Response.Response["output"]
	}
	if json.Unmarshal(raw, &text) != nil {
		return errors.New("function response: want output or error, a text")
	}
	return g.result(llm.ToolResult{ID: w.id, Text: text, IsError: failed != nil})
}

// sealed is the signature as this wire gives it.
func sealed(t rehearsal.Take) string { return base64.StdEncoding.EncodeToString([]byte(signature(t))) }

// ours tells whether a signature is one that the player gives, or the mark of
// a call that another provider's model made.
func ours(s string) bool {
	raw, err := base64.StdEncoding.DecodeString(s)
	return s == "skip_thought_signature_validator" || err == nil && strings.HasPrefix(string(raw), "rehearsal/")
}

type generateResponse struct {
	Candidates []outCandidate  `json:"candidates"`
	Usage      *generatedUsage `json:"usageMetadata,omitempty"`
	Model      string          `json:"modelVersion,omitempty"`
	ID         string          `json:"responseId,omitempty"`
}

type outCandidate struct {
	Content outContent `json:"content"`
	Finish  string     `json:"finishReason,omitempty"`
	Index   int        `json:"index"`
}

type outContent struct {
	Parts []outPart `json:"parts,omitempty"`
	Role  string    `json:"role,omitempty"`
}

type outPart struct {
	Text      *string  `json:"text,omitempty"`
	Thought   bool     `json:"thought,omitempty"`
	Call      *outCall `json:"functionCall,omitempty"`
	Signature string   `json:"thoughtSignature,omitempty"`
}

type outCall struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"`
}

type generatedUsage struct {
	Prompt     int64 `json:"promptTokenCount"`
	Cached     int64 `json:"cachedContentTokenCount,omitempty"`
	Candidates int64 `json:"candidatesTokenCount"`
	Thoughts   int64 `json:"thoughtsTokenCount,omitempty"`
	Total      int64 `json:"totalTokenCount,omitempty"`
}

func (geminiWire) usage(t rehearsal.Take) *generatedUsage {
	if t.Has("no_usage") {
		return nil
	}
	u := &generatedUsage{Prompt: t.Usage.In, Candidates: t.Usage.Out}
	if t.Reasoning != "" { // a part of what comes out are thoughts
		u.Thoughts = t.Usage.Out / 2
		u.Candidates -= u.Thoughts
	}
	if !t.Has("no_cache_usage") {
		u.Cached, u.Total = t.Usage.Cached, t.Usage.In+t.Usage.Out
	}
	return u
}

func (w geminiWire) chunk(t rehearsal.Take, finish string, parts ...outPart) generateResponse {
	r := generateResponse{
		Candidates: []outCandidate{{Content: outContent{Parts: parts, Role: "model"}, Finish: finish}},
		Model:      t.Model, ID: "gen-" + t.Hash[:24], Usage: w.usage(t),
	}
	if t.Has("no_id") {
		r.Model, r.ID = "", ""
	}
	return r
}

// parts are the pieces of an answer. Calls are never cut on this wire; the
// signature of what was thought comes with the first call, or at the end.
func (w geminiWire) parts(t rehearsal.Take, split func(string) []string) (parts []outPart, kinds []frameKind) {
	add := func(kind frameKind, p outPart) { parts, kinds = append(parts, p), append(kinds, kind) }
	for _, s := range split(t.Reasoning) {
		add(frameOther, outPart{Text: &s, Thought: true})
	}
	for _, s := range split(t.Text) {
		add(frameText, outPart{Text: &s})
	}
	sign := ""
	if t.Reasoning != "" {
		sign = sealed(t)
	}
	for _, c := range t.Calls {
		p := outPart{Call: &outCall{ID: c.ID, Name: c.Name, Args: json.RawMessage(c.Args)}, Signature: sign}
		if !json.Valid(p.Call.Args) {
			p.Call.Args = encode(c.Args) // no stream of bytes here: what is no JSON arrives as a string
		}
		if t.Has("no_call_id") {
			p.Call.ID = ""
		}
		sign = ""
		add(frameArgs, p)
	}
	if sign != "" {
		empty := ""
		add(frameOther, outPart{Text: &empty, Signature: sign})
	}
	return parts, kinds
}

func (w geminiWire) frames(t rehearsal.Take) []frame {
	parts, kinds := w.parts(t, t.Split)
	var out []frame
	for i, p := range parts {
		if t.Has("comments") {
			out = append(out, frame{data: []byte(": keep-alive\n\n")})
		}
		c := w.chunk(t, "", p)
		if i < len(parts)-1 {
			c.Usage = nil
		}
		out = append(out, frame{sse(encode(c)), kinds[i]})
	}
	return append(out, frame{data: sse(encode(w.chunk(t, w.stop(t))))})
}

func (geminiWire) stop(t rehearsal.Take) string {
	switch {
	case t.Has("no_finish"):
		return ""
	case t.Stop == llm.StopLength, t.Stop == llm.StopContext:
		return "MAX_TOKENS"
	case t.Stop == llm.StopRefusal:
		return "SAFETY"
	}
	return "STOP"
}

func (w geminiWire) document(t rehearsal.Take) []byte {
	parts, _ := w.parts(t, func(s string) []string {
		if s == "" {
			return nil
		}
		return []string{s}
	})
	return encode(w.chunk(t, w.stop(t), parts...))
}

func (geminiWire) failure(kind, _, message string) []byte {
	type inner struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Status  string `json:"status"`
	}
	e := inner{500, message, "INTERNAL"}
	switch kind {
	case "rate_limit_error", "insufficient_quota":
		e.Code, e.Status = 429, "RESOURCE_EXHAUSTED"
	case "overloaded_error":
		e.Code, e.Status = 503, "UNAVAILABLE"
	case "authentication_error":
		e.Code, e.Status = 401, "UNAUTHENTICATED"
	case "not_found_error":
		e.Code, e.Status = 404, "NOT_FOUND"
	case "invalid_request_error":
		e.Code, e.Status = 400, "INVALID_ARGUMENT"
	}
	return encode(struct {
		Error inner `json:"error"`
	}{e})
}
