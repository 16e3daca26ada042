package git

import (
	"fmt"
	"strings"
	"time"
)

// Identity is who a commit is by.
type Identity struct {
	Name  string `json:"name"`
	Email string `json:"email"`
}

// Fallback is the identity where git knows no user name (INTERFACES 7).
var fallback = Identity{Name: "agency", Email: "agency@localhost"}

// OrDefault is the identity, or agency <agency@localhost> where it is not
// complete.
func (i Identity) OrDefault() Identity {
	i.Name, i.Email = clean(i.Name), clean(i.Email)
	if i.Name == "" || i.Email == "" {
		return fallback
	}
	return i
}

// String is the form that commits show.
func (i Identity) String() string { return fmt.Sprintf("%s <%s>", i.Name, i.Email) }

func (i Identity) env(now time.Time) []string {
	i = i.OrDefault()
	date := fmt.Sprintf("@%d %s", now.Unix(), now.Format("-0700"))
	return []string{
		"GIT_AUTHOR_NAME=" + i.Name, "GIT_AUTHOR_EMAIL=" + i.Email, "GIT_AUTHOR_DATE=" + date,
		"GIT_COMMITTER_NAME=" + i.Name, "GIT_COMMITTER_EMAIL=" + i.Email, "GIT_COMMITTER_DATE=" + date,
	}
}

// clean drops what cannot stand in the header of a commit.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == '<' || r == '>' || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	return strings.TrimSpace(s)
}
