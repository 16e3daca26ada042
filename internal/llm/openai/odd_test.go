package openai_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"agency/internal/llm"
	"agency/internal/llm/llmtest"
)

// events makes a stream of chunks.
func events(lines ...string) string {
	var b strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&b, "data: %s\n\n", l)
	}
	return b.String()
}

func delta(d, finish string) string {
	return `{"choices":[{"index":0,"delta":` + d + `,"finish_reason":` + finish + `}]}`
}

// What compatible servers have been seen to send: each is an answer or a
// fault with a name.
func TestOddServers(t *testing.T) {
	const stream = "text/event-stream"
	call := `{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"a\"}"}}]}`
	for name, tc := range map[string]struct {
		contentType, body string
		stop              llm.StopReason // of an answer
		fault             llm.FaultKind
		words             string // what the answer's text or the fault holds
		args              string // of the only call
		calls             int
	}{
		"two choices":           {stream, events(`{"choices":[{"index":1,"delta":{"content":"other"}},{"index":0,"delta":{"content":"h"}}]}`, `{"choices":[{"index":1,"delta":{"content":" words"}}]}`, `{"choices":[{"index":0,"delta":{"content":"i"},"finish_reason":"stop"}]}`, `{"choices":[{"index":1,"delta":{},"finish_reason":"length"}]}`, "[DONE]"), llm.StopEndTurn, "", "hi", "", 0},
		"a choice from 1":       {stream, events(`{"choices":[{"index":1,"delta":{"content":"hi"},"finish_reason":"stop"}]}`, "[DONE]"), llm.StopEndTurn, "", "hi", "", 0},
		"two whole choices":     {"application/json", `{"choices":[{"index":1,"message":{"content":"other"},"finish_reason":"length"},{"index":0,"message":{"content":"hi"},"finish_reason":"stop"}]}`, llm.StopEndTurn, "", "hi", "", 0},
		"chunks a line":         {"application/x-ndjson", delta(`{"content":"h"}`, `null`) + "\n" + delta(`{"content":"i"}`, `"stop"`) + "\n", llm.StopEndTurn, "", "hi", "", 0},
		"chunks a line, cut":    {"application/x-ndjson", delta(`{"content":"h"}`, `null`) + "\n" + delta(`{"content":"i"}`, `"stop"`)[:20], "", llm.StreamCut, "", "", 0},
		"ids as numbers":        {stream, events(`{"id":7,"object":1,"model":null,"choices":[{"delta":{"role":null,"tool_calls":[{"id":100,"function":{"name":"read_file"}}]}}]}`, delta(`{"tool_calls":[{"function":{"arguments":"{}"}}]}`, `"tool_calls"`), "[DONE]"), llm.StopToolUse, "", "", `{}`, 1},
		"CR alone":              {stream, strings.ReplaceAll(events(delta(`{"content":"hi"}`, `"stop"`), "[DONE]"), "\n", "\r"), llm.StopEndTurn, "", "hi", "", 0},
		"a mark of byte order":  {stream, "\ufeff" + events(delta(`{"content":"hi"}`, `"stop"`), "[DONE]"), llm.StopEndTurn, "", "hi", "", 0},
		"null everywhere":       {stream, events(`{"choices":null,"usage":null,"error":null}`, `{"choices":[{"delta":null,"message":null}]}`, delta(`{"content":"hi","tool_calls":null,"function_call":null,"refusal":null}`, `"stop"`), "[DONE]  "), llm.StopEndTurn, "", "hi", "", 0},
		"no usage":              {stream, events(delta(`{"content":"hi"}`, `"stop"`), "[DONE]"), llm.StopEndTurn, "", "hi", "", 0},
		"null content":          {stream, events(delta(`{"role":"assistant","content":null}`, `null`), delta(call, `"tool_calls"`), "[DONE]"), llm.StopToolUse, "", "", `{"path":"a"}`, 1},
		"no id of a call":       {stream, events(delta(`{"tool_calls":[{"index":0,"function":{"name":"read_file","arguments":"{}"}}]}`, `"tool_calls"`)), llm.StopToolUse, "", "", `{}`, 1},
		"no ids, one index":     {stream, events(delta(`{"tool_calls":[{"index":0,"function":{"name":"read_file","arguments":"{}"}}]}`, "null"), delta(`{"tool_calls":[{"index":0,"function":{"name":"read_file","arguments":"{}"}}]}`, `"tool_calls"`)), llm.StopToolUse, "", "", `{}`, 2},
		"arguments an object":   {stream, events(delta(`{"tool_calls":[{"index":0,"id":"c","function":{"name":"read_file","arguments":{"path":"a"}}}]}`, `"stop"`)), llm.StopToolUse, "", "", `{"path":"a"}`, 1},
		"no index":              {stream, events(delta(`{"tool_calls":[{"id":"c","function":{"name":"read_file","arguments":"{\"path\""}}]}`, `null`), delta(`{"tool_calls":[{"function":{"arguments":":\"a\"}"}}]}`, `"tool_calls"`)), llm.StopToolUse, "", "", `{"path":"a"}`, 1},
		"two calls, no index":   {stream, events(delta(`{"tool_calls":[{"id":"c","function":{"name":"read_file","arguments":"{}"}},{"id":"d","function":{"name":"read_file","arguments":"{}"}}]}`, `"tool_calls"`)), llm.StopToolUse, "", "", `{}`, 2},
		"no [DONE]":             {stream, events(delta(`{"content":"hi"}`, `"stop"`)), llm.StopEndTurn, "", "hi", "", 0},
		"CRLF":                  {stream, strings.ReplaceAll(events(delta(`{"content":"hi"}`, `"stop"`), "[DONE]"), "\n", "\r\n"), llm.StopEndTurn, "", "hi", "", 0},
		"comments":              {stream, ": OPENROUTER PROCESSING\n\n" + events(delta(`{"content":"h"}`, `null`)) + ": ping\n\n:\n\n" + events(delta(`{"content":"i"}`, `"stop"`), "[DONE]"), llm.StopEndTurn, "", "hi", "", 0},
		"no space after data:":  {stream, strings.ReplaceAll(events(delta(`{"content":"hi"}`, `"stop"`)), "data: ", "data:"), llm.StopEndTurn, "", "hi", "", 0},
		"no blank at the end":   {stream, strings.TrimRight(events(delta(`{"content":"hi"}`, `"stop"`)), "\n"), llm.StopEndTurn, "", "hi", "", 0},
		"one JSON answer":       {"application/json", `{"choices":[{"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":1}}`, llm.StopEndTurn, "", "hi", "", 0},
		"JSON as a stream":      {stream, `{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}`, llm.StopEndTurn, "", "hi", "", 0},
		"content a list":        {stream, events(delta(`{"content":[{"type":"text","text":"hi"}]}`, `"stop"`)), llm.StopEndTurn, "", "hi", "", 0},
		"finish empty":          {stream, events(delta(`{"content":"hi"}`, `""`), `{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":1}}`, "[DONE]"), llm.StopEndTurn, "", "hi", "", 0},
		"finish without calls":  {stream, events(delta(`{"content":"hi"}`, `"tool_calls"`), "[DONE]"), llm.StopEndTurn, "", "hi", "", 0},
		"calls without finish":  {stream, events(delta(call, `null`), "[DONE]"), llm.StopToolUse, "", "", `{"path":"a"}`, 1},
		"old function_call":     {stream, events(delta(`{"function_call":{"name":"read_file","arguments":"{}"}}`, `"function_call"`), "[DONE]"), llm.StopToolUse, "", "", `{}`, 1},
		"nothing said":          {stream, events(delta(`{}`, `"stop"`), "[DONE]"), llm.StopEmpty, "", "", "", 0},
		"finish an odd type":    {stream, events(`{"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}],"created":"now","usage":[]}`, "[DONE]"), llm.StopEndTurn, "", "hi", "", 0},
		"200 with an error":     {"application/json", `{"error":{"message":"model is loading","code":503}}`, "", llm.Overloaded, "model is loading", "", 0},
		"200 with error text":   {"application/json", `{"error":"out of memory"}`, "", llm.Server, "out of memory", "", 0},
		"error within a stream": {stream, events(delta(`{"content":"h"}`, `null`), `{"error":{"message":"slot died","type":"server_error"}}`), "", llm.Server, "slot died", "", 0},
		"an error in a list":    {"application/json", `[{"error":{"code":429,"message":"slow down","status":"RESOURCE_EXHAUSTED"}}]`, "", llm.BadAnswer, "slow down", "", 0},
		"HTML":                  {"text/html", "<!doctype html><title>Sign in</title>", "", llm.BadAnswer, `"Sign in"`, "", 0},
		"HTML as a stream":      {stream, "\n<html><head><title>502</title></head></html>", "", llm.BadAnswer, `"502"`, "", 0},
		"nothing at all":        {stream, "", "", llm.StreamCut, "empty", "", 0},
		"only comments":         {stream, ": ping\n\n: ping\n\n", "", llm.BadAnswer, "no event", "", 0},
		"plain text":            {"text/plain", "model not loaded", "", llm.BadAnswer, "no event", "", 0},
		"cut off":               {stream, events(delta(`{"content":"h"}`, `null`)) + `data: {"choices":[{"del`, "", llm.StreamCut, "", "", 0},
		"a JSON of no answer":   {"application/json", `{"status":"ok"}`, "", llm.BadAnswer, `"status"`, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			m := newModel(t, llmtest.Odd(t, http.StatusOK, tc.contentType, tc.body)+"/v1", llm.HTTPOptions{})
			llmtest.Served{Stop: tc.stop, Fault: tc.fault, Words: tc.words, Calls: tc.calls, Args: tc.args}.Check(t, m)
		})
	}
}

// Usage counts wherever it stands and however it is written.
func TestOddUsage(t *testing.T) {
	for name, tail := range map[string]string{
		"in the last chunk":    `{"choices":[],"usage":{"prompt_tokens":11,"completion_tokens":5}}`,
		"without choices":      `{"usage":{"prompt_tokens":11,"completion_tokens":5,"prompt_tokens_details":null}}`,
		"fractions and quotes": `{"choices":null,"usage":{"prompt_tokens":"11","completion_tokens":5.0,"total_tokens":"16"}}`,
	} {
		body := events(`{"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}],"usage":null}`, tail, "[DONE]")
		m := newModel(t, llmtest.Odd(t, http.StatusOK, "text/event-stream", body)+"/v1", llm.HTTPOptions{})
		a, err := llm.Collect(m.Ask(t.Context(), llmtest.Ask()))
		if err != nil || a.Usage.In != 11 || a.Usage.Out != 5 || a.Usage.Estimated {
			t.Errorf("%s: %+v, %v", name, a.Usage, err)
		}
	}
}
