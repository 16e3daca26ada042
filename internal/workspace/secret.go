package workspace

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"regexp"
	"strings"

	"agency/internal/agency"
	"agency/internal/git"
)

// secretFile is a file that may hold a secret, and what speaks for it.
type secretFile struct{ path, what string }

// refuseSecrets names the files. A person who commits one has decided; nobody
// has who only asked for local edits.
func refuseSecrets(files []secretFile) error {
	lines := make([]string, len(files))
	for i, f := range files {
		lines[i] = fmt.Sprintf("%s (%s)", f.path, f.what)
	}
	return agency.Errorf(agency.KindDenied, "local edits that may hold a secret do not go into a run: %s", strings.Join(lines, ", ")).
		WithMend("leave an untracked file out of --include-untracked; for a file of git: git stash push -- %s; or commit it yourself where it is no secret", files[0].path)
}

func secretNames(paths []string) (out []secretFile) {
	for _, p := range paths {
		if what := secretName(p); what != "" {
			out = append(out, secretFile{p, what})
		}
	}
	return out
}

// secretName says why a file of this name is taken for a secret; "" where it is
// not.
func secretName(p string) string {
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
	case strings.HasPrefix(base, "id_rsa") || strings.HasPrefix(base, "id_dsa") || strings.HasPrefix(base, "id_ecdsa") || strings.HasPrefix(base, "id_ed25519"):
		return "a private key"
	case strings.HasPrefix(base, "credentials") && !sourceExts[ext]:
		return "credentials"
	case ext == ".json" && serviceAccount.MatchString(base):
		return "the key of a service account"
	case secretBases[base] || within(".ssh") || within(".gnupg") || within(".aws"):
		return "a file of keys or passwords"
	}
	return ""
}

var (
	secretExts = map[string]bool{
		".pem": true, ".key": true, ".p12": true, ".pfx": true, ".kdbx": true, ".kdb": true, ".jks": true, ".keystore": true, ".ppk": true, ".p8": true,
		".age": true,
	}
	secretBases = map[string]bool{
		".netrc": true, "_netrc": true, ".pgpass": true, ".htpasswd": true, ".git-credentials": true, ".pypirc": true, ".dockercfg": true, ".my.cnf": true,
		".vault-token": true, "secrets.yml": true, "secrets.yaml": true, "secrets.json": true, "secrets.toml": true, "master.key": true,
	}
	// sourceExts are files of code, which may well be about credentials.
	sourceExts = map[string]bool{
		".go": true, ".py": true, ".js": true, ".mjs": true, ".cjs": true, ".jsx": true, ".ts": true, ".tsx": true, ".rs": true, ".java": true, ".kt": true,
		".rb": true, ".php": true, ".cs": true, ".c": true, ".h": true, ".cc": true, ".cpp": true, ".swift": true, ".scala": true, ".vue": true, ".svelte": true,
		".md": true, ".html": true, ".css": true, ".sql": true, ".proto": true,
	}
	serviceAccount = regexp.MustCompile(`service[-_]?account|^client_secret|^application_default_credentials`)
)

// secretForm is a text that nobody but its owner should have.
type secretForm struct {
	what string
	form *regexp.Regexp
}

var secretForms = []secretForm{
	{"a private key", regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----`)},
	{"a key of AWS", regexp.MustCompile(`\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`)},
	{"a token of GitHub", regexp.MustCompile(`\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{40,})`)},
	{"a token of GitLab", regexp.MustCompile(`\bglpat-[A-Za-z0-9_-]{20,}`)},
	{"a token of Slack", regexp.MustCompile(`\bxox[abeprs]-[A-Za-z0-9-]{10,}|hooks\.slack\.com/services/T[A-Za-z0-9_/]{20,}`)},
	{"a key of Google", regexp.MustCompile(`\bAIza[0-9A-Za-z_-]{35}`)},
	{"a key of Anthropic", regexp.MustCompile(`\bsk-ant-[A-Za-z0-9_-]{20,}`)},
	{"a key of OpenAI", regexp.MustCompile(`\bsk-(?:(?:proj|svcacct|admin)-[A-Za-z0-9_-]{20,}|[A-Za-z0-9]{32,})`)},
	{"a key of Stripe", regexp.MustCompile(`\b[rs]k_live_[0-9A-Za-z]{20,}`)},
	{"a token of npm", regexp.MustCompile(`\bnpm_[A-Za-z0-9]{36}\b|:_(?:authToken|password|auth)\s*=\s*[^\s$]`)},
}

// maxSearched bounds what is looked through of one file, in bytes.
const maxSearched = 32 << 20

// secretIn looks for a secret in what a change brings in; what the commit below
// it has already is no news.
func secretIn(ctx context.Context, d git.Dir, c git.Change) (secretFile, error) {
	if c.Status == 'D' || c.New.Mode == git.ModeGitlink {
		return secretFile{}, nil
	}
	now, err := d.Content(ctx, c.New.ID, maxSearched)
	if git.IsTooLong(err) {
		return secretFile{c.Path, "too much in it to be looked through"}, nil
	}
	if err != nil {
		return secretFile{}, err
	}
	var was []byte
	for _, f := range secretForms {
		for _, hit := range f.form.FindAll(now, -1) {
			if was == nil && c.Old.Mode != 0 {
				if was, err = d.Content(ctx, c.Old.ID, maxSearched); err != nil && !git.IsTooLong(err) {
					return secretFile{}, err
				}
			}
			if !bytes.Contains(was, hit) {
				return secretFile{c.Path, f.what + " in it"}, nil
			}
		}
	}
	return secretFile{}, nil
}
