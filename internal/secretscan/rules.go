package secretscan

import (
	_ "embed"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"sync"

	"agency/internal/bug"
	"agency/internal/regexp"
)

//go:embed gitleaks.json
var gitleaks []byte

// Leak is a text that a rule of gitleaks takes for a secret.
type Leak struct {
	Rule   string
	Line   int    // from 1; 0: the file by its name
	Secret string // for whoever compares; never shown
}

// rule is a rule of gitleaks: a text is one of its secrets where a keyword stands in it, the
// expression matches, its group is random enough, and no list allows it.
type rule struct {
	ID       string   `json:"id"`
	Path     *pattern `json:"path"`
	Regex    *pattern `json:"regex"`
	Entropy  float64  `json:"entropy"` // what a secret must have more of, in bits a byte
	Group    int      `json:"group"`   // of the expression; 0: the first that is not empty
	Keywords []string `json:"keywords"`
	Allow    []allow  `json:"allow"`
}

// allow says what is no secret.
type allow struct {
	Paths     []*pattern `json:"paths"`
	Regexes   []*pattern `json:"regexes"`
	Stopwords []string   `json:"stopwords"`
	Target    string     `json:"target"` // what its expressions look at: the secret, "match" or "line"
	All       bool       `json:"all"`    // of its kinds all must hold, not one
}

// pattern is an expression that is compiled when it is needed.
type pattern struct{ *regexp.Regexp }

// UnmarshalText takes the expression.
func (p *pattern) UnmarshalText(text []byte) error {
	p.Regexp = regexp.MustCompile(string(text)) // a test reads all
	return nil
}

// rules are those of gitleaks, in its order.
var rules = sync.OnceValue(func() (all struct {
	Allow []allow `json:"allow"`
	Rules []rule  `json:"rules"`
},
) {
	if err := json.Unmarshal(gitleaks, &all); err != nil {
		_ = bug.Errorf("rules of gitleaks: %v", err)
	}
	return all
})

// Leaks are what the rules of gitleaks find in a text of a file that begins at a line. A
// comment that would have gitleaks keep quiet is not heard.
func Leaks(path, content string, from int) (out []Leak) {
	all := rules()
	if allowedPath(all.Allow, path) {
		return nil
	}
	low := strings.ToLower(content)
	for i := range all.Rules {
		r := &all.Rules[i]
		if r.Path != nil && !r.Path.MatchString(path) || allowedPath(r.Allow, path) {
			continue
		}
		if r.Regex == nil {
			out = append(out, Leak{Rule: r.ID})
			continue
		}
		if len(r.Keywords) > 0 && !slices.ContainsFunc(r.Keywords, func(k string) bool { return strings.Contains(low, k) }) {
			continue
		}
		for _, m := range r.Regex.FindAllStringIndex(content, 1000) {
			match := strings.Trim(content[m[0]:m[1]], "\n")
			at := m[0] + strings.Index(content[m[0]:m[1]], match)
			secret, ok := r.secret(match)
			if !ok || allowed(all.Allow, path, secret, match, lineAt(content, at)) || allowed(r.Allow, path, secret, match, lineAt(content, at)) {
				continue
			}
			if p := strings.Index(match, secret); p > 0 {
				at += p
			}
			out = append(out, Leak{r.ID, from + strings.Count(content[:at], "\n"), secret})
		}
	}
	return out
}

// secret is the secret of a match; false where it is not random enough.
func (r *rule) secret(match string) (string, bool) {
	secret := match
	groups := r.Regex.FindStringSubmatch(match)
	switch {
	case r.Group > 0 && r.Group < len(groups):
		secret = groups[r.Group]
	case r.Group == 0 && len(groups) > 1:
		if at := slices.IndexFunc(groups[1:], func(g string) bool { return g != "" }); at >= 0 {
			secret = groups[at+1]
		}
	}
	return secret, r.Entropy == 0 || entropy(secret) > r.Entropy
}

// entropy is Shannon's, in bits a character.
func entropy(s string) (bits float64) {
	n, all := map[rune]int{}, 0
	for _, c := range s {
		n[c]++
		all++
	}
	for _, c := range n {
		p := float64(c) / float64(all)
		bits -= p * math.Log2(p)
	}
	return bits
}

func lineAt(content string, at int) string {
	from := strings.LastIndexByte(content[:at], '\n') + 1
	rest, _, _ := strings.Cut(content[from:], "\n")
	return rest
}

func anyMatch(all []*pattern, s string) bool {
	return slices.ContainsFunc(all, func(p *pattern) bool { return p.MatchString(s) })
}

// allowedPath tells of a file in which lists allow everything.
func allowedPath(all []allow, path string) bool {
	return slices.ContainsFunc(all, func(a allow) bool {
		only := len(a.Regexes) == 0 && len(a.Stopwords) == 0
		return (!a.All || only) && anyMatch(a.Paths, path)
	})
}

// allowed tells of a match that lists allow.
func allowed(all []allow, path, secret, match, line string) bool {
	return slices.ContainsFunc(all, func(a allow) bool {
		target := secret
		switch a.Target {
		case "match":
			target = match
		case "line":
			target = line
		}
		low := strings.ToLower(secret)
		var holds []bool
		if len(a.Paths) > 0 {
			holds = append(holds, anyMatch(a.Paths, path))
		}
		if len(a.Regexes) > 0 {
			holds = append(holds, anyMatch(a.Regexes, target))
		}
		if len(a.Stopwords) > 0 {
			holds = append(holds, slices.ContainsFunc(a.Stopwords, func(w string) bool { return strings.Contains(low, strings.ToLower(w)) }))
		}
		if a.All {
			return len(holds) > 0 && !slices.Contains(holds, false)
		}
		return slices.Contains(holds, true)
	})
}
