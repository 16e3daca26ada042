package workspace

import "strings"

// translateIgnore rewrites the patterns of the ignore file in folder dir ("."
// is the root) so that they mean the same in one file at the root
// (gitignore(5)): a pattern without an inner slash matches at any depth below
// dir, one with a slash is anchored at dir.
func translateIgnore(dir, text string) string {
	var b strings.Builder
	text = strings.TrimPrefix(text, "\ufeff")
	if dir == "." {
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		return text
	}
	prefix := "/" + escapeGlob(dir) + "/"
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		line = trimTrailing(strings.TrimSuffix(line, "\r"))
		if line == "" || line[0] == '#' {
			continue
		}
		if rest, ok := strings.CutPrefix(line, "!"); ok {
			b.WriteByte('!')
			line = rest
		}
		if line == "" || line == "/" {
			// "!" alone or "/" alone match nothing; keep the file's order plain
			b.WriteString("/\n")
			continue
		}
		b.WriteString(prefix)
		switch body := strings.TrimSuffix(line, "/"); {
		case strings.HasPrefix(line, "/"):
			b.WriteString(line[1:])
		case strings.Contains(body, "/"):
			b.WriteString(line)
		default:
			b.WriteString("**/" + line)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// trimTrailing drops spaces at the end that no backslash keeps.
func trimTrailing(s string) string {
	end := len(s)
	for end > 0 && s[end-1] == ' ' {
		slashes := 0
		for i := end - 2; i >= 0 && s[i] == '\\'; i-- {
			slashes++
		}
		if slashes%2 == 1 {
			break
		}
		end--
	}
	return s[:end]
}

var globEscaper = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)

// escapeGlob makes a folder's name match itself only.
func escapeGlob(s string) string { return globEscaper.Replace(s) }
