package agency

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// What a secret is: hard to guess, and not in what everybody may read.
func TestWhatASecretIs(t *testing.T) {
	ordinary := []string{"/home/ada/Xk3v9QpLw2sT/repo", "gateway.example.com", "meta-llama/Llama-3.1-70B-Instruct-a8f3"}
	for text, want := range map[string]bool{
		// Real ones, in the forms that are met.
		"sk-ant-api03-R2D2c3poLuke9xWz-7fKqPvN3mYt8aQ": true,
		"sk-proj-4f9aZ0kQw8LmX2vB7nRt":                 true,
		"AIzaSyD9x2kQ7vLw8mNfR3tYpZ0bHcJ4sXuEoG":       true,
		"9f86d081884c7d659a2feaa0c55ad015":             true,
		"xoxb-17653672481-hbTqZ9pLwRk2":                true,
		"github_pat_9Aq81hhd72kPzzXe93mdn44v":          true,
		"6fa459ea-ee8a-3ca4-894e-db77e160355e":         true,
		"Wq4v9RpK":                                     true,
		"qwhjdkzxvbnmplkitu":                           true,
		"correct horse battery staple":                 true,
		"p@7$kW!2z#Lq":                                 true,
		// Placeholders, and what is too short or too plain to be told from text.
		"": false, "none": false, "x": false, "sk-": false, "test": false, "ollama": false, "lm-studio": false, "placeholder": false,
		"not-needed": false, "your-api-key-here": false, "YOUR_API_KEY": false, "sk-xxxxxxxxxxxxxxxxxxxxxxxx": false, "sk-1234567890": false,
		"sk-test-1234": false, "0000000000000000": false, "abcdefghijklmnop": false, "changeme123": false, "MyLocalServerKey": false,
		"openai-compatible": false, "internal": false, "agency": false, "main.go:func": false, "insert-your-key": false, "llama3": false,
		"hunter2": false, "dummy_token_value": false, Redacted: false, "internationalization": false, "localdevelopment": false,
		"yourapikeygoeshere": false, "YOURAPIKEYGOESHERE": false, "Donotcommitthiskeyplease": false, "sk-thisisnotarealkeyatall": false,
		// What stands in the repository's path, a host's name or a model's.
		"Xk3v9QpLw2sT": false, "xk3v9qplw2st": false, "gateway.example.com": false, "Llama-3.1-70B-Instruct-a8f3": false,
	} {
		if got := IsSecret(text, ordinary...); got != want {
			t.Errorf("IsSecret(%q) = %v: it takes %.0f bits to guess", text, got, guesses(text, false))
		}
	}
}

