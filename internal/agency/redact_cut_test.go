package agency_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/text"
)

// A cut that is marked leaves no more of a secret beside it than what all keys of
// a provider begin with, wherever it parts the secret.
func TestSecretsBesideCuts(t *testing.T) {
	const key = "sk-proj-A7f9Qz2LmX8vRt4Y/wPq3Ns6+Ud1Ke5Hb0Jc="
	const phrase = "correct horse battery staple"
	redactor := agency.NewRedactor(key, phrase)
	encoded := base64.StdEncoding.EncodeToString([]byte("id:" + key))
	left := map[string]int{key: len("sk-proj-A"), phrase: 3, encoded: len("aWQ6c2stcHJvai1B")}
	cuts := map[string]func(head, tail string) string{
		"head":    func(head, _ string) string { return head + text.Ellipsis },
		"tail":    func(_, tail string) string { return text.Ellipsis + tail },
		"middle":  func(head, tail string) string { return head + text.BytesLeftOut(7) + tail },
		"lines":   func(head, tail string) string { return head + "\n" + text.LeftOut("3 KB") + "\n" + tail },
		"in JSON": func(head, tail string) string { return head + `\n` + text.LeftOut("3 KB") + `\n` + tail },
	}
	for _, text := range []string{key, phrase, encoded} {
		for name, cut := range cuts {
			for i := 1; i < len(text); i++ {
				shown := cut("xx "+text[:i], text[i:]+" yy")
				got := string(redactor.Bytes([]byte(shown)))
				head, tail := longestPrefix(got, text), longestSuffix(got, text)
				if len(head) > left[text] || len(tail) > 4 {
					t.Errorf("%s, at %d: %q and %q are left: %s", name, i, head, tail, got)
				}
				if strings.HasPrefix(shown, "xx ") && !strings.HasPrefix(got, "xx ") || strings.HasSuffix(shown, " yy") && !strings.HasSuffix(got, " yy") {
					t.Errorf("%s, at %d: took more than the secret: %s", name, i, got)
				}
				if b, err := json.Marshal(shown); err != nil || !json.Valid(redactor.Bytes(b)) {
					t.Errorf("%s, at %d: no JSON any more: %s", name, i, redactor.Bytes(b))
				}
			}
		}
	}
	for _, plain := range []string{"keys begin with sk-proj-…", "sk-…", "sk-proj-A7f9 stands here alone", text.LeftOut("3 KB") + " b0"} {
		if got := string(redactor.Bytes([]byte(plain))); got != plain {
			t.Errorf("%q became %q", plain, got)
		}
	}
}

// longestPrefix is the longest beginning of a secret in a text, longestSuffix the
// longest end.
func longestPrefix(text, secret string) string {
	for n := len(secret); n > 0; n-- {
		if strings.Contains(text, secret[:n]) {
			return secret[:n]
		}
	}
	return ""
}

func longestSuffix(text, secret string) string {
	for n := range len(secret) {
		if strings.Contains(text, secret[n:]) {
			return secret[n:]
		}
	}
	return ""
}
