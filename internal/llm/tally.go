package llm

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"agency/internal/agency"
)

// Tally keeps what a provider tells of one answer's tokens, however often and
// wherever it tells it, on every wire. Never below what was told: of each
// number the largest stays, so that a later count that is smaller, empty or
// zero takes nothing back; what a sum has above its parts is output; and a part
// that is larger than its whole stands beside it. The zero value is ready.
type Tally struct {
	most  wireUsage
	out   int64 // the largest output of one telling
	begun bool
	early bool
	cache bool
}

// Said notes that the provider gave something of the answer.
func (t *Tally) Said() { t.begun, t.early = true, true }

// Read takes the counts of an event, or of a document, whatever it is besides.
func (t *Tally) Read(data []byte) {
	if !bytes.Contains(data, []byte(`"usage`)) { // usage or usageMetadata
		return
	}
	var e counting
	_ = json.Unmarshal(data, &e) // what is no count is passed over; adapters judge the form
	for _, u := range e.all() {
		t.take(u)
	}
}

func (t *Tally) take(u *wireUsage) {
	if u == nil {
		return
	}
	if out := u.count().Usage.Out; out > 0 && out >= t.out {
		t.out, t.early = out, false
	}
	to, from := t.most.amounts(), u.amounts()
	for i := range to {
		*to[i] = max(*to[i], *from[i])
	}
	t.cache = t.cache || u.tellsCache()
}

// Count is what was told so far.
func (t *Tally) Count() Count {
	c := t.most.count()
	c.Begun, c.Early, c.CacheKnown = t.begun, t.early, t.cache
	return c
}

// counting is every place in which a count was met.
type counting struct {
	Usage    *wireUsage `json:"usage"`
	Metadata *wireUsage `json:"usageMetadata"` // Gemini's
	Groq     inner      `json:"x_groq"`
	Message  inner      `json:"message"`  // Anthropic's first event
	Response inner      `json:"response"` // of the responses API
	Delta    inner      `json:"delta"`
	Error    inner      `json:"error"`
	Choices  []struct {
		inner
	} `json:"choices"` // Moonshot's
}

type inner struct {
	Usage    *wireUsage `json:"usage"`
	Metadata *wireUsage `json:"usageMetadata"`
}

func (c *counting) all() []*wireUsage {
	out := []*wireUsage{c.Usage, c.Metadata}
	for _, in := range [...]inner{c.Groq, c.Message, c.Response, c.Delta, c.Error} {
		out = append(out, in.Usage, in.Metadata)
	}
	for _, one := range c.Choices {
		out = append(out, one.Usage, one.Metadata)
	}
	return out
}

// wireUsage is one telling: the numbers under all names that are in use. Those of
// one wire are zero on the others.
type wireUsage struct {
	chatUsage
	tokensUsage
	geminiUsage
}

// chatUsage are the names of chat completions; the sum is the responses API's, too.
type chatUsage struct {
	Prompt        Amount     `json:"prompt_tokens"`
	Completion    Amount     `json:"completion_tokens"`
	PromptDetails inDetails  `json:"prompt_tokens_details"`
	OutDetails    outDetails `json:"completion_tokens_details"`
	Total         Amount     `json:"total_tokens"`
}

