package workspace_test

import (
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/git/gittest"
	"agency/internal/workspace"
)

// Whoever asks for local edits has not asked for the keys among them.
func TestLocalEditsWithASecretAreRefused(t *testing.T) {
	word := func(n int) string { return strings.Repeat("aB3", n)[:n] }
	for name, tt := range map[string]struct{ path, content, want string }{
		"environment":           {".env", "X=1\n", ".env (an environment file)"},
		"environment of a kind": {"deploy/.env.production", "X=1\n", "deploy/.env.production (an environment file)"},
		"environment's example": {".env.example", "X=\n", ""},
		"pem":                   {"tls/server.pem", "x", "a key or a key store"},
		"key":                   {"server.KEY", "x", "a key or a key store"},
		"p12":                   {"a.p12", "x", "a key or a key store"},
		"kdbx":                  {"a.kdbx", "x", "a key or a key store"},
		"id_rsa":                {"keys/id_rsa", "x", "a private key"},
		"public half":           {"keys/id_rsa.pub", "ssh-rsa AAAA", ""},
		"credentials":           {"credentials.yml", "x", "credentials"},
		"code about them":       {"credentials.go", "package x\n", ""},
		"service account":       {"service-account-prod.json", "{}", "the key of a service account"},
		"netrc":                 {".netrc", "machine x", "a file of keys or passwords"},
		"npmrc without a token": {".npmrc", "registry=https://r.example.com\n_auth=${TOKEN}\n", ""},
		"npmrc with a token":    {".npmrc", "//r.example.com/:_authToken=abc\n", "a token of npm in it"},
		"private key":           {"a.txt", "-----BEGIN OPENSSH PRIVATE KEY-----\n", "a private key in it"},
		"aws":                   {"a.txt", "id = AKIA" + strings.ToUpper(word(16)) + "\n", "a key of AWS in it"},
		"github":                {"a.txt", "ghp_" + word(36), "a token of GitHub in it"},
		"slack":                 {"a.txt", "xoxb-1234567890-" + word(10), "a token of Slack in it"},
		"google":                {"a.txt", "AIza" + word(35), "a key of Google in it"},
		"anthropic":             {"a.txt", "sk-ant-api03-" + word(30), "a key of Anthropic in it"},
		"openai":                {"a.txt", "sk-proj-" + word(30), "a key of OpenAI in it"},
		"old openai":            {"a.txt", "sk-" + word(48), "a key of OpenAI in it"},
		"words":                 {"a.txt", "a task-oriented AKIA, and sk-ip-this\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := gittest.New(t, "kept.txt", "k\n")
			b := setup(t, r)
			r.Write(tt.path, tt.content)
			commit, _, err := b.m.Dirty(t.Context(), b.info, b.info.Base, workspace.Include{Untracked: []string{tt.path}})
			switch {
			case tt.want == "" && (err != nil || commit == b.info.Base):
				t.Errorf("refused: %v", err)
			case tt.want != "" && (agency.KindOf(err) != agency.KindDenied || !strings.Contains(err.Error(), tt.want) || agency.MendOf(err) == ""):
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

// A tracked file is looked at as well; what was committed before is no news.
func TestASecretThatIsCommittedIsNoNews(t *testing.T) {
	old := "ghp_" + strings.Repeat("a", 36)
	r := gittest.New(t, "a.txt", old+"\n", ".env", "X=1\n")
	b := setup(t, r)
	r.Write("a.txt", old+"\nmore\n")
	if commit, l, err := b.m.Dirty(t.Context(), b.info, b.info.Base, workspace.Include{Tracked: true}); err != nil || commit == b.info.Base || len(l.Paths) != 1 {
		t.Errorf("%v %v", l, err)
	}
	r.Write("a.txt", old+"\nghp_"+strings.Repeat("b", 36)+"\n")
	if _, _, err := b.m.Dirty(t.Context(), b.info, b.info.Base, workspace.Include{Tracked: true}); agency.KindOf(err) != agency.KindDenied {
		t.Errorf("a new token in a tracked file: %v", err)
	}
	r.Write("a.txt", old+"\n", ".env", "X=2\n")
	if _, _, err := b.m.Dirty(t.Context(), b.info, b.info.Base, workspace.Include{Tracked: true}); agency.KindOf(err) != agency.KindDenied {
		t.Errorf("a tracked environment file: %v", err)
	}
}

// New files go along only when they are named, staged ones with the tracked.
func TestOnlyWhatWasAskedForGoesAlong(t *testing.T) {
	r := gittest.New(t, "a.txt", "1\n")
	r.Write("a.txt", "2\n", "new.txt", "n\n", "dir/x.txt", "x\n", "dir/y.txt", "y\n", "staged.txt", "s\n")
	r.Git("add", "staged.txt")
	b := setup(t, r)
	for name, tt := range map[string]struct {
		in          workspace.Include
		paths, left string
	}{
		"tracked":       {workspace.Include{Tracked: true}, "a.txt staged.txt", "dir/x.txt dir/y.txt new.txt"},
		"a folder only": {workspace.Include{Untracked: []string{"dir"}}, "dir/x.txt dir/y.txt", "a.txt new.txt staged.txt"},
		"both":          {workspace.Include{Tracked: true, Untracked: []string{"new.txt", "dir/x.txt"}}, "a.txt dir/x.txt new.txt staged.txt", "dir/y.txt"},
		"nothing":       {workspace.Include{}, "", "a.txt dir/x.txt dir/y.txt new.txt staged.txt"},
	} {
		t.Run(name, func(t *testing.T) {
			_, l, err := b.m.Dirty(t.Context(), b.info, b.info.Base, tt.in)
			if got := strings.Join(l.Paths, " "); err != nil || got != tt.paths || strings.Join(l.Left(), " ") != tt.left {
				t.Errorf("%q and left %q, %v", got, l.Left(), err)
			}
		})
	}
}
