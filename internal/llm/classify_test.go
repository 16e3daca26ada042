package llm_test

import (
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"agency/internal/agency"
	"agency/internal/llm"
)

func TestFromStatus(t *testing.T) {
	at := llm.Endpoint{Provider: "p", KeyEnv: "P_API_KEY", BaseURL: "http://user:secret@127.0.0.1:9/v1"}
	for _, tc := range []struct {
		status int
		body   string
		want   llm.FaultKind
		words  string
	}{
		{401, `{"error":{"message":"Incorrect API key","type":"invalid_request_error","code":"invalid_api_key"}}`, llm.Auth, "Incorrect API key"},
		{403, `{"type":"error","error":{"type":"permission_error","message":"no"}}`, llm.Auth, "no"},
		{404, `{"error":{"message":"The model x does not exist","code":"model_not_found"}}`, llm.ModelNotFound, "does not exist"},
		{404, `{"type":"error","error":{"type":"not_found_error","message":"model: x"}}`, llm.ModelNotFound, "model: x"},
		{404, `404 page not found`, llm.InvalidRequest, "404 page not found"},
		{404, `{"detail":"Not Found"}`, llm.InvalidRequest, "Not Found"},
		{400, `{"error":{"message":"This model's maximum context length is 8192 tokens","code":"context_length_exceeded"}}`, llm.ContextOverflow, "8192"},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, llm.ContextOverflow, "210000"},
		{400, `{"error":"the request exceeds the available context size"}`, llm.ContextOverflow, "exceeds"},
		{413, ``, llm.ContextOverflow, ""},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}`, llm.Quota, "credit"},
		{402, `{"error":{"message":"Insufficient credits"}}`, llm.Quota, "credits"},
		{429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`, llm.Quota, "quota"},
		{429, `{"error":{"message":"Rate limit reached for requests; context window","type":"requests"}}`, llm.RateLimited, "Rate limit"},
		{529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, llm.Overloaded, "Overloaded"},
		{503, `upstream`, llm.Overloaded, "upstream"},
		{500, `{"error":{"message":null,"code":500}}`, llm.Server, ""},
		{502, "<html><head><title>502 Bad\nGateway</title></head></html>", llm.Server, `an HTML page titled "502 Bad Gateway"`},
		{504, ``, llm.Timeout, ""},
		{422, `{"detail":[{"msg":"bad"}]}`, llm.InvalidRequest, "bad"},
		{302, ``, llm.InvalidRequest, "redirected to https://elsewhere/"},
	} {
		f := llm.FromStatus(at, tc.status, http.Header{"Location": {"https://elsewhere/"}}, []byte(tc.body))
		if f.Kind != tc.want || !strings.Contains(f.Error(), tc.words) {
			t.Errorf("%d %s: %s, %v; want %s", tc.status, tc.body, f.Kind, f, tc.want)
		}
		if strings.ContainsAny(f.Error(), "\n\x1b") || strings.Contains(f.Error()+agency.MendOf(f), "secret") {
			t.Errorf("%d: words %q, mend %q", tc.status, f, agency.MendOf(f))
		}
	}
}

func TestFaultSaysHowToMend(t *testing.T) {
	f := llm.FromStatus(llm.Endpoint{Provider: "anthropic", KeyEnv: "ANTHROPIC_API_KEY"}, 401, nil, nil)
	if got := agency.MendOf(f); !strings.Contains(got, "ANTHROPIC_API_KEY") || agency.KindOf(f) != agency.KindInvalid {
		t.Errorf("mend %q, kind %v", got, agency.KindOf(f))
	}
	if !strings.Contains(f.Error(), "anthropic") {
		t.Errorf("%q does not name the provider", f)
	}
}

// Text from outside must not reach a terminal with its control characters.
func TestFaultWordsAreOneCleanLine(t *testing.T) {
	f := llm.FromStatus(llm.Endpoint{Provider: "p"}, 500, nil, []byte("\x1b[31mred\x1b[0m\r\n\u009b2J\xff"+strings.Repeat("é", 400)))
	if strings.ContainsAny(f.Error(), "\x1b\r\n\u009b") || utf8.RuneCountInString(f.Detail) > 300 {
		t.Errorf("%q", f.Error())
	}
}

func TestRetryAfterForms(t *testing.T) {
	for name, tc := range map[string]struct {
		header   http.Header
		min, max time.Duration
	}{
		"none":             {http.Header{}, 0, 0},
		"seconds":          {http.Header{"Retry-After": {"30"}}, 30 * time.Second, 30 * time.Second},
		"fraction":         {http.Header{"Retry-After": {"1.5"}}, 1500 * time.Millisecond, 1500 * time.Millisecond},
		"ms wins":          {http.Header{"Retry-After": {"30"}, "Retry-After-Ms": {"1200"}}, 1200 * time.Millisecond, 1200 * time.Millisecond},
		"date":             {http.Header{"Retry-After": {time.Now().Add(time.Minute).UTC().Format(http.TimeFormat)}}, 58 * time.Second, time.Minute},
		"date in the past": {http.Header{"Retry-After": {"Mon, 02 Jan 2006 15:04:05 GMT"}}, 0, 0},
		"negative":         {http.Header{"Retry-After": {"-5"}}, 0, 0},
		"huge":             {http.Header{"Retry-After": {"1e300"}}, 0, 0},
		"nonsense":         {http.Header{"Retry-After": {"soon"}}, 0, 0},
		"not a number":     {http.Header{"Retry-After": {"NaN"}}, 0, 0},
	} {
		got := llm.FromStatus(llm.Endpoint{}, 429, tc.header, nil).RetryAfter
		if got < tc.min || got > tc.max {
			t.Errorf("%s: %v, want %v to %v", name, got, tc.min, tc.max)
		}
	}
}

// A refusal before any token costs nothing; a server's error may be of a request that was
// answered.
func TestWhatIsFreeAtTheDoor(t *testing.T) {
	for status, free := range map[int]bool{401: true, 429: true, 529: true, 500: false, 502: false, 504: false, 0: false} {
		kind := llm.Server
		if status != 0 {
			kind = llm.FromStatus(llm.Endpoint{Provider: "p"}, status, nil, nil).Kind
		}
		if f := (&llm.Fault{Kind: kind, Status: status}); f.AtDoor() != free {
			t.Errorf("status %d (%s): free %t", status, kind, f.AtDoor())
		}
	}
}
