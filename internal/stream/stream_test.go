package stream_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/llm"
	"agency/internal/stream"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const key = "sk-ant-api03-R2D2c3poLuke9xWz-7fKqPvN3mYt8aQ"

func hub(secrets ...string) *stream.Hub {
	r := agency.NewRedactor(secrets...)
	return stream.New(func() *agency.Redactor { return r }, func() time.Time { return noon })
}

func who(session string) api.Delta {
	return api.Delta{Session: agency.SessionID(session), Contract: "main", Role: agency.RoleGeneralist}
}

// next is the next that a tail tells; nothing is said after it was called.
func next(t *testing.T, tail *stream.Tail) []api.Delta {
	t.Helper()
	out, err := tail.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func text(s string) llm.Said { return llm.Said{Kind: llm.SaidText, Text: s} }

// What is said is told as it comes: kinds apart, a call a line, an answer from its
// beginning to its end, and the next one anew.
func TestWhatIsSaidIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hub()
		tail := h.Tail("r")
		defer tail.Close()
		s := h.Open("r", who("s"))
		s.Begin(1, "p/m")
		s.Say(llm.Said{Kind: llm.SaidThinking, Text: "hm"})
		s.Say(text("I "))
		s.Say(text("look"))
		at := who("s")
		at.Turn = 1
		one := func(kind api.DeltaKind, text string) api.Delta {
			d := at
			d.Kind, d.Text = kind, text
			return d
		}
		first := one(api.DeltaThinking, "hm")
		first.Begins, first.Model, first.Asked = true, "p/m", noon
		check := func(want ...api.Delta) {
			t.Helper()
			if diff := cmp.Diff(want, next(t, tail)); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
		}
		check(first, one(api.DeltaText, "I look"))
		s.Say(text(" on"))
		for _, path := range []string{"a", "b"} {
			s.Say(llm.Said{Kind: llm.SaidCall, Text: "read_file"})
			s.Say(llm.Said{Kind: llm.SaidArgs, Text: `{"path":`})
			s.Say(llm.Said{Kind: llm.SaidArgs, Text: `"` + path + `"}`})
		}
		check(one(api.DeltaText, " on"), one(api.DeltaTool, "read_file {\"path\":\"a\"}\nread_file {\"path\":\"b\"}"))
		s.Done()
		done := at
		done.Done = true
		check(done)
		s.Begin(2, "p/m")
		s.Say(text("more"))
		at.Turn = 2
		begun := one(api.DeltaText, "more")
		begun.Begins, begun.Model, begun.Asked = true, "p/m", noon
		check(begun)
		// A try that breaks off is said again, and a session that is gone says no more.
		s.Begin(2, "p/m")
		asked := at
		asked.Begins, asked.Model, asked.Asked = true, "p/m", noon
		check(asked) // before anything of it is said
		s.Say(text("again"))
		check(one(api.DeltaText, "again"))
		s.Close()
		done.Turn = 2
		check(done)
	})
}

// Who comes later hears what is kept of the answers that come now, and nobody else's.
func TestWhoComesLater(t *testing.T) {
	h := hub()
	for _, run := range []string{"r", "other"} {
		s := h.Open(agency.RunID(run), who("s-"+run))
		defer s.Close()
		s.Begin(3, "p/m")
		s.Say(text("of " + run))
	}
	tail := h.Tail("r")
	defer tail.Close()
	got := next(t, tail)
	if len(got) != 1 || got[0].Text != "of r" || got[0].Session != "s-r" || !got[0].Begins || got[0].Turn != 3 {
		t.Errorf("told %+v", got)
	}
}

// A secret is told by none of the pieces in which it comes.
func TestSecretsInPieces(t *testing.T) {
	for at := 1; at < len(key); at++ {
		h := hub(key)
		tail := h.Tail("r")
		s := h.Open("r", who("s"))
		var all strings.Builder
		s.Begin(1, "p/m")
		for _, piece := range []string{"the key is " + key[:at], key[at:] + " as", " you see. ", key} {
			s.Say(text(piece))
			if d := tail.Told(); len(d) > 0 {
				all.WriteString(d[0].Text)
			}
		}
		s.Done()
		for _, d := range tail.Told() {
			all.WriteString(d.Text)
		}
		if got := all.String(); got != "the key is [redacted] as you see. [redacted]" {
			t.Fatalf("parted at %d: %q", at, got)
		}
		s.Close()
		tail.Close()
	}
}

// What is kept is bounded, and who is slow loses the oldest and learns how much; what is
// told stays whole characters.
func TestSlowListenerLosesTheOldest(t *testing.T) {
	h := hub(key)
	slow := h.Tail("r")
	defer slow.Close()
	s := h.Open("r", who("s"))
	defer s.Close()
	s.Begin(1, "p/m")
	const lines = 5000
	var all strings.Builder
	for i := range lines {
		line := fmt.Sprintf("line %d: ü日本\n", i)
		all.WriteString(line)
		s.Say(text(line))
	}
	s.Say(text(strings.Repeat("日", 20_000)))
	all.WriteString(strings.Repeat("日", 20_000))
	got := next(t, slow)
	var told strings.Builder
	for _, d := range got {
		told.WriteString(d.Text)
	}
	switch {
	case told.Len() > 16<<10 || told.Len() < 15<<10:
		t.Errorf("%d bytes are told", told.Len())
	case !utf8.ValidString(told.String()) || !strings.HasSuffix(all.String()[:all.Len()-3], told.String()):
		t.Errorf("told %.40q...", told.String())
	case got[0].Lost+int64(told.Len())+3 != int64(all.Len()): // three bytes may begin a secret
		t.Errorf("%d bytes are lost, %d told, %d said", got[0].Lost, told.Len(), all.Len())
	}
}

// Nobody waits for a listener, and a session that ends leaves nothing.
func TestManySpeakAndNobodyWaits(t *testing.T) {
	h := hub()
	ctx, cancel := context.WithCancel(t.Context())
	stuck := h.Tail("r")
	var speakers, listener sync.WaitGroup
	heard := map[agency.SessionID]string{}
	listener.Go(func() {
		tail := h.Tail("r")
		defer tail.Close()
		for {
			said, err := tail.Next(ctx)
			if err != nil {
				if !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				return
			}
			for _, d := range said {
				heard[d.Session] += d.Text
			}
			if len(heard) == 8 && !slices.ContainsFunc(slices.Collect(maps.Values(heard)), func(s string) bool { return !strings.HasSuffix(s, "end") }) {
				return
			}
		}
	})
	for i := range 8 {
		speakers.Go(func() {
			s := h.Open("r", who(fmt.Sprint(i)))
			s.Begin(1, "p/m")
			for range 100 {
				s.Say(text("and "))
			}
			s.Say(text("end"))
			listener.Wait()
			s.Done()
			s.Close()
		})
	}
	speakers.Wait()
	cancel()
	stuck.Close()
	if n := h.Held(); n != 0 {
		t.Errorf("%d runs are still held", n)
	}
	var none *stream.Hub
	quiet := none.Open("r", who("s"))
	quiet.Begin(1, "p/m")
	quiet.Say(text("x"))
	quiet.Done()
	quiet.Close()
}
