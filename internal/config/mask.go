package config

import (
	"strings"
	"unicode/utf8"

	"agency/internal/regexp"
)

var (
	secretValue = regexp.MustCompile(`(?i)((?:base_url|api_?key|token|secret|password|passwd|url)["']?\s*:\s*)("[^"]*"?|'[^']*'?|[^\s,}\]#]+)`)
	secretOpen  = regexp.MustCompile(`(?i)(?:api_?key|token|secret|password|passwd|url)["']?\s*:\s*([|>][-+0-9]*|"[^"]*|'[^']*)?\s*$`)
	anyKey      = regexp.MustCompile(`^\s*["']?[A-Za-z0-9_-]+["']?\s*:`)
	knownKey    = regexp.MustCompile(`\b(?:sk|pk|rk|gh[pousr]|github_pat|xox[a-z]|glpat|AKIA|ASIA|AIza|hf|gsk|xai)[-_A-Za-z0-9]{12,}`)
	userInfo    = regexp.MustCompile(`(://)[^/@\s"']+@`)
)

// maskLine hides what may be a key in a line that is shown. References,
// "none" and addresses without credentials stay readable; the length stays,
// so that the caret does too.
func maskLine(line string) string {
	line = secretValue.ReplaceAllStringFunc(line, func(m string) string {
		parts := secretValue.FindStringSubmatch(m)
		value := strings.Trim(parts[2], `"'`)
		plainURL := strings.HasPrefix(value, "http") && strings.Contains(parts[1], "base_url")
		if value == "" || value == string(NoKey) || pureRef(value) != "" || plainURL || tooShort(value) {
			return m
		}
		return parts[1] + strings.Repeat("*", utf8.RuneCountInString(parts[2]))
	})
	line = maskKnown(line)
	return userInfo.ReplaceAllStringFunc(line, func(m string) string {
		return "://" + strings.Repeat("*", utf8.RuneCountInString(m)-4) + "@"
	})
}

// tooShort is for values that cannot be a key: numbers, true, null.
func tooShort(v string) bool { return len(v) < 6 }

// maskKnown hides what looks like a key by itself, wherever it stands.
func maskKnown(s string) string {
	return knownKey.ReplaceAllStringFunc(s, func(m string) string { return strings.Repeat("*", len(m)) })
}

// insideSecret tells whether line n continues the value of a secret's key: a
// block, a quote left open, or a value on the next line.
func (t *lines) insideSecret(n int) bool {
	for i := n - 1; i >= 1 && i > n-20; i-- {
		if secretOpen.MatchString(t.lines[i-1]) {
			return true
		}
		if anyKey.MatchString(t.lines[i-1]) {
			return false
		}
	}
	return false
}
