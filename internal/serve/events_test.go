package serve

import (
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"agency/internal/agency"
	"agency/internal/api"
)

// slate is a reader of an answer who notes what each piece brought, and when.
type slate struct {
	httptest.ResponseRecorder
	began  time.Time
	at     []time.Duration
	pieces []int // frames in each
}

func (s *slate) Flush() {
	s.at = append(s.at, time.Since(s.began))
	s.pieces = append(s.pieces, strings.Count(s.Body.String(), "\n"))
	s.Body.Reset()
}

// every gives events at a rate, as a log does that is written to.
func every(d time.Duration, n int) iter.Seq2[agency.Event, error] {
	return func(yield func(agency.Event, error) bool) {
		for i := range n {
			if i > 0 {
				<-time.After(d)
			}
			if !yield(agency.Event{ID: int64(i + 1)}, nil) {
				return
			}
		}
	}
}

func told(pace, gap time.Duration, n int) *slate {
	w := &slate{ResponseRecorder: *httptest.NewRecorder(), began: time.Now()}
	s := &Server{o: Options{WriteTimeout: time.Minute}}
	r := httptest.NewRequest(http.MethodGet, "/v1/events", nil)
	pass(s.frames(w, pace), r, every(gap, n), func(ev agency.Event) api.Frame { return api.Frame{Event: &ev} })
	<-time.After(time.Minute) // what is late would come now
	return w
}

// A reader who draws ten times a second is woken ten times a second; what is rare comes at
// once all the same, and nothing waits longer than the pace.
func TestEventsComeAtThePaceOfTheirReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := told(100*time.Millisecond, 5*time.Millisecond, 200)
		all := strings.Count(w.Body.String(), "\n") // goes out with the end of the answer
		for _, n := range w.pieces {
			all += n
		}
		if n := len(w.at); n < 10 || n > 12 || all != 200 {
			t.Errorf("%d events in %d pieces, at %v", all, n, w.at)
		}
		for i := 2; i < len(w.at); i++ { // the first is the head of the answer, the second the first event
			if gap := w.at[i] - w.at[i-1]; gap < 100*time.Millisecond || gap > 105*time.Millisecond {
				t.Errorf("a piece came %s after the one before", gap)
			}
		}
		w = told(100*time.Millisecond, time.Second, 3)
		if len(w.at) != 4 || w.at[3] != 2*time.Second {
			t.Errorf("rare events came at %v", w.at)
		}
		if w = told(0, time.Millisecond, 50); len(w.at) != 51 {
			t.Errorf("without a pace 50 events came in %d pieces", len(w.at)-1)
		}
	})
}

// An answer that is over is not written to, whatever is still due.
func TestNothingIsLateAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := told(100*time.Millisecond, time.Millisecond, 2)
		if len(w.at) != 2 || strings.Count(w.Body.String(), "\n") != 1 {
			t.Errorf("flushed at %v, and %q is left", w.at, w.Body)
		}
	})
}

func TestPaceIsRead(t *testing.T) {
	q, err := api.ParseEventQuery(map[string][]string{"pace": {"100"}})
	if err != nil || q.Pace != 100*time.Millisecond {
		t.Errorf("%v, %v", q.Pace, err)
	}
	for _, bad := range []string{"x", "-1", "10001"} {
		if _, err := api.ParseEventQuery(map[string][]string{"pace": {bad}}); agency.KindOf(err) != agency.KindInvalid {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
