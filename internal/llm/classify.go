package llm

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"agency/internal/regexp"
	"agency/internal/text"
)

// FromStatus names what an HTTP status and its body mean. The forms of the
// body are those that OpenAI, Anthropic and the compatible servers send; a body
// of no known form is quoted in one line.
func FromStatus(at Endpoint, status int, header http.Header, body []byte) *Fault {
	e := readError(body)
	f := &Fault{
		Status: status, Provider: at.Provider, Detail: e.Message,
		RetryAfter: retryAfter(header, time.Now()),
	}
	if f.RetryAfter == 0 {
		f.RetryAfter = e.Wait
	}
	f.Kind = kindOfStatus(status, e)
	var counted Tally
	counted.Read(body)
	f.told = counted.Count()
	if status >= 300 && status < 400 {
		f.Detail = "redirected to " + header.Get("Location")
	}
	f.Mend = mendOf(f.Kind, at, status)
	return f
}

// FromEvent names an error that came inside a stream, where there is no status.
func FromEvent(at Endpoint, data []byte) *Fault {
	e := readError(data)
	f := &Fault{Provider: at.Provider, Detail: e.Message, RetryAfter: e.Wait}
	f.Kind = kindOfStatus(statusOfType(e), e)
	f.Mend = mendOf(f.Kind, at, 0)
	return f
}

// apiError is what the vendors' error bodies have in common.
type apiError struct {
	Message string
	Type    string
	Code    string
	Wait    time.Duration // the provider's wish in the body
}

// errorDetail is what Google says beside the message.
type errorDetail struct {
	Reason     string `json:"reason"`
	RetryDelay string `json:"retryDelay"`
}

// google takes what only its errors have: the status in words, a reason, and
// when to ask again.
func (e *apiError) google(status string, details []errorDetail) {
	if e.Type == "" {
		e.Type = status
	}
	for _, d := range details {
		if d.Reason == "API_KEY_INVALID" {
			e.Type = "authentication_error"
		}
		if wait, err := time.ParseDuration(d.RetryDelay); err == nil && wait > 0 {
			e.Wait = wait
		}
	}
}

func readError(body []byte) apiError {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 { // Google's, where no events were asked for
		body = list[0]
	}
	var outer struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  json.RawMessage `json:"detail"`
		Code    json.RawMessage `json:"code"`
	}
	if json.Unmarshal(body, &outer) != nil {
		return apiError{Message: quotePage(body)}
	}
	var inner struct {
		Message string          `json:"message"`
		Type    string          `json:"type"`
		Code    json.RawMessage `json:"code"`
		Status  string          `json:"status"`
		Details []errorDetail   `json:"details"`
	}
	if len(outer.Error) > 0 && json.Unmarshal(outer.Error, &inner) == nil {
		e := apiError{Message: detail(inner.Message), Type: inner.Type, Code: strings.Trim(string(inner.Code), `"`)}
		e.google(inner.Status, inner.Details)
		return e
	}
	var text string
	switch {
	case json.Unmarshal(outer.Error, &text) == nil && text != "":
		return apiError{Message: detail(text)}
	case outer.Message != "":
		return apiError{Message: detail(outer.Message), Code: strings.Trim(string(outer.Code), `"`)}
	case len(outer.Detail) > 0:
		return apiError{Message: detail(strings.Trim(string(outer.Detail), `"`))}
	}
	return apiError{Message: quotePage(body)}
}

var htmlTitle = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`)

func quotePage(body []byte) string {
	if LooksLikeHTML(body) {
		if m := htmlTitle.FindSubmatch(body); m != nil {
			return "an HTML page titled " + strconv.Quote(detail(string(m[1])))
		}
		return "an HTML page"
	}
	return detail(string(body))
}

// detailLimit is how much of what a provider says is told, in runes.
const detailLimit = 300

// detail is what a provider says, in one line.
func detail(s string) string { return text.OneLine(s, detailLimit) }

func statusOfType(e apiError) int {
	if status := cmp.Or(wordStatus[e.Type], wordStatus[e.Code]); status != 0 {
		return status
	}
	if n, err := strconv.Atoi(e.Code); err == nil && n >= 400 && n < 600 {
		return n
	}
	return http.StatusInternalServerError
}

// wordStatus is the status that an error within a stream would have had.
var wordStatus = map[string]int{
	"overloaded_error": 529, "UNAVAILABLE": 529, "server_is_overloaded": 529, "slow_down": 529,
	"rate_limit_error": 429, "rate_limit_exceeded": 429, "tokens": 429, "requests": 429,
	"authentication_error": 401, "permission_error": 403, "not_found_error": 404, "request_too_large": 413,
	"invalid_request_error": 400, "invalid_prompt": 400, "context_length_exceeded": 400,
}

var (
	overflowWords = regexp.MustCompile(`(?i)context[ _](length|window|size)|prompt is too long|maximum context|too many (input )?tokens|input is too long|exceeds? the (available|model'?s?) context|input token count`)
	quotaWords    = regexp.MustCompile(`(?i)insufficient[_ ]quota|credit balance is too low|exceeded your current quota|billing`)
	modelWords    = regexp.MustCompile(`(?i)model`)
)

