package serve

import (
	"fmt"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/llm"
)

// What a model says is heard over the socket while it says it.
func TestStreamIsHeardWhileItIsSaid(t *testing.T) {
	h := newHouse(0)
	c := open(t, h)
	s := h.said.Open("run-1", api.Delta{Session: "run-1/main/attempt-1", Contract: "main", Agent: "main", Role: agency.RoleGeneralist})
	defer s.Close()
	s.Begin(1, "p/m")
	s.Say(llm.Said{Kind: llm.SaidText, Text: "I look"})
	var heard strings.Builder
	for d, err := range c.Stream(t.Context(), "run-1") {
		if err != nil {
			t.Fatal(err)
		}
		if d.Session != "run-1/main/attempt-1" || d.Contract != "main" || d.Role != agency.RoleGeneralist {
			t.Fatalf("told %+v", d)
		}
		heard.WriteString(d.Text)
		switch {
		case d.Done && heard.String() == "I look at it":
			return
		case d.Done:
			t.Fatalf("heard %q", heard.String())
		case heard.String() == "I look": // it was heard before the rest is said
			s.Say(llm.Said{Kind: llm.SaidText, Text: " at it"})
		case heard.String() == "I look at it":
			s.Done()
		}
	}
	t.Fatal("the stream ended")
}

// A client that reads nothing holds nobody up, and those who speak least of all.
func TestStuckListenerHoldsNobody(t *testing.T) {
	h := newHouse(0)
	c := open(t, h)
	s := h.said.Open("run-1", api.Delta{Session: "s"})
	defer s.Close()
	s.Begin(1, "p/m")
	for d, err := range c.Stream(t.Context(), "nobody-knows") {
		if agency.KindOf(err) != agency.KindNotFound {
			t.Errorf("%+v, %v", d, err)
		}
	}
	s.Say(llm.Said{Kind: llm.SaidText, Text: "x"})
	for _, err := range c.Stream(t.Context(), "run-1") {
		if err != nil {
			t.Fatal(err)
		}
		for i := range 20_000 { // far more than a connection takes in
			s.Say(llm.Said{Kind: llm.SaidText, Text: fmt.Sprintf("%d %s\n", i, strings.Repeat("x", 100))})
		}
		break
	}
}
