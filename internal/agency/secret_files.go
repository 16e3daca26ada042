package agency

import (
	"bytes"
	"encoding/base64"
	"path"
	"slices"
	"strings"
	"unicode"

	"agency/internal/regexp"
)

// What looks like a secret in files that nobody handed in as one: names of files,
// texts of a provider's form, and values that stand behind a name such as
// password and are hard to guess.

// SecretName says why a file of this name is taken for a secret; "" where it is
// not.
func SecretName(p string) string {
	low := strings.ToLower(p)
	base, ext := path.Base(low), path.Ext(low)
	within := func(folder string) bool {
		return strings.HasPrefix(low, folder+"/") || strings.Contains(low, "/"+folder+"/")
	}
	switch {
	case ext == ".example" || ext == ".sample" || ext == ".template" || ext == ".dist" || ext == ".pub":
		return ""
	case base == ".env" || strings.HasPrefix(base, ".env.") || ext == ".env" || base == ".envrc":
		return "an environment file"
	case secretExts[ext]:
		return "a key or a key store"
	case strings.HasPrefix(base, "id_rsa"), strings.HasPrefix(base, "id_dsa"), strings.HasPrefix(base, "id_ecdsa"), strings.HasPrefix(base, "id_ed25519"):
		return "a private key"
	case strings.HasPrefix(base, "credentials") && !codeExts[ext] && !proseExts[ext]:
		return "credentials"
	case ext == ".json" && serviceAccount.MatchString(base):
		return "the key of a service account"
	case secretBases[base] || within(".ssh") || within(".gnupg") || within(".aws") || within(".docker") || within(".kube"):
		return "a file of keys or passwords"
	}
	return ""
}

var (
	secretExts = map[string]bool{
		".pem": true, ".key": true, ".p12": true, ".pfx": true, ".kdbx": true, ".kdb": true, ".jks": true, ".keystore": true, ".ppk": true, ".p8": true,
		".age": true, ".tfstate": true,
	}
	secretBases = map[string]bool{
		".netrc": true, "_netrc": true, ".pgpass": true, ".htpasswd": true, ".git-credentials": true, ".pypirc": true, ".dockercfg": true, ".my.cnf": true,
		".vault-token": true, "secrets.yml": true, "secrets.yaml": true, "secrets.json": true, "secrets.toml": true, "master.key": true, "kubeconfig": true,
	}
	// proseExts are files which, like code, may well be about credentials.
	proseExts      = map[string]bool{".md": true, ".html": true, ".css": true, ".sql": true, ".proto": true}
	serviceAccount = regexp.MustCompile(`service[-_]?account|^client_secret|^application_default_credentials`)
)

// secretForm is a text that nobody but its owner should have.
type secretForm struct {
	what string
	near []string // one of them stands in it
	form *regexp.Regexp
}

var secretForms = []secretForm{
	{"a private key", []string{"PRIVATE KEY"}, regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----`)},
	{"a key of AWS", []string{"AKIA", "ASIA"}, regexp.MustCompile(`\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`)},
	{"a token of GitHub", []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"}, regexp.MustCompile(`\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{40,})`)},
	{"a token of GitLab", []string{"glpat-"}, regexp.MustCompile(`\bglpat-[A-Za-z0-9_-]{20,}`)},
	{"a token of Slack", []string{"xox", "hooks.slack.com"}, regexp.MustCompile(`\bxox[abeprs]-[A-Za-z0-9-]{10,}|hooks\.slack\.com/services/T[A-Za-z0-9_/]{20,}`)},
	{"a key of Google", []string{"AIza"}, regexp.MustCompile(`\bAIza[0-9A-Za-z_-]{35}`)},
	{"a key of Anthropic", []string{"sk-ant-"}, regexp.MustCompile(`\bsk-ant-[A-Za-z0-9_-]{20,}`)},
	{"a key of OpenAI", []string{"sk-"}, regexp.MustCompile(`\bsk-(?:(?:proj|svcacct|admin)-[A-Za-z0-9_-]{20,}|[A-Za-z0-9]{32,})`)},
	{"a key of Stripe", []string{"k_live_"}, regexp.MustCompile(`\b[rs]k_live_[0-9A-Za-z]{20,}`)},
	{"a token of npm", []string{"npm_", "_auth", "_password"}, regexp.MustCompile(`\bnpm_[A-Za-z0-9]{36}\b|(?m:^|:)_(?:authToken|password|auth)\s*=\s*[^\s$]\S*`)},
	{"a token of PyPI", []string{"pypi-"}, regexp.MustCompile(`\bpypi-[A-Za-z0-9_-]{50,}`)},
	{"a key of SendGrid", []string{"SG."}, regexp.MustCompile(`\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{32,}`)},
	{"a token of Hugging Face", []string{"hf_"}, regexp.MustCompile(`\bhf_[A-Za-z0-9]{30,}`)},
	{"a JSON web token", []string{"eyJ"}, regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{20,}`)},
}