// Long words and joined ones are no secrets, random letters are.
func TestLettersOfOneCase(t *testing.T) {
	words := strings.Fields(`access admin agent allow always answer any api app artifact backend base batch before begin better
		bridge browser build cache change check client cloud cluster code common compute config connect container control copy
		current custom data database debug default demo deploy design desktop developer device disabled docker document driver
		dummy edge empty engine environment example external factory fake feature file first folder for from function gateway
		general give global goes group handler hello here home host house image index input insert instance internal key keys
		language layer library license light little local login machine main manager master memory message mobile model module
		monitor mouse network never node not number object offline online open organization other output package page parent
		password personal place platform please plugin pocket point policy private process production profile project proxy
		public python query queue random ready real release remote replace required resource router sample sandbox schema
		search secret security server service session setting shared simple single source staging standard start storage
		string system table team temporary terminal test testing thing thread time token tool training user value vector
		version video virtual warehouse watch web welcome window with without work workspace world yellow your zone`)
	long := strings.Fields(`internationalization localdevelopment telecommunications responsibilities misunderstanding
		straightforward acknowledgement recommendations incompatibility notwithstanding characterization electromagnetic
		troubleshooting authentication counterproductive disproportionately uncharacteristically otorhinolaryngology
		antidisestablishmentarianism supercalifragilisticexpialidocious correcthorsebatterystaple thequickbrownfoxjumps
		platzhalterfuerdenschluessel remplacezcettevaleur contrasenadeprueba kubernetesingresscontroller`)
	for _, w := range long {
		if IsSecret(w) || IsSecret(strings.ToUpper(w)) {
			t.Errorf("%s is taken for a secret", w)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 5000
	taken := 0
	for range n {
		var joined string
		for len(joined) <= longWord {
			joined += words[rng.IntN(len(words))]
		}
		if IsSecret(joined) {
			taken++
		}
	}
	if taken > n/200 {
		t.Errorf("%d of %d joined words are taken for secrets", taken, n)
	}
	for length, most := range map[int]int{15: n / 50, 20: n / 200, 24: n / 500, 40: 0} {
		missed := 0
		for range n {
			letters := make([]byte, length)
			for i := range letters {
				letters[i] = 'a' + byte(rng.IntN(26))
			}
			if !IsSecret(string(letters)) {
				missed++
			}
		}
		if missed > most {
			t.Errorf("%d of %d random strings of %d letters are taken for words", missed, n, length)
		}
		t.Logf("%d random letters: %d of %d missed", length, missed, n)
	}
	t.Logf("joined words: %d of %d taken", taken, n)
}

const (
	key    = "sk-ant-api03-R2D2c3poLuke9xWz-7fKqPvN3mYt8aQ"
	oddKey = `Pa"ss\w0<rd>&/+=%7Kq9é2Zt`
)

// forms are the ways in which a key gets into a text.
func formsOfKey(key string) map[string]string {
	esc := func(s string) string {
		b, _ := json.Marshal(s)
		return string(b)
	}
	all := map[string]string{
		"plain": key, "json": esc(key), "json in json": esc(esc(key)), "go": fmt.Sprintf("%q", key), "query": url.QueryEscape(key),
		"path": url.PathEscape(key), "hex": hex.EncodeToString([]byte(key)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(key))),
		"twice": key + key, "file name": "a/" + key + ".txt", "diff": "+++ b/keys/" + key + "\n",
		"basic auth": "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("ada:"+key)),
	}
	for i := range 4 {
		before := "user:"[:i+1]
		all[fmt.Sprint("base64 ", i)] = base64.StdEncoding.EncodeToString([]byte(before + key + "tail"))
		all[fmt.Sprint("base64url ", i)] = base64.RawURLEncoding.EncodeToString([]byte(before + key))
		all[fmt.Sprint("base64 in a query ", i)] = url.QueryEscape(base64.StdEncoding.EncodeToString([]byte(before + key)))
	}
	return all
}

// leaks is a piece of the key that a text holds, in any form.
func leaks(text []byte, key string, least int) string {
	for i := 0; i+least <= len(key); i++ {
		piece := key[i : i+least]
		for _, f := range []string{piece, hex.EncodeToString([]byte(piece)), base64.RawStdEncoding.EncodeToString([]byte(piece))} {
			if bytes.Contains(text, []byte(f)) {
				return f
			}
		}
	}
	return ""
}

func TestEveryFormIsTakenOut(t *testing.T) {
	for _, key := range []string{key, oddKey} {
		r := NewRedactor(key, "ollama", "none")
		for name, text := range formsOfKey(key) {
			got := r.Bytes([]byte("before " + text + " after"))
			if !bytes.Contains(got, []byte(Redacted)) || leaks(got, key, 8) != "" {
				t.Errorf("%s: %s became %s", name, text, got)
			}
			if !bytes.HasPrefix(got, []byte("before ")) || !bytes.HasSuffix(got, []byte(" after")) {
				t.Errorf("%s: what stands around is gone: %s", name, got)
			}
		}
	}
	if got := string(NewRedactor("ollama", "none").Bytes([]byte("ollama/none"))); got != "ollama/none" {
		t.Error(got)
	}
	var none *Redactor
	if got := string(none.Bytes([]byte("sk-x"))); got != "sk-x" || none.Count([]byte(key)) != 0 {
		t.Error(got)
	}
}

// Of a key that is cut, whatever can be told from other text goes; what only
// begins like one stays.
func TestPiecesAreTakenOut(t *testing.T) {
	r := NewRedactor(key)
	for cut := range len(key) + 1 {
		for _, text := range []string{"end " + key[:cut], key[cut:] + " begin"} {
			if got := r.Bytes([]byte(text)); leaks(got, key[len("sk-ant-api03-"):], minPiece+2) != "" {
				t.Errorf("cut at %d: %s", cut, got)
			}
		}
	}
	wrapped := base64.StdEncoding.EncodeToString([]byte("ada:" + key + key))
	for i := 40; i < len(wrapped); i += 41 {
		wrapped = wrapped[:i] + "\n" + wrapped[i:]
	}
	if got := r.Bytes([]byte(wrapped)); leaks(got, key, 15) != "" {
		t.Errorf("wrapped: %s", got)
	}
	for _, plain := range []string{
		"a key begins with sk-ant-api03-", "sk-ant-api03-XXXXXXXX", "https://hooks.example.com/services/other", "Luke9 and R2D2c3po",
	} {
		if got := string(NewRedactor(key, "https://hooks.example.com/services/T9aZ0kQw8/LmX2vB7nRt").Bytes([]byte(plain))); got != plain {
			t.Errorf("%s became %s", plain, got)
		}
	}
}

// The longest goes where one secret holds another, and lines of one that has
// several go by themselves.
func TestSecretsWithinSecrets(t *testing.T) {
	r := NewRedactor(key, key+"-K9longer7Qz", "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQ\nEFAASCBKcwggSjAgEAAoIBAQ\n-----END KEY-----")
	for in, want := range map[string]string{
		key + "-K9longer7Qz, " + key:   "[redacted], [redacted]",
		key + key:                      "[redacted][redacted]",
		"x EFAASCBKcwggSjAgEAAoIBAQ y": "x [redacted] y",
		"-----BEGIN KEY-----":          "-----BEGIN KEY-----",
	} {
		if got := string(r.Bytes([]byte(in))); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// JSON stays JSON, whatever surrounds a key in it, and nothing of the key is
// left in it.
func TestJSONStaysJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.StringMatching(`[a-zA-Z0-9"\\<>/+nu]{16,40}`).Draw(t, "key")
		around := rapid.StringMatching(`[a-zA-Z"\\<>\n\tu0]{0,6}`)
		if !IsSecret(key) {
			t.Skip()
		}
		r := NewRedactor(key)
		from := rapid.IntRange(0, 3).Draw(t, "from")
		to := rapid.IntRange(len(key)-3, len(key)).Draw(t, "to")
		doc, err := json.Marshal(map[string]string{"k": around.Draw(t, "before") + key[from:to] + around.Draw(t, "after")})
		if err != nil {
			t.Fatal(err)
		}
		got := r.Bytes(doc)
		if !json.Valid(got) {
			t.Fatalf("%s became %s", doc, got)
		}
		if from == 0 && to == len(key) && bytes.Contains(got, []byte(key[1:])) {
			t.Fatalf("%s became %s", doc, got)
		}
	})
}

// A piece that begins with letters of an escape leaves the escape whole.
func TestEscapesBeforePieces(t *testing.T) {
	for key, text := range map[string]string{
		`""e"""""+"A"A"""`: `{"k":"\u003e\"\"\"\"\"+\"A\"A\""}`,
		`3eQ7vLw8mNfR3tYp`: `{"k":"\u003eQ7vLw8mNfR3tYp"}`,
		`u0041Q7vLw8mNfR3`: `{"k":"\u0041Q7vLw8mNfR3"}`,
		`nQ7vLw8mNfR3tYpZ`: `{"k":"\nQ7vLw8mNfR3tYpZ"}`,
	} {
		got := NewRedactor(key).Bytes([]byte(text))
		if !json.Valid(got) || !bytes.Contains(got, []byte(Redacted)) {
			t.Errorf("%s became %s", text, got)
		}
	}
}

func BenchmarkRedact(b *testing.B) {
	r := NewRedactor(key, oddKey, "AIzaSyD9x2kQ7vLw8mNfR3tYpZ0bHcJ4sXuEoG")
	text := []byte(strings.Repeat("func TestOfSomething(t *testing.T) { want := 12 }\n", 1<<14))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		r.Bytes(text)
	}
}