func kindOfStatus(status int, e apiError) FaultKind {
	words := e.Code + " " + e.Type + " " + e.Message
	switch {
	case status == http.StatusRequestEntityTooLarge,
		status >= 400 && status < 600 && status != 401 && status != 403 && status != 429 && overflowWords.MatchString(words):
		return ContextOverflow
	case status == 429 && e.Wait > 0: // a quota of a minute, whatever it is called
		return RateLimited
	case status == http.StatusPaymentRequired,
		(status == 429 || status == 400 || status == 403) && quotaWords.MatchString(words):
		return Quota
	case status == http.StatusTooManyRequests:
		return RateLimited
	case status == 529, status == http.StatusServiceUnavailable:
		return Overloaded
	case status == http.StatusRequestTimeout, status == http.StatusGatewayTimeout:
		return Timeout
	case status >= 500, status == http.StatusConflict, status == http.StatusTooEarly:
		return Server
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusBadRequest && e.Type == "authentication_error":
		return Auth
	case status == http.StatusNotFound && modelWords.MatchString(words),
		status == http.StatusBadRequest && (e.Code == "model_not_found" || strings.Contains(e.Message, "invalid model")):
		return ModelNotFound
	}
	return InvalidRequest
}

func mendOf(kind FaultKind, at Endpoint, status int) string {
	switch kind {
	case Auth:
		if at.KeyEnv != "" {
			return "set " + at.KeyEnv + " to a valid key, or providers." + at.Provider + ".api_key"
		}
		return "set providers." + at.Provider + ".api_key to a valid key"
	case Quota:
		return "add credit to the account behind providers." + at.Provider + ".api_key"
	case ModelNotFound:
		return "name another one: agency model RUN " + at.Provider + "/NAME, and for later runs under models in agency.yaml"
	case ContextOverflow:
		return "lower context.max_tokens, or name a model with a larger window under models"
	case RefusedConnection:
		if at.BaseURL != "" {
			return "start the server at " + safeURL(at.BaseURL) + ", which a run keeps; providers." + at.Provider + ".base_url counts for later ones"
		}
		return "check the network; agency resume goes on"
	case InvalidRequest:
		if status == http.StatusNotFound || status == http.StatusMethodNotAllowed || status < 400 {
			return "check providers." + at.Provider + ".base_url (type openai: with /v1, anthropic and gemini: without)"
		}
	case BadAnswer:
		if at.BaseURL != "" {
			return "check that providers." + at.Provider + ".base_url is the address of a model server"
		}
	}
	return ""
}

// FromError names a failure of the connection.
func FromError(at Endpoint, err error) *Fault {
	var known *Fault
	if errors.As(err, &known) {
		return known
	}
	f := &Fault{Kind: Network, Provider: at.Provider, Detail: detail(err.Error()), cause: err}
	var dns *net.DNSError
	var op *net.OpError
	var timeout net.Error
	switch {
	case errors.As(err, &dns), errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENETUNREACH),
		errors.Is(err, syscall.EHOSTUNREACH), errors.As(err, &op) && op.Op == "dial":
		f.Kind = RefusedConnection
	case isTLS(err):
		f.Kind = RefusedConnection
	case errors.Is(err, io.ErrUnexpectedEOF):
		f.Kind = Network
	case errors.As(err, &timeout) && timeout.Timeout():
		f.Kind = Timeout
	}
	f.Mend = mendOf(f.Kind, at, 0)
	return f
}

// retryAfter reads the three forms of the header; the most exact wins.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if v, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && v > 0 && v < 1e12 {
		return time.Duration(v * float64(time.Millisecond))
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(v, 64); err == nil {
		if s > 0 && s < 1e9 {
			return time.Duration(s * float64(time.Second))
		}
		return 0
	}
	if t, err := http.ParseTime(v); err == nil && t.After(now) {
		return t.Sub(now)
	}
	return 0
}