// SecretText is a text of a file that looks like a secret.
type SecretText struct {
	Line int    // from 1
	What string // "a token of GitHub"
	Text string // as it stands there, for whoever compares; never shown
}

// SecretsIn finds what looks like a secret in a file, in the order of its lines.
// Of a file that is called an example, a sample or a fixture only what has the
// form of a provider's keys counts; in code only a literal that is long and random.
func SecretsIn(name string, content []byte) (out []SecretText) {
	low := strings.ToLower(name)
	forms := slices.DeleteFunc(slices.Clone(secretForms), func(f secretForm) bool {
		return !slices.ContainsFunc(f.near, func(n string) bool { return bytes.Contains(content, []byte(n)) })
	})
	weak := !exampleName.MatchString(low) && bytes.IndexByte(content[:min(len(content), 8<<10)], 0) < 0
	code, n := codeExts[path.Ext(low)], 0
	for line := range bytes.Lines(content) {
		n++
		add := func(what string, text []byte) { out = append(out, SecretText{n, what, string(text)}) }
		for _, f := range forms {
			if hit := f.form.Find(line); hit != nil {
				add(f.what, hit)
			}
		}
		if weak {
			valuesIn(line, code, add)
		}
	}
	return out
}

// valuesIn finds the values of a line that look like secrets by what stands
// before them.
func valuesIn(line []byte, code bool, add func(what string, text []byte)) {
	low := bytes.ToLower(line)
	near := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return bytes.Contains(low, []byte(w)) })
	}
	if near("pass", "pwd", "secret", "token", "credential", "key") {
		for _, m := range assigned.FindAllSubmatchIndex(line, -1) {
			value, quoted := valueOf(line, m)
			if what := assignedSecret(nameBefore(line, m[2])+string(line[m[2]:m[3]]), value, quoted, code); what != "" {
				add(what, line[m[0]:m[1]])
			}
		}
	}
	for _, f := range valueForms {
		if !near(f.near) {
			continue
		}
		for _, m := range f.form.FindAllSubmatch(line, -1) {
			if f.is(string(m[1]), string(m[2]), code) {
				add(f.what, m[0])
			}
		}
	}
}

// nameBefore is what of a name stands before a place.
func nameBefore(line []byte, at int) string {
	from := at
	for from > 0 && (line[from-1] == '_' || line[from-1] == '-' || line[from-1] == '.' || classOf(line[from-1]) == digit ||
		classOf(line[from-1]) == capital || classOf(line[from-1]) == small) {
		from--
	}
	return string(line[from:at])
}

// exampleName are the paths of what is made to be read.
var exampleName = regexp.MustCompile(`(?:^|[^a-z])(?:examples?|samples?|templates?|fixtures?|testdata|dummy|fakes?|mocks?)(?:[^a-z]|$)`)

// codeExts are files in which a value is a literal between quotes.
var codeExts = map[string]bool{
	".go": true, ".py": true, ".js": true, ".mjs": true, ".cjs": true, ".jsx": true, ".ts": true, ".tsx": true, ".rs": true, ".java": true, ".kt": true,
	".rb": true, ".php": true, ".cs": true, ".c": true, ".h": true, ".cc": true, ".cpp": true, ".swift": true, ".scala": true, ".vue": true, ".svelte": true,
}

