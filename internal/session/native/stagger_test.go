package native

import (
	"testing"
	"testing/synctest"
	"time"
)

// Who begins alike waits until the first answer has begun, a while at most; who begins
// otherwise, or later, does not wait.
func TestStagger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stagger{of: map[prefix]*kept{}}
		one, other := prefixOf("r", "m", "s", []byte("t")), prefixOf("r", "m", "s", []byte("u"))
		if one == other || one == prefixOf("rm", "", "s", []byte("t")) {
			t.Fatal("prefixes are taken for each other")
		}
		begun := time.Now()
		took := func(p prefix) time.Duration {
			before := time.Now()
			s.enter(t.Context(), p, time.Now())
			return time.Since(before)
		}
		answered := s.enter(t.Context(), one, time.Now())
		if d := took(other); d != 0 {
			t.Errorf("another prefix waited %v", d)
		}
		if d := took(one); d != mostStagger {
			t.Errorf("a second one waited %v for an answer that does not come, want %v", d, mostStagger)
		}
		go func() {
			time.Sleep(2 * time.Second)
			answered()
			answered()
		}()
		if d := took(one); d != 2*time.Second {
			t.Errorf("a third one waited %v, the answer began after 2 s", d)
		}
		if d := took(one); d != 0 {
			t.Errorf("with the prefix kept one waited %v", d)
		}
		time.Sleep(warmFor)
		if d := took(one); d != 0 {
			t.Errorf("the first after %v waited %v", time.Since(begun), d)
		}
	})
}
