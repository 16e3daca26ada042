package gemini_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agency/internal/agency"
	"agency/internal/llm"
	"agency/internal/llm/llmtest"
)

func chunk(parts, finish string) string {
	return `{"candidates":[{"content":{"parts":[` + parts + `],"role":"model"},"finishReason":"` + finish + `"}]}`
}

// Finish reasons and odd bodies: each an answer or a fault with a name.
func TestEnds(t *testing.T) {
	text := `{"text":"hi"}`
	call := `{"functionCall":{"name":"read_file","args":{"path":"a"}}}`
	for name, tc := range map[string]struct {
		body  string
		stop  llm.StopReason
		fault llm.FaultKind
		words string
	}{
		"stop":               {"data: " + chunk(text, "STOP") + "\n\n", llm.StopEndTurn, "", "hi"},
		"calls":              {"data: " + chunk(text+","+call+","+call, "STOP") + "\n\n", llm.StopToolUse, "", "hi"},
		"max tokens":         {"data: " + chunk(text, "MAX_TOKENS") + "\n\n", llm.StopLength, "", "hi"},
		"safety":             {"data: " + chunk("", "SAFETY") + "\n\n", llm.StopRefusal, "", ""},
		"recitation":         {"data: " + chunk(text, "RECITATION") + "\n\n", llm.StopRefusal, "", "hi"},
		"blocked prompt":     {`data: {"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":7}}` + "\n\n", llm.StopRefusal, "", ""},
		"malformed call":     {`data: {"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"Malformed function call: print("}]}` + "\n\n", "", llm.BadAnswer, "MALFORMED_FUNCTION_CALL Malformed function call: print("},
		"empty":              {"data: " + chunk("", "STOP") + "\n\n", llm.StopEmpty, "", ""},
		"unfinished":         {"data: " + strings.Replace(chunk(text, "X"), `"finishReason":"X"`, `"index":0`, 1) + "\n\n", "", llm.StreamCut, "finishReason"},
		"cut":                {"data: " + chunk(text, "STOP")[:30], "", llm.StreamCut, ""},
		"a list":             {"[" + chunk(text, "") + ",\n" + chunk(`{"text":"!"}`, "STOP") + "]", llm.StopEndTurn, "", "hi!"},
		"a document":         {chunk(text, "STOP"), llm.StopEndTurn, "", "hi"},
		"an error inside":    {`data: {"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}` + "\n\n", "", llm.Overloaded, "overloaded"},
		"two candidates":     {`data: {"candidates":[{"index":1,"content":{"parts":[{"text":"no"}]},"finishReason":"MAX_TOKENS"},{"content":{"parts":[{"text":"h"}]}}]}` + "\n\n" + `data: {"candidates":[{"index":1,"content":{"parts":[{"text":"no"}]}}]}` + "\n\ndata: " + chunk(`{"text":"i"}`, "STOP") + "\n\n", llm.StopEndTurn, "", "hi"},
		"unknown parts":      {"data: " + chunk(`{"executableCode":{"code":"x"}},`+text, "STOP") + "\n\n", llm.StopEndTurn, "", "hi"},
		"CRLF and keepalive": {": x\r\n\r\ndata: " + chunk(text, "STOP") + "\r\n\r\n", llm.StopEndTurn, "", "hi"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newModel(t, llmtest.Odd(t, http.StatusOK, "text/event-stream", tc.body), llm.HTTPOptions{})
			llmtest.Served{Stop: tc.stop, Fault: tc.fault, Words: tc.words, Calls: strings.Count(tc.body, "functionCall\"")}.Check(t, m)
		})
	}
}

// Google's own errors.
func TestErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		status int
		body   string
		want   llm.FaultKind
		wait   time.Duration
	}{
		"key":   {400, `{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}`, llm.Auth, 0},
		"limit": {429, `{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34s"}]}}`, llm.RateLimited, 34 * time.Second},
		"quota": {429, `{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED"}}`, llm.Quota, 0},
		"model": {404, `{"error":{"code":404,"message":"models/x is not found for API version v1beta","status":"NOT_FOUND"}}`, llm.ModelNotFound, 0},
		"long":  {400, `{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}`, llm.ContextOverflow, 0},
		"list":  {503, `[{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}]`, llm.Overloaded, 0},
	} {
		m := newModel(t, llmtest.Odd(t, tc.status, "application/json", tc.body), llm.HTTPOptions{})
		_, err := llm.Collect(m.Ask(t.Context(), llmtest.Ask()))
		var f *llm.Fault
		if !errors.As(err, &f) || f.Kind != tc.want || f.RetryAfter != tc.wait {
			t.Errorf("%s: %v, want %s after %v", name, err, tc.want, tc.wait)
		}
	}
}

