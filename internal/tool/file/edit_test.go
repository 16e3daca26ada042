package file

import (
	"strings"
	"testing"
)

func TestApplyEdit(t *testing.T) {
	for _, tc := range []struct {
		name, content, before, after string
		all                          bool
		want                         string
		err                          string
	}{
		{name: "once", content: "a b c", before: "b", after: "x", want: "a x c"},
		{name: "deletes", content: "a b c", before: " b", after: "", want: "a c"},
		{name: "twice", content: "a\nb\na\n", before: "a", after: "x", err: "old_text occurs 2 times, at lines 1, 3; add surrounding lines"},
		{name: "all", content: "a\nb\na\n", before: "a", after: "x", all: true, want: "x\nb\nx\n"},
		{name: "empty", content: "a", before: "", after: "x", err: "old_text is empty"},
		{name: "same", content: "a", before: "a", after: "a", err: "old_text and new_text are the same"},
		{name: "crlf from lf", content: "a\r\nb\r\nc\r\n", before: "a\nb", after: "x\ny\nz", want: "x\r\ny\r\nz\r\nc\r\n"},
		{name: "crlf one line", content: "a\r\nb\r\n", before: "b", after: "x\ny", want: "a\r\nx\r\ny\r\n"},
		{name: "mixed endings stay", content: "a\r\nb\nc", before: "b", after: "x\ny", want: "a\r\nx\ny\nc"},
		{name: "not there", content: "a\nb\n", before: "zzz", after: "x", err: "old_text does not occur in the file; read the place again"},
		{name: "line numbers", content: "a\nb\n", before: "1\ta\n2\tb\n", after: "x", err: "old_text does not occur in the file; it seems to contain the line numbers"},
		{
			name: "blanks", content: "func a() {\n\treturn 1\n}\n", before: "func a() {\n    return 1\n}", after: "x",
			err: "old_text does not occur in the file; lines 1 to 3 are the same but for blanks. They are exactly:\nfunc a() {\n\treturn 1\n}\n",
		},
		{
			name: "near", content: "one\ntwo\nthree\nfour\n", before: "two\nthreee\nfour", after: "x",
			err: "old_text does not occur in the file; the nearest place, 2 of 3 lines the same, is at line 2:\ntwo\nthree\nfour\n",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e, err := applyEdit(tc.content, tc.before, tc.after, tc.all)
			if tc.err != "" {
				if err == nil || !strings.HasPrefix(err.Error(), tc.err) {
					t.Errorf("got %v, want %s", err, tc.err)
				}
				return
			}
			if err != nil || e.content != tc.want {
				t.Errorf("got %q, %v, want %q", e.content, err, tc.want)
			}
		})
	}
}

// An edit replaces exactly what it names: undone, it gives the file back.
func FuzzEdit(f *testing.F) {
	f.Add("a b c", "b", "x", false)
	f.Add("a\r\nb\r\n", "a\nb", "c\nd", true)
	f.Add("aaaa", "aa", "b", true)
	f.Fuzz(func(t *testing.T, content, before, after string, all bool) {
		e, err := applyEdit(content, before, after, all)
		if err != nil {
			return
		}
		if e.content == content && before != after && !strings.Contains(after, "\r") && !strings.Contains(before, "\r") {
			t.Errorf("nothing changed in %q by %q to %q", content, before, after)
		}
		if e.line < 1 || e.line > 1+strings.Count(content, "\n") || e.count < 1 || (!all && e.count != 1) {
			t.Errorf("line %d, count %d of %q", e.line, e.count, content)
		}
		if crlf(content) && !strings.Contains(after, "\r") && !crlf(e.content) && strings.Contains(e.content, "\n") && !strings.Contains(before, "\r") {
			t.Errorf("%q lost its line endings: %q", content, e.content)
		}
		_ = e.where(after)
	})
}
