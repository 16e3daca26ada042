package lsp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"agency/internal/code"
)

// fake is a server that is run as a process would be.
type fake struct {
	in  *bufio.Reader
	out io.Writer
	ctx context.Context
}

func (f *fake) say(m message) {
	b, err := framed(m)
	if err != nil {
		panic(err)
	}
	_, _ = f.out.Write(b)
}

// hear reads until the next question.
func (f *fake) hear() (message, bool) {
	for {
		m, _, err := readMessage(f.in)
		if err != nil {
			return m, false
		}
		if m.ID != nil && m.Method != "" {
			return m, true
		}
	}
}

func (f *fake) answer(m message, result string) {
	f.say(message{ID: m.ID, Result: json.RawMessage(result)})
}

// begins answers the first question.
func (f *fake) begins() {
	if m, ok := f.hear(); ok {
		f.answer(m, `{"capabilities":{"positionEncoding":"utf-16"}}`)
	}
}

// open makes a workspace whose servers do this, and counts how many began and live.
func open(t *testing.T, most int, do func(*fake) (int, error)) (at func(string) *Workspace, began, lives *atomic.Int32) {
	t.Helper()
	k := NewKeeper(most)
	began, lives = new(atomic.Int32), new(atomic.Int32)
	return func(at string) *Workspace {
		w := k.Open(at, func(ctx context.Context, p Process) (int, error) {
			began.Add(1)
			lives.Add(1)
			defer lives.Add(-1)
			defer func() { _ = p.Stdin.Close() }()
			stop := context.AfterFunc(ctx, func() { _ = p.Stdin.Close() })
			defer stop()
			return do(&fake{in: bufio.NewReader(p.Stdin), out: p.Stdout, ctx: ctx})
		})
		t.Cleanup(w.Close)
		return w
	}, began, lives
}

var file = []byte("é = 1\nx = é\n")

func read(string) []byte { return file }

// references asks for those of the name in the first line.
func references(w *Workspace, ctx context.Context) (out []Span, err error) {
	err = w.Ask(ctx, code.Python, read, func(ctx context.Context, t *Talk) error {
		if err := t.Show(ctx, "a.py", code.Python, file); err != nil {
			return err
		}
		out, err = t.References(ctx, "a.py", 0)
		return err
	})
	return out, err
}

// says is a server that answers each question after the first with one text.
func says(result string) func(*fake) (int, error) {
	return func(f *fake) (int, error) {
		f.begins()
		for {
			m, ok := f.hear()
			if !ok {
				return 0, nil
			}
			f.answer(m, result)
		}
	}
}

const place1 = `{"uri":"file:///r/a.py","range":{"start":{"line":1,"character":4},"end":{"line":1,"character":5}}}`

// Places are counted in units of UTF-16, and what lies outside of the checkout has no path.
func TestReferences(t *testing.T) {
	var outside []string
	for _, uri := range []string{"file:///etc/passwd", "file:///r/../etc/passwd", "file:///r/%2e%2e/x", "http://r/a.py", "file://host/r/a.py", "file:///r", "file:///r/", "file:///rest/a.py", "%zz", "file:///r/a%00.py"} {
		outside = append(outside, strings.Replace(place1, "file:///r/a.py", uri, 1))
	}
	at, _, _ := open(t, 1, says("["+place1+","+strings.Join(outside, ",")+"]"))
	got, err := references(at("/r"), t.Context())
	if err != nil || got[0] != (Span{"a.py", 11, 13}) || len(got) != 1+len(outside) {
		t.Fatal(got, err)
	}
	for i, s := range got[1:] {
		if s != (Span{}) {
			t.Errorf("%s is taken for %+v", outside[i], s)
		}
	}
}

// Whatever a server does that no server may do ends it with the reason; three such ends are
// the last, and nothing of it is left.
func TestHostile(t *testing.T) {
	raw := func(text string) func(*fake) (int, error) {
		return func(f *fake) (int, error) {
			f.begins()
			_, _ = io.WriteString(f.out, text)
			<-f.ctx.Done()
			return 0, nil
		}
	}
	for name, c := range map[string]struct {
		do   func(*fake) (int, error)
		want string
	}{
		"dies": {func(f *fake) (int, error) { f.begins(); f.hear(); return 3, nil }, "exit code 3"},
		"floods": {func(f *fake) (int, error) {
			f.begins()
			for b, _ := framed(message{Method: "x", Params: json.RawMessage(`"` + strings.Repeat("a", 1<<20) + `"`)}); ; {
				if _, err := f.out.Write(b); err != nil {
					return 0, err
				}
			}
		}, "more than anybody asked for"},
		"asks": {func(f *fake) (int, error) {
			f.begins()
			for b, _ := framed(message{ID: json.RawMessage("1"), Method: "workspace/configuration"}); ; {
				if _, err := f.out.Write(b); err != nil {
					return 0, err
				}
			}
		}, "without reading the answers"},
		"long":     {raw("Content-Length: 99999999999\r\n\r\n"), "announces a message of"},
		"negative": {raw("Content-Length: -1\r\n\r\n"), "announces a message of"},
		"none":     {raw("X: 1\r\n\r\n"), "without a length"},
		"headers":  {raw(strings.Repeat("X: 1\r\n", 20)), "no message"},
		"garbage":  {raw(strings.Repeat("x", 1<<20)), "no message"},
		"no json":  {raw("Content-Length: 3\r\n\r\nabc"), "no JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			at, began, lives := open(t, 1, c.do)
			w := at("/r")
			for range maxDeaths {
				if _, err := references(w, t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
					t.Fatal(err)
				}
			}
			if _, err := references(w, t.Context()); err == nil || !strings.Contains(err.Error(), "ended 3 times") || began.Load() != maxDeaths {
				t.Error(err, began.Load())
			}
			if lives.Load() != 0 {
				t.Error("it lives")
			}
		})
	}
}

