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
