//go:build unix

package daemon

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"agency/internal/agency"
	"agency/internal/api"
)

// Each start of a host draws a token of its own, which only its user can read
// and which is gone at its end. A client of the host before goes on with the
// new one; what a killed host left opens nothing.
func TestTokenIsOfOneStart(t *testing.T) {
	p := claim(t)
	var before api.Token
	c := p.Dial()
	defer c.Close()
	for range 3 {
		d, err := Start(t.Context(), options(p))
		if err != nil {
			t.Fatal(err)
		}
		now, err := api.ReadToken(p.TokenFile())
		if err != nil || now == "" || now == before {
			t.Fatalf("the token %q after %q: %v", string(now), string(before), err)
		}
		if _, err := c.Runs(t.Context()); err != nil {
			t.Errorf("a client of the host before: %v", err)
		}
		if err := before.Write(p.TokenFile()); err != nil {
			t.Fatal(err)
		}
		stale := p.Dial()
		if _, err := stale.Hello(t.Context()); agency.KindOf(err) != agency.KindDenied {
			t.Errorf("with what another host left: %v", err)
		}
		stale.Close()
		d.Close()
		if _, err := os.Lstat(p.TokenFile()); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("after the end: %v", err)
		}
		before = now
		if err := before.Write(p.TokenFile()); err != nil { // as one that was killed
			t.Fatal(err)
		}
	}
}