// tokensUsage are those of Anthropic's Messages and of the responses API.
type tokensUsage struct {
	Input        Amount `json:"input_tokens"` // with Anthropic without what a cache took part in
	Output       Amount `json:"output_tokens"`
	CacheRead    figure `json:"cache_read_input_tokens"`
	CacheWritten Amount `json:"cache_creation_input_tokens"`
	Creation     struct {
		Minutes Amount `json:"ephemeral_5m_input_tokens"`
		Hour    Amount `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
	InputDetails  inDetails  `json:"input_tokens_details"`
	OutputDetails outDetails `json:"output_tokens_details"`
}

// geminiUsage are those of generateContent.
type geminiUsage struct {
	PromptCount Amount `json:"promptTokenCount"`
	ToolCount   Amount `json:"toolUsePromptTokenCount"`
	Candidates  Amount `json:"candidatesTokenCount"`
	Thoughts    Amount `json:"thoughtsTokenCount"`
	CachedCount figure `json:"cachedContentTokenCount"`
	TotalCount  Amount `json:"totalTokenCount"`
}

type inDetails struct {
	Cached figure `json:"cached_tokens"`
	Write  Amount `json:"cache_write_tokens"`
}

type outDetails struct {
	Reasoning Amount `json:"reasoning_tokens"`
}

// figure is an amount of which it matters whether it was told, be it zero.
type figure struct {
	Amount
	told bool
}

// UnmarshalJSON never fails.
func (f *figure) UnmarshalJSON(data []byte) error {
	f.told = string(data) != "null"
	return f.Amount.UnmarshalJSON(data)
}

// tellsCache: Gemini leaves out what is zero, and a server of its wire that
// gives no total gives no cache figure either.
func (u *wireUsage) tellsCache() bool {
	return u.CacheRead.told || u.CachedCount.told || u.PromptDetails.Cached.told || u.InputDetails.Cached.told || u.TotalCount > 0
}

func (u *wireUsage) amounts() []*Amount {
	return []*Amount{
		&u.Prompt, &u.Input, &u.PromptCount, &u.ToolCount, &u.Completion, &u.Output, &u.Candidates, &u.Thoughts,
		&u.CacheRead.Amount, &u.CacheWritten, &u.Creation.Minutes, &u.Creation.Hour, &u.CachedCount.Amount,
		&u.PromptDetails.Cached.Amount, &u.PromptDetails.Write, &u.InputDetails.Cached.Amount, &u.InputDetails.Write,
		&u.OutDetails.Reasoning, &u.OutputDetails.Reasoning, &u.Total, &u.TotalCount,
	}
}

// count is the telling in the common form. Names decide what is part of what:
// Anthropic's caches stand beside its input, all other details within a whole.
func (u *wireUsage) count() Count {
	read, written := u.CacheRead.Amount, max(u.CacheWritten, u.Creation.Minutes+u.Creation.Hour)
	cached := max(read, u.CachedCount.Amount, u.PromptDetails.Cached.Amount, u.InputDetails.Cached.Amount)
	write := max(written, u.PromptDetails.Write, u.InputDetails.Write)
	in := holding(max(u.Prompt, u.Input+read+written, u.PromptCount+u.ToolCount), cached+write)
	out := holding(max(u.Completion, u.Output, u.Candidates+u.Thoughts), max(u.OutDetails.Reasoning, u.OutputDetails.Reasoning))
	var c Count
	if total := max(u.Total, u.TotalCount); total > in+out {
		switch {
		case in == 0 && out == 0:
			c.Undivided, out = true, total
		case in == 0:
			in = total - out
		default:
			out = total - in
		}
	}
	c.Usage = agency.Usage{In: int64(in), Cached: int64(cached), CacheWrite: int64(write), Out: int64(out)}
	return c
}

// holding is a whole with a part of it: one that is larger was not counted
// within.
func holding(whole, part Amount) Amount {
	if part > whole {
		return whole + part
	}
	return whole
}

// Amount is a number of tokens as a provider tells it: a whole number that may
// also come as a fraction or in quotes. It is never negative, for nobody is
// paid to ask, and never above mostAmount, so that sums stay numbers.
type Amount int64

// mostAmount is above what any answer takes; more is a server's mistake, and
// still far above every budget.
const mostAmount Amount = 1 << 40

// UnmarshalJSON never fails; what is no number is 0.
func (n *Amount) UnmarshalJSON(data []byte) error {
	*n = 0
	switch f, err := strconv.ParseFloat(strings.Trim(string(data), `"`), 64); {
	case f >= float64(mostAmount): // also where the number is out of range
		*n = mostAmount
	case err == nil && f > 0:
		*n = Amount(f)
	}
	return nil
}
