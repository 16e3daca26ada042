package config

import (
	"strings"

	"agency/internal/regexp"
)

var (
	pureForm = regexp.MustCompile(`^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$`)
	anyForm  = regexp.MustCompile(`\$?\$\{[^}]*\}?`)
	nameForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// pureRef is NAME where s is nothing but ${NAME}.
func pureRef(s string) string {
	if m := pureForm.FindStringSubmatch(s); m != nil {
		return m[1]
	}
	return ""
}

// badRef is the first "${" of a template that is no ${NAME}, or "".
func badRef(template string) string {
	for _, m := range anyForm.FindAllString(template, -1) {
		if strings.HasPrefix(m, "$$") {
			continue
		}
		if !strings.HasSuffix(m, "}") || !nameForm.MatchString(m[2:len(m)-1]) {
			return m
		}
	}
	return ""
}

// expand replaces ${NAME} by the environment's value and $${ by a plain ${.
// The names that are unset are returned and stay as written; an empty value
// counts as unset, as it does for the tools that set keys.
func expand(template string, env Env) (value string, unset []string) {
	value = anyForm.ReplaceAllStringFunc(template, func(m string) string {
		if strings.HasPrefix(m, "$$") {
			return m[1:]
		}
		name := strings.TrimSuffix(m[2:], "}")
		if v, ok := env(name); ok && v != "" {
			return v
		}
		unset = append(unset, name)
		return m
	})
	return value, unset
}
