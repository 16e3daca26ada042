package file

import (
	"errors"
	"path"
	"regexp"
	"strings"

	"agency/internal/agency"
	"agency/internal/tool"
)

// compileGlob makes a matcher of a path: * within a name, ** across folders,
// ? one letter, [a-z] a class, {a,b} alternatives. A glob without a slash
// matches the name in any folder.
func compileGlob(glob string) (func(string) bool, error) {
	if glob == "" {
		return func(string) bool { return true }, nil
	}
	re, err := globExpression(strings.TrimPrefix(glob, "./"))
	if err != nil || len(glob) > 500 {
		return nil, agency.Errorf(agency.KindInvalid, "the glob %s is not understood: want *, **, ?, [a-z] and {a,b}", tool.QuoteName(glob))
	}
	if strings.Contains(glob, "/") {
		return re.MatchString, nil
	}
	return func(p string) bool { return re.MatchString(path.Base(p)) }, nil
}

func globExpression(glob string) (*regexp.Regexp, error) {
	var b strings.Builder
	b.WriteString("^")
	depth := 0
	for i := 0; i < len(glob); i++ {
		switch c := glob[i]; c {
		case '*':
			if strings.HasPrefix(glob[i:], "**/") {
				b.WriteString("(?:.*/)?")
				i += 2
			} else if strings.HasPrefix(glob[i:], "**") {
				b.WriteString(".*")
				i++
			} else {
				b.WriteString("[^/]*")
			}
		case '?':
			b.WriteString("[^/]")
		case '[':
			end := strings.IndexByte(glob[i:], ']')
			if end < 2 {
				return nil, errors.New("class")
			}
			class := strings.Replace(glob[i+1:i+end], "!", "^", 1)
			b.WriteString("[" + strings.ReplaceAll(class, `\`, `\\`) + "]")
			i += end
		case '{':
			depth++
			b.WriteString("(?:")
		case '}':
			depth--
			b.WriteString(")")
		case ',':
			if depth > 0 {
				b.WriteString("|")
			} else {
				b.WriteString(",")
			}
		default:
			b.WriteString(regexp.QuoteMeta(string(c)))
		}
	}
	b.WriteString("$")
	return regexp.Compile(b.String())
}
