package llm

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agency/internal/agency"
)

// What servers were seen to tell, one telling after the other, and what it
// comes to.
func TestTally(t *testing.T) {
	for name, c := range map[string]struct {
		tellings []string
		want     agency.Usage
	}{
		"reasoning beside the completion": {[]string{`{"usage":{"prompt_tokens":1000,"completion_tokens":100,"total_tokens":6100,"completion_tokens_details":{"reasoning_tokens":5000}}}`}, agency.Usage{In: 1000, Out: 5100}},
		"the same without a sum":          {[]string{`{"usage":{"prompt_tokens":1000,"completion_tokens":100,"completion_tokens_details":{"reasoning_tokens":5000}}}`}, agency.Usage{In: 1000, Out: 5100}},
		"reasoning within":                {[]string{`{"usage":{"prompt_tokens":1000,"completion_tokens":5100,"total_tokens":6100,"completion_tokens_details":{"reasoning_tokens":5000}}}`}, agency.Usage{In: 1000, Out: 5100}},
		"responses above its parts":       {[]string{`{"response":{"usage":{"input_tokens":1000,"output_tokens":100,"total_tokens":6100}}}`}, agency.Usage{In: 1000, Out: 5100}},
		"gemini above its parts":          {[]string{`{"usageMetadata":{"promptTokenCount":1000,"candidatesTokenCount":100,"totalTokenCount":6100}}`}, agency.Usage{In: 1000, Out: 5100}},
		"gemini's parts":                  {[]string{`{"usageMetadata":{"promptTokenCount":1000,"toolUsePromptTokenCount":10,"candidatesTokenCount":100,"thoughtsTokenCount":50,"cachedContentTokenCount":600,"totalTokenCount":1160}}`}, agency.Usage{In: 1010, Cached: 600, Out: 150}},
		"zero afterwards":                 {[]string{`{"usage":{"prompt_tokens":7000,"completion_tokens":3000}}`, `{"usage":{"prompt_tokens":0,"completion_tokens":0}}`}, agency.Usage{In: 7000, Out: 3000}},
		"less afterwards":                 {[]string{`{"usage":{"prompt_tokens":7000,"completion_tokens":3000}}`, `{"usage":{"completion_tokens":5}}`}, agency.Usage{In: 7000, Out: 3000}},
		"nothing afterwards":              {[]string{`{"usage":{"prompt_tokens":7000,"completion_tokens":3000}}`, `{"usage":{}}`, `{"usage":null}`, `{"usage":[]}`, `{"usage":{"prompt_tokens":null}}`}, agency.Usage{In: 7000, Out: 3000}},
		"in the choice":                   {[]string{`{"choices":[{"index":0,"delta":{},"usage":{"prompt_tokens":7000,"completion_tokens":3000}}]}`}, agency.Usage{In: 7000, Out: 3000}},
		"in x_groq":                       {[]string{`{"x_groq":{"id":"r","usage":{"prompt_tokens":7000,"completion_tokens":3000}},"choices":[]}`}, agency.Usage{In: 7000, Out: 3000}},
		"in an error":                     {[]string{`{"error":{"message":"x","usage":{"prompt_tokens":7000,"completion_tokens":3000}}}`}, agency.Usage{In: 7000, Out: 3000}},
		"names of the other API":          {[]string{`{"usage":{"input_tokens":7000,"output_tokens":3000}}`}, agency.Usage{In: 7000, Out: 3000}},
		"only the output and a sum":       {[]string{`{"usage":{"completion_tokens":3000,"total_tokens":10000}}`}, agency.Usage{In: 7000, Out: 3000}},
		"only the prompt and a sum":       {[]string{`{"usage":{"prompt_tokens":7000,"total_tokens":10000}}`}, agency.Usage{In: 7000, Out: 3000}},
		"only a sum":                      {[]string{`{"usage":{"total_tokens":10000}}`}, agency.Usage{Out: 10000}},
		"more cached than sent":           {[]string{`{"usage":{"prompt_tokens":1000,"completion_tokens":100,"prompt_tokens_details":{"cached_tokens":5000}}}`}, agency.Usage{In: 6000, Cached: 5000, Out: 100}},
		"cached within":                   {[]string{`{"usage":{"prompt_tokens":1000,"completion_tokens":100,"prompt_tokens_details":{"cached_tokens":600,"cache_write_tokens":300}}}`}, agency.Usage{In: 1000, Cached: 600, CacheWrite: 300, Out: 100}},
		"both ways of cached":             {[]string{`{"usage":{"prompt_tokens":1000,"completion_tokens":100,"prompt_tokens_details":{"cached_tokens":600},"cache_read_input_tokens":600,"cache_creation_input_tokens":300}}`}, agency.Usage{In: 1000, Cached: 600, CacheWrite: 300, Out: 100}},
		"anthropic":                       {[]string{`{"message":{"usage":{"input_tokens":100,"cache_read_input_tokens":600,"cache_creation_input_tokens":300,"output_tokens":1}}}`, `{"usage":{"output_tokens":77}}`}, agency.Usage{In: 1000, Cached: 600, CacheWrite: 300, Out: 77}},
		"anthropic, zero at the end":      {[]string{`{"message":{"usage":{"input_tokens":7000,"output_tokens":3000}}}`, `{"usage":{"output_tokens":0}}`}, agency.Usage{In: 7000, Out: 3000}},
		"anthropic, writes by their life": {[]string{`{"usage":{"input_tokens":1000,"output_tokens":100,"cache_creation":{"ephemeral_5m_input_tokens":1000,"ephemeral_1h_input_tokens":5000}}}`}, agency.Usage{In: 7000, CacheWrite: 6000, Out: 100}},
		"in what the model wrote":         {[]string{`{"choices":[{"delta":{"content":"{\"usage\":{\"prompt_tokens\":9}}","tool_calls":[{"usage":{"prompt_tokens":9}}]}}]}`, `{"content":[{"input":{"usage":{"input_tokens":9}}}]}`}, agency.Usage{}},
	} {
		var tally Tally
		for _, one := range c.tellings {
			tally.Read([]byte(one))
		}
		if diff := cmp.Diff(c.want, tally.Count().Usage); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// In whatever order tellings come, no number and no sum is below any telling's.
func TestTallyIsNeverBelow(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	all := []string{
		`{"usage":{"prompt_tokens":700,"completion_tokens":3,"total_tokens":703}}`, `{"usage":{"prompt_tokens":700,"completion_tokens":300,"total_tokens":1500}}`,
		`{"usage":{"total_tokens":900}}`, `{"usage":{}}`, `{"usage":null}`, `{"usage":"?"}`, `{"choices":[{"usage":{"prompt_tokens":701}}]}`,
		`{"x_groq":{"usage":{"completion_tokens":310}}}`, `{"usageMetadata":{"promptTokenCount":650,"candidatesTokenCount":320}}`,
		`{"message":{"usage":{"input_tokens":50,"cache_read_input_tokens":640}}}`, `{"error":{"usage":{"output_tokens":15}}}`,
	}
	for range 200 {
		rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		n := 1 + rng.IntN(len(all))
		var together Tally
		var least agency.Usage
		sum := int64(0)
		for _, one := range all[:n] {
			together.Read([]byte(one))
			var alone Tally
			alone.Read([]byte(one))
			c := alone.Count()
			if sum = max(sum, c.Usage.In+c.Usage.Out); !strings.Contains(one, "total") { // which tells parts by a difference
				least.In, least.Out = max(least.In, c.Usage.In), max(least.Out, c.Usage.Out)
			}
			got := together.Count()
			if u := got.Usage; u.In+u.Out < sum || u.In < least.In || u.Out < least.Out {
				t.Fatalf("%+v after %v: below %+v, %d in all", got, all[:n], least, sum)
			}
		}
	}
}

// A count after which more was said is early, until a count says no less.
func TestTallyKnowsWhatCameAfter(t *testing.T) {
	var tally Tally
	for i, step := range []struct {
		telling string
		early   bool
	}{
		{"", true},
		{`{"usage":{"prompt_tokens":9,"completion_tokens":1}}`, false},
		{"", true},
		{`{"usage":{}}`, true},
		{`{"usage":{"prompt_tokens":9}}`, true},
		{`{"usage":{"completion_tokens":5}}`, false},
		{"", true},
		{`{"usage":{"completion_tokens":4}}`, true},
	} {
		if step.telling == "" {
			tally.Said()
		}
		tally.Read([]byte(step.telling))
		if c := tally.Count(); c.Early != step.early || !c.Begun {
			t.Errorf("after %d: %+v", i, c)
		}
	}
}

// A sum alone is divided in the dearest way, and stays the sum.
func TestASumAloneIsDividedDearly(t *testing.T) {
	req := Request{System: "words of a prompt", MaxOutput: 1000}
	m := Message{Blocks: []Block{Text{Text: "words"}}}
	for total, want := range map[int64]agency.Usage{
		5000: {In: 4000, Out: 1000, Estimated: true}, 800: {Out: 800, Estimated: true},
	} {
		u, known := Count{Usage: agency.Usage{Out: total}, Undivided: true}.complete(req, m)
		if u != want || known {
			t.Errorf("%d is %+v, want %+v", total, u, want)
		}
	}
	long := Message{Blocks: []Block{Text{Text: strings.Repeat("words", 1000)}}} // more than was asked for
	u, _ := Count{Usage: agency.Usage{Out: 5000}, Undivided: true}.complete(req, long)
	if out := EstimateTokens(messageBytes(long)); u.Out != out || u.In != 5000-out {
		t.Errorf("%+v, received were about %d", u, out)
	}
}
