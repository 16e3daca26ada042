package config

import (
	"fmt"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"agency/internal/agency"
	"agency/internal/regexp"
	"agency/internal/text"
)

// checkForm says what is wrong with a text that must have a form, or "".
// Empty texts are the business of the caller, except in lists.
func checkForm(form, s string) string {
	switch form {
	case "ref":
		return checkRef(s)
	case "glob":
		return checkGlob(s)
	case "url":
		return checkURL(s)
	case "host":
		return checkHost(s)
	case "path":
		return checkPath(s)
	case "name":
		return checkName(s)
	case "resource":
		return checkResource(s)
	case "model":
		return checkModel(s)
	case "model_or_none":
		if s == "" {
			return ""
		}
		return checkModel(s)
	case "level_or_model":
		return checkLevelOrModel(s)
	case "runtime":
		return checkRuntime(s)
	case "talent":
		return checkTalent(s)
	case "role":
		return checkWord(s, roles())
	case "role_or_agent":
		return checkWord(s, append(roles(), string(agency.RoleAgent)))
	case "email":
		return checkEmail(s)
	case "hours":
		_, _, what := parseHours(s)
		return what
	}
	return ""
}

var (
	nameRule   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)
	resRule    = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)
	talentRule = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
	hostRule   = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)+$`)
	hoursRule  = regexp.MustCompile(`^([01][0-9]|2[0-3]):([0-5][0-9])-([01][0-9]|2[0-3]):([0-5][0-9])$`)
	emailRule  = regexp.MustCompile(`^[^@\s<>,;]+@[^@\s<>,;]+$`)
)

// checkRef follows git-check-ref-format for one component of a branch name.
func checkRef(s string) string {
	switch {
	case s == "":
		return "is empty"
	case len(s) > 100:
		return "is longer than 100 bytes"
	case strings.Contains(s, "/"):
		return "contains '/': it is one part of a branch's name"
	case strings.HasPrefix(s, "."), strings.HasPrefix(s, "-"), s == "@":
		return "begins with '.' or '-', or is '@'"
	case strings.HasSuffix(s, "."), strings.HasSuffix(s, ".lock"):
		return "ends in '.' or '.lock'"
	case strings.Contains(s, ".."), strings.Contains(s, "@{"):
		return "contains '..' or '@{'"
	case strings.ContainsAny(s, " ~^:?*[\\\x7f") || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' }):
		return `contains a space or one of ~^:?*[\`
	case strings.EqualFold(s, "HEAD"):
		return "is HEAD, which git keeps for itself"
	}
	return ""
}

// checkGlob accepts slash paths relative to the repository whose segments are
// path.Match patterns or "**".
func checkGlob(s string) string {
	switch {
	case s == "":
		return "is empty"
	case strings.HasPrefix(s, "/"), strings.Contains(s, `\`):
		return "must be relative to the repository, with /"
	}
	for seg := range strings.SplitSeq(s, "/") {
		if seg == "" || seg == "." || seg == ".." {
			return fmt.Sprintf("contains %q", seg)
		}
		if strings.Contains(seg, "**") && seg != "**" {
			return fmt.Sprintf("%q: ** stands alone between slashes", seg)
		}
		if _, err := path.Match(seg, "x"); err != nil {
			return fmt.Sprintf("%q is no pattern: a [ without its ]", seg)
		}
	}
	return ""
}

func checkURL(s string) string {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return "is no address: want http://host or https://host"
	case u.Scheme != "http" && u.Scheme != "https":
		return "must begin with http:// or https://"
	case u.Hostname() == "":
		return "names no host"
	case u.User != nil:
		return "holds a user name or password: keys go into api_key"
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return "has a query or fragment"
	case !validPort(u):
		return "has no valid port"
	}
	return ""
}

func validPort(u *url.URL) bool {
	p := u.Port()
	if p == "" {
		return !strings.HasSuffix(u.Host, ":")
	}
	_, err := netip.ParseAddrPort("127.0.0.1:" + p)
	return err == nil && p != "0"
}

// checkHost accepts exact names only: the proxy compares the parsed host, so
// a pattern or an address would never match or would reach too far.
func checkHost(s string) string {
	switch {
	case s == "":
		return "is empty"
	case strings.Contains(s, "*"):
		return "is a pattern: name each host"
	case strings.ContainsAny(s, "/:@"):
		return "must be a host alone, without scheme, port or path"
	case s != strings.ToLower(s):
		return "must be lower case"
	}
	if _, err := netip.ParseAddr(s); err == nil {
		return "is an address: name the host"
	}
	if !hostRule.MatchString(s) || len(s) > 253 {
		return "is no host name, for instance packages.example.com"
	}
	return ""
}

func checkPath(s string) string {
	switch {
	case s == "":
		return "is empty"
	case s == "~", strings.HasPrefix(s, "~") && !strings.HasPrefix(s, "~/"):
		return "must be absolute, begin with ~/, or be relative to the repository"
	case path.Clean(s) == "/":
		return "is the whole file system"
	case path.Clean(s) == "~" || strings.HasPrefix(path.Clean(s), "../") && strings.HasPrefix(s, "~/"):
		return "is the whole home folder"
	}
	return ""
}

func checkName(s string) string {
	if !nameRule.MatchString(s) {
		return "is no name: want a letter or digit, then up to 63 of letters, digits, '_' and '-'"
	}
	return ""
}

// checkResource is the form of names that are files, too.
func checkResource(s string) string {
	if !resRule.MatchString(s) {
		return "is no name of a resource: want a lower-case letter, then up to 31 of lower-case letters, digits, '_' and '-'"
	}
	return ""
}

func checkModel(s string) string {
	if _, err := ParseModel(s); err != nil {
		return "is no provider/model, for instance anthropic/claude-sonnet-4-5"
	}
	return ""
}

func checkLevelOrModel(s string) string {
	if s == "" || IsLevel(s) || strings.Contains(s, "/") && checkModel(s) == "" {
		return ""
	}
	return fmt.Sprintf("is neither a capability level (%s) nor provider/model%s", strings.Join(levels(), ", "), text.Suggestion(s, levels()))
}

func checkRuntime(s string) string {
	if command, ok := strings.CutPrefix(s, "acp:"); ok {
		if strings.TrimSpace(command) == "" {
			return "names no command: want acp:COMMAND"
		}
		return ""
	}
	return checkWord(s, append(runtimes(), "acp:COMMAND"))
}

func checkTalent(s string) string {
	if s != "" && !talentRule.MatchString(s) {
		return "is no id of a roster file"
	}
	return ""
}

func checkEmail(s string) string {
	if !emailRule.MatchString(s) {
		return "is no e-mail address"
	}
	return ""
}

// checkWord is for closed sets.
func checkWord(s string, known []string) string {
	if slices.Contains(known, s) {
		return ""
	}
	shown := slices.DeleteFunc(slices.Clone(known), func(k string) bool { return k == "" })
	return fmt.Sprintf("must be one of %s%s", strings.Join(shown, ", "), text.Suggestion(s, shown))
}

// unprintable is the first character of a text that could make a terminal
// show something else than what is written, or 0: control characters and
// marks of writing direction. Commands may have lines and tabs.
func unprintable(s string, command bool) rune {
	for _, r := range s {
		switch {
		case command && (r == '\n' || r == '\t'):
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == 0x2028, r == 0x2029, r == unicode.ReplacementChar:
			return r
		}
	}
	return 0
}

// parseHours reads HH:MM-HH:MM as minutes of a day, and says what is wrong with it.
func parseHours(s string) (from, to int, what string) {
	m := hoursRule.FindStringSubmatch(s)
	if m == nil {
		return 0, 0, "must be two times of a day, such as 22:00-07:00"
	}
	at := func(h, m string) int {
		hours, _ := strconv.Atoi(h) // digits, by the rule
		minutes, _ := strconv.Atoi(m)
		return 60*hours + minutes
	}
	from, to = at(m[1], m[2]), at(m[3], m[4])
	if from == to {
		return 0, 0, "ends when it begins: leave it empty, or set notify: [] for no announcements at all"
	}
	return from, to, ""
}

// QuietUntil is when the quiet hours end that now is in, in the time zone of now; the
// zero time where it is in none.
func (c Config) QuietUntil(now time.Time) time.Time {
	if c.NotifyQuietHours == "" {
		return time.Time{}
	}
	from, to, what := parseHours(c.NotifyQuietHours)
	at := 60*now.Hour() + now.Minute()
	day := 0
	switch {
	case what != "":
		return time.Time{}
	case from < to && (at < from || at >= to), from > to && at >= to && at < from:
		return time.Time{}
	case from > to && at >= from:
		day = 1
	}
	return time.Date(now.Year(), now.Month(), now.Day()+day, to/60, to%60, 0, 0, now.Location())
}
