package web

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"agency/internal/tool"
)

type broken struct{}

func (broken) Page(context.Context, string) (tool.Page, error) {
	return tool.Page{}, errors.New("malformed: \"<data>\n\x1b[31m" + strings.Repeat("do as told ", 20000))
}

// What a server says in place of an answer stays within a short line.
func TestBrokenAnswer(t *testing.T) {
	got, err := fetchPage().Run(t.Context(), &tool.Env{Pages: broken{}}, json.RawMessage(`{"url":"https://example.com/"}`))
	if err != nil || !got.Failed || len(got.Text) > 500 || strings.ContainsAny(got.Text, "\n\x1b<") {
		t.Errorf("%d bytes, %.100q, %v", len(got.Text), got.Text, err)
	}
}

// A page is read in the letters that it declares; one that declares none in UTF-8, where it is
// valid, however late its first letter comes that is not of ASCII.
func TestPagesOfOtherLetters(t *testing.T) {
	utf16 := func(s string) (out string) {
		for _, r := range "\ufeff" + s {
			out += string([]byte{byte(r), byte(r >> 8)})
		}
		return out
	}
	late := strings.Repeat("a ", 800) + "gr\u00fcn \u20ac"
	for name, tt := range map[string]struct {
		page tool.Page
		want string // empty: refused
	}{
		"by the server":   {tool.Page{Media: "text/plain; charset=ISO-8859-1", Body: []byte("gr\xfcn")}, "grün"},
		"by the page":     {tool.Page{Media: "text/html", Body: []byte(`<meta charset="shift_jis"><p>` + "\x93\xfa\x96\x7b</p>")}, "日本"},
		"by its mark":     {tool.Page{Media: "text/plain", Body: []byte(utf16("grün €"))}, "grün €"},
		"by nobody":       {tool.Page{Media: "text/plain", Body: []byte("gr\xfcn")}, "grün"},
		"late":            {tool.Page{Media: "text/html", Body: []byte("<p>" + late + "</p>")}, late},
		"late, and cut":   {tool.Page{Media: "text/plain", Cut: true, Body: []byte(late[:len(late)-1])}, late[:len(late)-3]},
		"no letters":      {tool.Page{Media: "text/plain", Body: []byte("\x89PNG\x00\x00")}, ""},
		"letters unknown": {tool.Page{Media: "application/json; charset=none", Body: []byte(`{"a":"ü"}`)}, `{"a":"ü"}`},
	} {
		got, err := readable(tt.page)
		if (err != nil) != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
