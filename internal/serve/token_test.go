package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/api"
)

// Every route of the api, and what is none, is refused to who does not know the
// token, before anything is read, changed or counted; with it the same request
// is answered.
func TestNoRouteWithoutTheToken(t *testing.T) {
	h := newHouse(1)
	s := h.server(0)
	if len(s.patterns) < 20 {
		t.Fatalf("only %d routes: %v", len(s.patterns), s.patterns)
	}
	wrong := string(token[:len(token)-1]) + "0"
	for _, pattern := range s.patterns {
		method, path, ok := strings.Cut(pattern, " ")
		if !ok { // all that is no route
			method, path = http.MethodPut, "/unknown"
		}
		ask := func(auth string) *httptest.ResponseRecorder {
			gone, leave := context.WithCancel(t.Context())
			leave() // what is streamed ends at once
			r := httptest.NewRequestWithContext(gone, method, strings.ReplaceAll(path, "{run}", "run-1"), strings.NewReader("{}"))
			r.Host = api.HostName
			r.Header.Set("Agency-Wire", fmt.Sprint(api.Wire))
			r.Header.Set("Content-Type", "application/json")
			if auth != "" {
				r.Header.Set("Authorization", auth)
			}
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			return w
		}
		for _, auth := range []string{
			"", "Bearer", "Bearer ", "Bearer " + wrong, "Basic " + string(token), string(token),
			"Bearer " + string(token) + "0", "Bearer " + strings.ToUpper(string(token)), "Bearer (token)",
		} {
			w := ask(auth)
			if w.Code != http.StatusUnauthorized || !strings.Contains(w.Body.String(), "token") || !strings.Contains(w.Body.String(), "kill ") {
				t.Errorf("%s with %q: %d %s", pattern, auth, w.Code, w.Body)
			}
		}
		if h.changed != 0 {
			t.Fatalf("%s changed something", pattern)
		}
		if w := ask("Bearer " + string(token)); w.Code == http.StatusUnauthorized {
			t.Errorf("%s with the token: %d %s", pattern, w.Code, w.Body)
		}
		h.changed = 0
	}
}

// A server that was given no token refuses, rather than to take none for one.
func TestWithoutATokenAllIsRefused(t *testing.T) {
	h := newHouse(1)
	s := New(Options{View: h, Copy: h, Work: h, Steer: h, Lifecycle: h})
	r := httptest.NewRequest(http.MethodGet, "/hello", nil)
	r.Host = api.HostName
	r.Header.Set("Authorization", "Bearer ")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if w.Code != http.StatusUnauthorized {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// A client that knows the token of the host before reads it again, once, and
// nothing is done twice; where it still is not the host's it is refused.
func TestClientReadsTheTokenAgain(t *testing.T) {
	h := newHouse(1)
	c := open(t, h)
	file := filepath.Join(filepath.Dir(h.socket), "host.token")
	if err := api.NewToken().Write(file); err != nil {
		t.Fatal(err)
	}
	_, err := c.Hello(t.Context())
	if agency.KindOf(err) != agency.KindDenied || agency.MendOf(err) == "" || api.Unreachable(err) {
		t.Fatalf("with another's token: %v", err)
	}
	if err := token.Write(file); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Cancel(t.Context(), "run-1", api.ByRequest{}); err != nil || h.changed != 1 {
		t.Errorf("after it was read again: %v, %d changes", err, h.changed)
	}
	if err := os.Remove(file); err != nil { // what is known goes on to be so
		t.Fatal(err)
	}
	for _, err := range c.Events(t.Context(), api.EventQuery{}) {
		if err != nil {
			t.Error(err)
		}
	}
	bare := api.Dial(h.socket, file)
	defer bare.Close()
	for _, err := range bare.Events(t.Context(), api.EventQuery{Follow: true}) {
		if agency.KindOf(err) != agency.KindDenied {
			t.Errorf("events without a token: %v", err)
		}
	}
}

// A client trusts no token that somebody else could have put there or read, and
// says so before it asks anybody.
func TestClientRefusesABadTokenFile(t *testing.T) {
	good := filepath.Join(t.TempDir(), "good")
	if err := token.Write(good); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(good)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("mode %v %v", info.Mode(), err)
	}
	for name, put := range map[string]func(path string) error{
		"it is a link":  func(path string) error { return os.Symlink(good, path) },
		"others can":    func(path string) error { return errors.Join(token.Write(path), os.Chmod(path, 0o640)) },
		"no plain file": func(path string) error { return os.Mkdir(path, 0o700) },
		"something":     func(path string) error { return os.WriteFile(path, []byte("x\n"), 0o600) },
		"belongs to user": func(path string) error {
			err := errors.Join(token.Write(path), os.Chown(path, os.Getuid()+1, -1))
			if errors.Is(err, fs.ErrPermission) {
				return errors.ErrUnsupported // only root can give a file away
			}
			return err
		},
	} {
		path := filepath.Join(t.TempDir(), "host.token")
		err := put(path)
		if errors.Is(err, errors.ErrUnsupported) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		_, err = api.ReadToken(path)
		if agency.KindOf(err) != agency.KindDenied || !strings.Contains(err.Error(), name) || !strings.Contains(agency.MendOf(err), "rm "+path) {
			t.Errorf("%s: %v", name, err)
		}
		c := api.Dial(filepath.Join(t.TempDir(), "none.sock"), path)
		if _, err := c.Hello(context.Background()); api.Unreachable(err) || agency.KindOf(err) != agency.KindDenied {
			t.Errorf("%s: the client: %v", name, err)
		}
		c.Close()
	}
	if s := fmt.Sprintf("%v %+v", token, struct{ T api.Token }{token}); strings.Contains(s, string(token)) {
		t.Errorf("printed: %s", s)
	}
}
