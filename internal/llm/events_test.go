package llm_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"agency/internal/llm"
)

func TestReadEvents(t *testing.T) {
	long := strings.Repeat("x", 10000)
	for name, tc := range map[string]struct {
		in   string
		want []string
	}{
		"plain":          {"data: a\n\ndata: b\n\n", []string{"a", "b"}},
		"CRLF":           {"event: e\r\ndata: a\r\n\r\ndata: b\r\n\r\n", []string{"a", "b"}},
		"CR":             {"event: e\rdata: a\r\rdata: b\r\r", []string{"a", "b"}},
		"CR and no end":  {"data: a\r\rdata: b", []string{"a", "b"}},
		"comments":       {": hello\n\ndata: a\n: there\n\n:\n\ndata: b\n\n", []string{"a", "b"}},
		"several lines":  {"data: a\ndata: b\n\n", []string{"a\nb"}},
		"no space":       {"data:a\n\n", []string{"a"}},
		"no blank after": {"data: a\n\ndata: b", []string{"a", "b"}},
		"other fields":   {"id: 1\nretry: 5\n\nfoo: a\n\ndata: b\n\n", []string{"b"}},
		"long lines":     {"data: " + long + "\n\ndata: " + long + "y\n\n", []string{long, long + "y"}},
		"nothing":        {"", nil},
	} {
		for _, r := range []io.Reader{strings.NewReader(tc.in), iotest.OneByteReader(strings.NewReader(tc.in))} {
			var got []string
			err := llm.ReadEvents(r, func(data []byte) error { got = append(got, string(data)); return nil })
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("%s: %v, (-want +got):\n%s", name, err, diff)
			}
		}
	}
}

func TestReadEventsLeaves(t *testing.T) {
	broken := errors.New("broken")
	for _, tc := range []struct{ say, want error }{{llm.ErrLeave, nil}, {broken, broken}} {
		n := 0
		err := llm.ReadEvents(strings.NewReader("data: a\n\ndata: b\n\n"), func([]byte) error { n++; return tc.say })
		if !errors.Is(err, tc.want) || n != 1 {
			t.Errorf("%v: error %v after %d events", tc.say, err, n)
		}
	}
	err := llm.ReadEvents(io.MultiReader(strings.NewReader("data: a\n\nda"), iotest.ErrReader(broken)), func([]byte) error { return nil })
	if !errors.Is(err, broken) {
		t.Errorf("error %v of the reader", err)
	}
}
