package native

import (
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/budget"
	"agency/internal/llm"
	"agency/internal/llm/failover"
	"agency/internal/llm/rehearsal"
	"agency/internal/llm/rehearsal/wire"
	"agency/internal/session"
)

// Over real HTTP, with faults on the way: what the adapters make of the wires
// leads to the same claim.
func TestOverTheWires(t *testing.T) {
	data, err := os.ReadFile("testdata/fix.yaml")
	must(t, err)
	for _, name := range wires {
		t.Run(name, func(t *testing.T) {
			script, err := rehearsal.Parse("fix.yaml", data)
			must(t, err)
			server := wire.New(rehearsal.NewPlayer(script), wire.Options{})
			web := httptest.NewServer(server)
			defer web.Close()
			k := newKit(t, budget.Limits{Money: agency.Dollar})
			k.lineup.Model = failover.Retry(overWire(name, web.URL, llm.HTTPOptions{}), failover.RetryOptions{Base: time.Millisecond})
			k.lineup.Names = []string{"test/model"}
			k.dieAt(9)
			if _, err := k.do(t.Context(), spec()); err == nil {
				t.Fatal("the process did not die")
			}
			k.takeOver()
			k.between = nil
			out := k.must(spec())
			if out.Kind != session.Claimed {
				t.Fatalf("%+v", out)
			}
			if got := k.file("main.txt"); got != "one\nthree\n" {
				t.Errorf("main.txt is %q", got)
			}
			if again := server.Recorder().Repeated(); len(again) > 0 {
				t.Errorf("asked again for stored answers: %v", again)
			}
			k.checkBooks(name)
		})
	}
}
