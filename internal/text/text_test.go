package text

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestShorten(t *testing.T) {
	for _, tt := range []struct{ name, got, want string }{
		{"head, all", Head("abc", 3), "abc"},
		{"head, cut", Head("abcd", 3), "ab…"},
		{"head, runes", Head("äöüß", 4), "äöüß"},
		{"head, runes cut", Head("äöüßx", 4), "äöü…"},
		{"head, one", Head("abc", 1), "…"},
		{"head, no UTF-8", Head("a\xffb", 9), "a\uFFFDb"},
		{"first line", FirstLine("\n  one\ntwo", 9), "one"},
		{"one line", OneLine(" one\n\ttwo\x1b[31m\u009bthree\u0085", 30), "one two [31m three"},
		{"ends, all", Ends("abcd", 4), "abcd"},
		{"ends", Ends("abcdefgh", 4), "ab[... 4 bytes left out ...]gh"},
		{"ends, parted runes", Ends("aäöüb", 4), "a\uFFFD[... 4 bytes left out ...]\uFFFDb"},
		{"few, all", Few([]string{"a", "b"}, 2), "a, b"},
		{"few", Few([]string{"a", "b", "c"}, 2), "a, b and 1 more"},
		{"none", Few(nil, 2), ""},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, tt.got, tt.want)
		}
	}
}

func FuzzHead(f *testing.F) {
	f.Add("äöü\xff…", 2)
	f.Fuzz(func(t *testing.T, s string, most int) {
		most = 1 + max(0, most)%100
		got := Head(s, most)
		if n := utf8.RuneCountInString(got); n > most || !utf8.ValidString(got) {
			t.Errorf("%q: %q has %d runes", s, got, n)
		}
		if utf8.RuneCountInString(s) > most && !strings.HasSuffix(got, Ellipsis) {
			t.Errorf("%q: %q hides that it is cut", s, got)
		}
	})
}