// Thoughts are paid for as output; the cache's share is known.
func TestUsage(t *testing.T) {
	body := `data: {"candidates":[{"content":{"parts":[{"text":"hi"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":100,"cachedContentTokenCount":60,"candidatesTokenCount":7,"thoughtsTokenCount":30,"totalTokenCount":137}}` + "\n\n"
	m := newModel(t, llmtest.Odd(t, http.StatusOK, "text/event-stream", body), llm.HTTPOptions{})
	a, err := llm.Collect(m.Ask(t.Context(), llmtest.Ask()))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(agency.Usage{In: 100, Cached: 60, Out: 37}, a.Usage); diff != "" || !a.CacheKnown {
		t.Errorf("known %v, (-want +got):\n%s", a.CacheKnown, diff)
	}
}

// sentParts are the parts of the model's contents in a body, as JSON.
func sentParts(t *testing.T, body []byte) []string {
	t.Helper()
	var in struct {
		Contents []struct {
			Role  string            `json:"role"`
			Parts []json.RawMessage `json:"parts"`
		} `json:"contents"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, c := range in.Contents {
		for _, p := range c.Parts {
			if c.Role == "model" {
				out = append(out, string(p))
			}
		}
	}
	return out
}

// asked sends a conversation that goes on after an answer and gives the body.
func asked(t *testing.T, model string, answer llm.Message) []byte {
	t.Helper()
	server := serve(t, "version: 1\nrules: [{text: x}]")
	m := newModel(t, server.URL, llm.HTTPOptions{})
	req := llmtest.Ask()
	req.Model = model
	results := llm.Message{Role: llm.User}
	for _, c := range answer.Calls() {
		results.Blocks = append(results.Blocks, llm.ToolResult{ID: c.ID, Text: "done"})
	}
	req.Messages = append(req.Messages, answer, results)
	if _, err := llm.Collect(m.Ask(t.Context(), req)); err != nil {
		t.Fatal(err)
	}
	return server.Bodies()[0]
}

// Signatures go back with the very parts that they came with, also when they
// came with an empty one, and also after the answer was stored.
func TestSignatures(t *testing.T) {
	const one, two, three = "cmVoZWFyc2FsLzE=", "cmVoZWFyc2FsLzI=", "cmVoZWFyc2FsLzM="
	stream := "data: " + chunk(`{"text":"hmm","thought":true},{"text":"a"},{"text":"b","thoughtSignature":"`+one+`"},{"text":"c"}`, "") + "\n\n" +
		"data: " + chunk(`{"functionCall":{"id":"f1","name":"read_file","args":{"path":"x"}},"thoughtSignature":"`+two+`"},{"functionCall":{"id":"f2","name":"read_file","args":{"path":"y"}}}`, "") + "\n\n" +
		"data: " + chunk(`{"text":"","thoughtSignature":"`+three+`"}`, "STOP") + "\n\n"
	m := newModel(t, llmtest.Odd(t, http.StatusOK, "text/event-stream", stream), llm.HTTPOptions{})
	req := llmtest.Ask()
	req.Model = "gemini-2.5-pro"
	a, err := llm.Collect(m.Ask(t.Context(), req))
	if err != nil {
		t.Fatal(err)
	}
	stored, err := json.Marshal(a.Message)
	if err != nil {
		t.Fatal(err)
	}
	var back llm.Message
	if err := json.Unmarshal(stored, &back); err != nil {
		t.Fatal(err)
	}
	want := []string{
		`{"text":"a"}`, `{"text":"b","thoughtSignature":"` + one + `"}`, `{"text":"c"}`,
		`{"functionCall":{"id":"f1","name":"read_file","args":{"path":"x"}},"thoughtSignature":"` + two + `"}`,
		`{"functionCall":{"id":"f2","name":"read_file","args":{"path":"y"}}}`,
		`{"text":"","thoughtSignature":"` + three + `"}`,
	}
	if diff := cmp.Diff(want, sentParts(t, asked(t, "gemini-2.5-pro", back))); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
}

// A call that another provider's model made has no signature; models that
// demand one are told so.
func TestForeignCalls(t *testing.T) {
	foreign := llm.Message{Role: llm.Assistant, Blocks: []llm.Block{
		llm.Reasoning{Provider: "other", Opaque: json.RawMessage(`{"part":"call","thoughtSignature":"zzz"}`)},
		llm.ToolUse{ID: "c1", Name: "read_file", Args: json.RawMessage(`{}`)},
		llm.ToolUse{ID: "c2", Name: "read_file", Args: json.RawMessage(`{}`)},
	}}
	plain := `{"functionCall":{"name":"read_file","args":{}}}`
	signed := `{"functionCall":{"name":"read_file","args":{}},"thoughtSignature":"skip_thought_signature_validator"}`
	for model, first := range map[string]string{"gemini-2.5-pro": plain, "gemini-3-pro": signed, "models/gemini-3.1-pro-preview": signed, "gemma": plain} {
		if diff := cmp.Diff([]string{first, plain}, sentParts(t, asked(t, model, foreign))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", model, diff)
		}
	}
}
