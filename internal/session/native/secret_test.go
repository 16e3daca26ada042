package native

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/budget"
	"agency/internal/llm"
	"agency/internal/session"
	"agency/internal/session/record"
	"agency/internal/store"
)

const hostKey = "sk-ant-api03-R2D2c3poLuke9xWz-7fKqPvN3mYt8aQ"

// A secret that a file holds is not sent and not stored, plain or encoded.
func TestSecretsAreNeitherSentNorStored(t *testing.T) {
	k := newKit(t, budget.Limits{},
		calls("run_command", fmt.Sprintf(`{"command":"printf sk-ant-api03-; echo %s; printf ada:sk-ant-api03-%s | base64 -w0; printf sk-ant-api03-%s | od -An -tx1 | tr -d ' \\n'; echo done"}`, hostKey[13:30], hostKey[13:30], hostKey[13:30])),
		calls("run_command", `{"command":"touch k-$(printf R2D2c3po; printf Luke9xWz-7fKqPvN3mYt8aQ)"}`, "list_directory", `{}`),
		calls("get_git_diff", `{}`), complete)
	k.db.SetRedact(agency.NewRedactor(hostKey).Bytes)
	if out := k.must(spec()); out.Kind != session.Claimed {
		t.Fatalf("%+v", out)
	}
	b64 := base64.StdEncoding.EncodeToString([]byte("ada:" + hostKey))
	for i, req := range k.model.seen[1:] {
		text := string(req)
		if strings.Contains(text[strings.Index(text, "tool_result"):], "9xWz-7fKqPvN3m") || strings.Contains(text, b64[20:40]) || strings.Contains(text, fmt.Sprintf("%x", hostKey[15:27])) {
			t.Errorf("request %d holds the secret: %s", i, text)
		}
		if !strings.Contains(text, agency.Redacted) {
			t.Errorf("request %d shows nothing: %s", i, text)
		}
	}
	checkRequests(t, k.model)
}

// A call whose arguments hold a secret does not run, with the secret or without
// it, and does so neither after a crash; the agent reads why. One that holds a
// word which only is called a key runs as it was asked for.
func TestNoCallRunsWithASecret(t *testing.T) {
	escaped := `\u0073` + hostKey[1:]
	for n := range 12 {
		k := newKit(t, budget.Limits{},
			calls("write_file", `{"path":"key.txt","content":"`+hostKey+`"}`, "run_command", `{"command":"echo `+escaped+` > echo.txt"}`),
			calls("edit_file", `{"path":"main.txt","old_text":"one","new_text":"`+hostKey+`"}`, "read_file", `{"path":"`+hostKey+`"}`),
			calls("write_file", `{"path":"ollama.txt","content":"ollama placeholder none\n"}`),
			complete)
		k.db.SetRedact(agency.NewRedactor(hostKey, "ollama", "placeholder", "none").Bytes)
		out, points := k.survive(spec(), n+1)
		if out.Kind != session.Claimed {
			t.Fatalf("died at %v: %+v", points, out)
		}
		if k.file("key.txt") != "(none)" || k.file("echo.txt") != "(none)" || k.file("main.txt") != "one\ntwo\n" {
			t.Errorf("died at %v: files %q %q %q", points, k.file("key.txt"), k.file("echo.txt"), k.file("main.txt"))
		}
		if got := k.file("ollama.txt"); got != "ollama placeholder none\n" {
			t.Errorf("died at %v: an ordinary word was changed: %q", points, got)
		}
		for i, req := range k.model.seen {
			if strings.Contains(string(req), hostKey[13:]) {
				t.Errorf("died at %v: request %d holds the secret", points, i)
			}
		}
		last := fmt.Sprint(k.model.msgs[len(k.model.msgs)-1])
		if strings.Count(last, "the text contains a secret of the host") != 4 {
			t.Errorf("died at %v: the agent does not read why: %s", points, last)
		}
		checkRequests(t, k.model)
	}
}

// A stored answer whose arguments hold what only a later host knows as a secret
// does not run, rather than run with other arguments.
func TestReplayKnowsNewSecrets(t *testing.T) {
	k := newKit(t, budget.Limits{}, calls("write_file", `{"path":"key.txt","content":"`+hostKey+`"}`), complete)
	k.between = func(point string) error {
		if point == "answered" {
			return errDied
		}
		return nil
	}
	if _, err := k.do(t.Context(), spec()); err == nil {
		t.Fatal("it did not die")
	}
	k.takeOver()
	k.between = nil
	k.db.SetRedact(agency.NewRedactor(hostKey).Bytes)
	if out := k.must(spec()); out.Kind != session.Claimed || k.file("key.txt") != "(none)" {
		t.Errorf("%+v, key.txt is %q", out, k.file("key.txt"))
	}
	k.read(func(q *store.Snapshot) error {
		_, msgs, err := record.Transcript(q, spec().ID())
		must(t, err)
		for _, b := range msgs[2].Blocks {
			if r, ok := b.(llm.ToolResult); !ok || !strings.Contains(r.Text, "secret of the host") {
				t.Errorf("%+v", b)
			}
		}
		return nil
	})
}
