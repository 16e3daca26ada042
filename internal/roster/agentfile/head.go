package agentfile

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"agency/internal/agency"
	"agency/internal/config"
)

// reading is a file, and what faults need of it later.
type reading struct {
	file File
	doc  *config.Document
	// at is where a field stands: "handoff", "advisors[1]", "tools.read_file".
	at map[string]place
	// seen are the lines of the fields so far, by their own names.
	seen map[string]int
	// loose tells that the description stood without the quotes that YAML wants.
	loose bool
}

type place struct{ line, col int }

// read reads a file; what is wrong in it is in the reading's document. The error is
// ErrNoFrontmatter alone.
func read(path string, raw []byte) (*reading, error) {
	r := &reading{at: map[string]place{}, seen: map[string]int{}}
	r.file = File{Path: path, Input: Markdown, Output: Markdown}
	raw = bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))
	first, _, _ := bytes.Cut(raw, []byte("\n"))
	if !isFence(string(first)) {
		return nil, &agency.Error{Kind: agency.KindInvalid, Err: pathError{path, ErrNoFrontmatter}}
	}
	shown := shownPath(path)
	if len(raw) > maxFile {
		r.doc = config.ReadDocument(config.Source{Path: shown}, nil, "")
		r.doc.Fault(0, 0, "the file has %d bytes, more than 256 KiB", len(raw))
		return r, nil
	}
	all := strings.ReplaceAll(string(raw), "\r\n", "\n")
	head, body, ended := split(all)
	src := config.Source{Path: shown}
	if line, col, bad := notText(all); bad != "" {
		r.doc = config.ReadDocument(src, strings.Split(all, "\n"), "")
		r.doc.Fault(line, col, "%s", bad)
		return r, nil
	}
	if !ended {
		r.doc = config.ReadDocument(src, head[:1], "")
		r.doc.Fault(1, 1, "the frontmatter has no end: want a second line of ---")
		return r, nil
	}
	src.Data = []byte(strings.Join(r.quoted(head[:len(head)-1]), "\n"))
	r.doc = config.ReadDocument(src, head, "name: reviewer")
	r.file.Body = strings.TrimRight(strings.TrimLeft(body, "\n"), " \t\n")
	r.fields()
	if strings.TrimSpace(r.file.Body) == "" {
		r.doc.Fault(len(head), 1, "the body is empty: write the agent's system prompt below this line")
	}
	return r, nil
}

// split parts the lines of the head, with both of ---, from the body. Only they are
// kept as lines: a body may be nothing but line ends.
func split(all string) (head []string, body string, ended bool) {
	for more := true; more; {
		var line string
		line, all, more = strings.Cut(all, "\n")
		head = append(head, line)
		if len(head) > 1 && isFence(line) {
			return head, all, true
		}
	}
	return head, "", false
}

// pathError is an error with the file that it is about.
type pathError struct {
	path string
	err  error
}

func (e pathError) Error() string { return shownPath(e.path) + ": " + e.err.Error() }
func (e pathError) Unwrap() error { return e.err }

func isFence(line string) bool { return strings.TrimRight(line, " \t\r") == "---" }

// notText finds what no prompt may hold.
func notText(s string) (line, col int, what string) {
	at := strings.IndexByte(s, 0)
	if what = "the control character U+0000"; !utf8.ValidString(s) {
		for i, c := range s {
			if i == at {
				break
			}
			if _, n := utf8.DecodeRuneInString(s[i:]); c == utf8.RuneError && n == 1 {
				at, what = i, "not UTF-8"
				break
			}
		}
	}
	if at < 0 {
		return 0, 0, ""
	}
	before := s[:at]
	return 1 + strings.Count(before, "\n"), 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]), what
}

// quoted puts the quotes around a description that public files leave out and YAML
// wants, as in "description: Reviews code. Triggers: a pull request". What is quoted
// is no YAML otherwise, so that no other meaning is lost.
func (r *reading) quoted(lines []string) []string {
	out := append([]string(nil), lines...)
	for i, l := range lines {
		key, value, ok := strings.Cut(l, ": ")
		value = strings.TrimSpace(value)
		if !ok || (key != "description" && key != "vibe") || value == "" || strings.ContainsAny(value[:1], `"'|>[{&*!#`) {
			continue
		}
		if !strings.Contains(value, ": ") && !strings.HasSuffix(value, ":") {
			continue
		}
		if i+1 < len(lines) && strings.HasPrefix(lines[i+1], " ") {
			continue // goes on below
		}
		before := l[:len(l)-len(strings.TrimLeft(l[len(key)+1:], " "))]
		out[i] = before + "'" + strings.ReplaceAll(value, "'", "''") + "'"
		r.loose = r.loose || key == "description"
	}
	return out
}
