//go:build linux

package torture

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/llm/rehearsal"
	"agency/internal/llm/rehearsal/wire"
)

// faultyScript mends the sample over a provider that has a bad day.
const faultyScript = `
version: 1
name: faulty
rules:
  - name: look
    when: {turn: 1}
    reasoning: I should look first.
    text: I look at what is there.
    calls: [{tool: read_file, args: {path: sum.go}}, {tool: read_file, args: {path: sum_test.go}}]
    fault: {kind: cut_call, times: 1}
  - name: edit
    when: {turn: 2}
    reasoning: Minus should be plus.
    calls: [{tool: edit_file, args: {path: sum.go, old_text: a - b, new_text: a + b}}]
    fault: {kind: rate_limited, times: 1, retry_after: 20ms, form: ms}
  - name: check
    when: {turn: 3}
    calls: [{tool: run_tests}]
    fault: {kind: bad_args, times: 1}
  - name: claim
    when: {result: {tool: run_tests}}
    calls: [{tool: signal_complete, args: {evidence: [{criterion: goal, kind: test, ref: TestSum}]}}]
`

// wireRig is a user whose provider speaks a wire.
func wireRig(t *testing.T, provider, script string) (*rig, *wire.Server) {
	t.Helper()
	parsed, err := rehearsal.Parse("faulty.yaml", []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	server := wire.New(rehearsal.NewPlayer(parsed), wire.Options{})
	web := httptest.NewServer(server)
	t.Cleanup(web.Close)
	r := newRig(t)
	settings := fmt.Sprintf(`version: 1
providers:
  server: {%s, api_key: none}
models: {capable: [server/m], fast-cheap: [server/m], reasoning-heavy: [server/m]}
prices: {server/m: {in: 1, cached_in: 0.1, out: 5}}
`, strings.ReplaceAll(provider, "URL", web.URL))
	if err := os.WriteFile(filepath.Join(r.home, "config", "agency", "config.yaml"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	return r, server
}

// Over every wire the built command gets to the merged fix through a broken
// stream and a busy provider, and books no less than the provider counted.
func TestModelFaultsThroughTheHost(t *testing.T) {
	for name, provider := range map[string]string{
		"openai":    "type: openai, base_url: URL/v1",
		"responses": "type: openai, api: responses, base_url: URL/v1",
		"anthropic": "type: anthropic, base_url: URL, thinking_tokens: 2048",
		"gemini":    "type: gemini, base_url: URL",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, server := wireRig(t, provider, faultyScript)
			r.must("run", "Mend Sum so that its test passes", "--yes")
			if sum := r.repo.Git("show", "HEAD:sum.go"); !strings.Contains(sum, "a + b") {
				t.Errorf("merged is:\n%s", sum)
			}
			var ps []struct {
				ID      agency.RunID `json:"id"`
				CostUSD float64      `json:"cost_usd"`
			}
			if err := json.Unmarshal([]byte(r.must("ps", "--json")), &ps); err != nil || len(ps) != 1 {
				t.Fatalf("ps: %v, %d runs", err, len(ps))
			}
			var counted float64
			price := agency.Price{In: 1, CachedIn: 0.1, Out: 5}
			for _, rec := range server.Recorder().Records() {
				if rec.Wire != name {
					t.Errorf("a request over %s", rec.Wire)
				}
				if rec.Fault != "rate_limited" {
					counted += price.Cost(rec.Usage).Float()
				}
			}
			if ps[0].CostUSD+1e-9 < counted {
				t.Errorf("booked %v, the provider counted %v", ps[0].CostUSD, counted)
			}
			if again := server.Recorder().Repeated(); len(again) > 0 {
				t.Errorf("asked again for stored answers: %v", again)
			}
		})
	}
}