// Answers that nobody can use are errors, and the server goes on.
func TestUnusable(t *testing.T) {
	for result, want := range map[string]string{
		`{"a":1}`: "another form",
		`7`:       "another form",
		"[" + strings.Replace(place1, `"line":1`, `"line":9`, 1) + "]":            "a place that a.py has not",
		"[" + strings.ReplaceAll(place1, `"character":4`, `"character":99`) + "]": "a place that a.py has not",
		"[" + strings.ReplaceAll(place1, `"character":5`, `"character":-1`) + "]": "a place that a.py has not",
		"[" + strings.Repeat(place1+",", maxPlaces) + place1 + "]":                "more than 20000 places",
	} {
		at, began, _ := open(t, 1, says(result))
		w := at("/r")
		for range 2 {
			if _, err := references(w, t.Context()); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%.60s: %v", result, err)
			}
		}
		if began.Load() != 1 {
			t.Errorf("%.60s: it began %d times", result, began.Load())
		}
	}
}

// One that ends before it has said a word would again: it is told once in a run, and not begun
// on any checkout any more.
func TestCannotBegin(t *testing.T) {
	at, began, _ := open(t, 1, func(*fake) (int, error) { return 1, nil })
	if _, err := references(at("/r"), t.Context()); err == nil || !strings.Contains(err.Error(), "did not begin, and is not asked again: exit code 1") {
		t.Error(err)
	}
	for _, w := range []*Workspace{at("/r"), at("/s")} {
		if _, err := references(w, t.Context()); !errors.Is(err, ErrAbsent) {
			t.Error(err)
		}
	}
	if began.Load() != 1 {
		t.Errorf("it began %d times", began.Load())
	}
}

// A server that is not installed is looked for once in a run.
func TestAbsent(t *testing.T) {
	at, began, _ := open(t, 1, func(*fake) (int, error) { return notFound, nil })
	for _, w := range []*Workspace{at("/r"), at("/s"), nil} {
		if _, err := references(w, t.Context()); !errors.Is(err, ErrAbsent) {
			t.Error(err)
		}
	}
	if began.Load() != 1 {
		t.Error(began.Load())
	}
}

// A server that does not answer in time is ended, as is one that is being asked when its
// checkout goes.
func TestHangs(t *testing.T) {
	asked := make(chan bool, 2)
	at, _, lives := open(t, 1, func(f *fake) (int, error) {
		f.begins()
		f.hear()
		asked <- true
		<-f.ctx.Done()
		return 0, nil
	})
	w := at("/r")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("late"))
	defer cancel()
	if _, err := references(w, ctx); err == nil || err.Error() != "late" || lives.Load() != 0 {
		t.Error(err, lives.Load())
	}
	<-asked
	done := make(chan error)
	go func() { _, err := references(w, context.Background()); done <- err }()
	<-asked
	w.Close()
	if err := <-done; err == nil || lives.Load() != 0 {
		t.Error(err, lives.Load())
	}
}

// Of many checkouts the one that was asked longest ago loses its server, and gets another.
func TestKeeper(t *testing.T) {
	at, began, lives := open(t, 2, says("["+place1+"]"))
	a, b, c := at("/r"), at("/r"), at("/r")
	for i, w := range []*Workspace{a, b, a, c, a, b} {
		if _, err := references(w, t.Context()); err != nil || lives.Load() > 2 {
			t.Error(i, err, lives.Load())
		}
	}
	if began.Load() != 4 { // a, b, c, and b once more
		t.Error(began.Load())
	}
}

// A warm question begins the server behind it, and is answered by one that runs. Diagnostics
// are those of the text that was shown last.
func TestWarm(t *testing.T) {
	at, began, _ := open(t, 1, func(f *fake) (int, error) {
		f.begins()
		for {
			m, _, err := readMessage(f.in)
			if err != nil {
				return 0, nil
			}
			var of struct {
				TextDocument struct {
					URI     string
					Version int
				}
			}
			if m.Method == "textDocument/didOpen" || m.Method == "textDocument/didChange" {
				_ = json.Unmarshal(m.Params, &of)
				for _, v := range []int{of.TextDocument.Version - 1, of.TextDocument.Version} {
					f.say(message{Method: "textDocument/publishDiagnostics", Params: json.RawMessage(fmt.Sprintf(
						`{"uri":%q,"version":%d,"diagnostics":[{"message":"of\nversion %d","severity":1},{"message":"a hint","severity":4}]}`, of.TextDocument.URI, v, v))})
				}
			}
		}
	})
	w := at("/r")
	var got []Fault
	warm := func(text string) error {
		return w.AskWarm(t.Context(), code.Python, func(string) []byte { return []byte(text) }, func(ctx context.Context, talk *Talk) (err error) {
			if err = talk.Show(ctx, "a.py", code.Python, []byte(text)); err == nil {
				got, err = talk.Faults(ctx, "a.py")
			}
			return err
		})
	}
	if err := warm("a"); !errors.Is(err, ErrAbsent) {
		t.Fatal(err)
	}
	w.behind.Wait()
	for i, text := range []string{"a", "b"} {
		if err := warm(text); err != nil || len(got) != 1 || got[0].What != fmt.Sprintf("of version %d", i+1) {
			t.Error(got, err)
		}
	}
	if began.Load() != 1 {
		t.Error(began.Load())
	}
}