// assigned is a name that ends like a secret's, and the value that follows.
var assigned = regexp.MustCompile(`(?i)((?:pass(?:word|wd|phrase)|pwd|secret|token|credentials?|` +
	`(?:api|access|account|auth|encryption|private|secret|signing)[_.-]?key|client-key-data))["']?(?:>|[ \t]*(?::=|=>|[:=]))[ \t]*` +
	`(?:"([^"\n]*)"|'([^'\n]*)'|([^\s"'=<>,;&#][^\s"',;<>&#]*))`)

// valueOf is the value of what assigned has found, and whether it was quoted.
func valueOf(content []byte, m []int) (value string, quoted bool) {
	for i := 4; i < 8; i += 2 {
		if m[i] >= 0 {
			return string(content[m[i]:m[i+1]]), true
		}
	}
	return string(content[m[8]:m[9]]), false
}

const (
	// plainPassword is the least that a password of a word and a digit takes to
	// guess, in bits; placeholders such as password1 take less.
	plainPassword = 14
	// longSecret is what a text that may as well be a path or any literal of code
	// takes at least.
	longSecret = 64
)

var (
	plainPath    = regexp.MustCompile(`^(?:[./~]|[a-z0-9_.:-]+/)[a-z0-9_./-]*$|\.\w{1,5}$`)
	passwordName = regexp.MustCompile(`(?i)(?:pass(?:word|wd|phrase)|pwd)$`)
	// openName are names that look like those of secrets, of values that are public.
	openName = regexp.MustCompile(`(?i)public|(?:next|page|continuation|cursor|sync|cancellation)[_.-]?token$`)
	// noLiteral is a value that stands for another: a variable, a call, a template, an
	// address, a digest, a version.
	noLiteral = regexp.MustCompile("^[$%{(\\[<*&!@`|>-]|\\$[{(]|\\{\\{|[()\\s]|://|^(?i:arn:|enc\\[|vault:|kms:|sha\\d+[:-]|md5[:-])|^(?i:process\\.env|os\\.environ|env\\.|var\\.|local\\.|data\\.|secrets\\.)|^[~^<>=v]*\\d+(?:\\.\\d+)+")
)

// assignedSecret says what the value of a name is, if it looks like a secret.
func assignedSecret(name, value string, quoted, code bool) string {
	if noLiteral.MatchString(value) || openName.MatchString(name) || code && !quoted || !strings.ContainsFunc(value, unicode.IsLetter) || !strings.ContainsAny(value, "0123456789") {
		return ""
	}
	bits := guesses(value, true)
	switch {
	case code || strings.Contains(value, "/"):
		if bits >= longSecret || !code && !plainPath.MatchString(value) && guesses(value, false) >= longSecret {
			return "the value of " + name
		}
	case passwordName.MatchString(name):
		if guesses(value, false) >= plainPassword {
			return "the value of " + name
		}
	case bits >= secretBits && len(value) >= minSecret:
		return "the value of " + name
	}
	return ""
}

// valueForms are texts around a secret: what stands before it, and it.
var valueForms = []struct {
	what string
	near string // stands in it, in small letters
	form *regexp.Regexp
	is   func(before, value string, code bool) bool
}{
	{"a password in an address", "://", regexp.MustCompile(`\b[a-zA-Z][a-zA-Z0-9+.-]*://([^\s:/@"'<>]*):([^\s/@"'<>]+)@[\w\[]`), func(user, value string, code bool) bool {
		if noLiteral.MatchString(value) || value == user {
			return false
		}
		if code {
			return guesses(value, true) >= secretBits
		}
		return guesses(value, false) >= wordBits
	}},
	{"a login of a registry", `"auth"`, regexp.MustCompile(`"(auth)"\s*:\s*"([A-Za-z0-9+/_-]+=*)"`), func(_, value string, _ bool) bool {
		login, err := base64.StdEncoding.DecodeString(value)
		return err == nil && bytes.Contains(login, []byte(":"))
	}},
	{"a header of authorization", "authorization", regexp.MustCompile(`(?i)\b(authorization)["']?\s*[:=,]\s*["']?(?:bearer|basic|token)\s+([\w.~+/=-]{16,})`), func(_, value string, _ bool) bool {
		return guesses(value, true) >= longSecret
	}},
}
