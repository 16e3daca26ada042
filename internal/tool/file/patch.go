package file

import (
	"fmt"
	"slices"
	"strings"
)

// The form of a patch is the one that GPT models were trained on: files in sections, and in
// an updated file hunks of lines, each of them kept (' '), taken out ('-') or put in ('+').
// A hunk has no numbers: it stands where its kept and taken lines stand, behind the line
// that follows its @@, where there is one.

// section is what a patch does to one file.
type section struct {
	verb  string // Add, Update, Delete
	path  string
	to    string // where the file goes, of an update; empty: it stays
	text  string // of a new file
	hunks []hunk
}

// hunk is one change of a file.
type hunk struct {
	n      int      // among those of the file, from 1
	behind []string // lines that come before it, in order
	lines  []string // each with its mark
	atEnd  bool
}

// old are the lines that a hunk finds.
func (h hunk) old() (out []string) {
	for _, l := range h.lines {
		if l[0] != '+' {
			out = append(out, l[1:])
		}
	}
	return out
}

const (
	beginPatch = "*** Begin Patch"
	endPatch   = "*** End Patch"
	endOfFile  = "*** End of File"
	moveTo     = "*** Move to: "
)

// patchLines are the lines between the marks of a patch. What models put around them, such
// as a fence or a here-document, is let go.
func patchLines(text string) ([]string, error) {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	trimmed := func(l string) string { return strings.TrimSpace(l) }
	first := slices.IndexFunc(lines, func(l string) bool { return trimmed(l) == beginPatch })
	if first < 0 {
		return nil, fmt.Errorf("the patch has no line %q", beginPatch)
	}
	lines = lines[first+1:]
	last := slices.IndexFunc(lines, func(l string) bool { return trimmed(l) == endPatch })
	if last < 0 {
		return nil, fmt.Errorf("the patch has no line %q: it broke off", endPatch)
	}
	return lines[:last], nil
}

// readPatch reads a patch.
func readPatch(text string) (all []section, err error) {
	lines, err := patchLines(text)
	if err != nil {
		return nil, err
	}
	for at := 0; at < len(lines); {
		if strings.TrimSpace(lines[at]) == "" {
			at++
			continue
		}
		verb, path, ok := heading(lines[at])
		if !ok {
			return nil, fmt.Errorf("line %d of the patch is %q; want *** Add File: PATH, *** Update File: PATH or *** Delete File: PATH", at+2, clip(lines[at], 80))
		}
		end := at + 1
		for end < len(lines) && !opens(lines[end]) {
			end++
		}
		s := section{verb: verb, path: path}
		if err := s.read(lines[at+1 : end]); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if slices.ContainsFunc(all, func(o section) bool { return o.path == s.path }) {
			return nil, fmt.Errorf("%s occurs twice; put all of its hunks into one section", path)
		}
		all, at = append(all, s), end
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("the patch changes no file")
	}
	return all, nil
}

// heading is the first line of a section.
func heading(line string) (verb, path string, ok bool) {
	rest, ok := strings.CutPrefix(line, "*** ")
	if !ok {
		return "", "", false
	}
	for _, verb := range []string{"Add", "Update", "Delete"} {
		if path, ok := strings.CutPrefix(rest, verb+" File: "); ok {
			return verb, strings.TrimSpace(path), strings.TrimSpace(path) != ""
		}
	}
	return "", "", false
}

func opens(line string) bool {
	_, _, ok := heading(line)
	return ok
}

// read reads what follows the heading.
func (s *section) read(lines []string) error {
	switch s.verb {
	case "Delete":
		if slices.ContainsFunc(lines, func(l string) bool { return strings.TrimSpace(l) != "" }) {
			return fmt.Errorf("lines follow *** Delete File")
		}
		return nil
	case "Add":
		var b strings.Builder
		for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
			lines = lines[:len(lines)-1]
		}
		for i, l := range lines {
			if !strings.HasPrefix(l, "+") {
				return fmt.Errorf("line %d of the new file begins with no +: %q", i+1, clip(l, 80))
			}
			b.WriteString(l[1:] + "\n")
		}
		s.text = b.String()
		return nil
	}
	if len(lines) > 0 {
		if to, ok := strings.CutPrefix(lines[0], moveTo); ok {
			s.to, lines = strings.TrimSpace(to), lines[1:]
		}
	}
	if err := s.readHunks(lines); err != nil {
		return err
	}
	if len(s.hunks) == 0 && s.to == "" {
		return fmt.Errorf("the section has no hunk")
	}
	return nil
}

// readHunks reads those of an updated file.
func (s *section) readHunks(lines []string) error {
	h := hunk{n: 1}
	next := func() error {
		if len(h.lines) > 0 {
			if !slices.ContainsFunc(h.lines, func(l string) bool { return l[0] != ' ' }) {
				return fmt.Errorf("hunk %d changes nothing: it has no line with - or +", h.n)
			}
			s.hunks = append(s.hunks, h)
			h = hunk{n: h.n + 1}
		}
		return nil
	}
	for _, l := range lines {
		switch {
		case l == "@@" || strings.HasPrefix(l, "@@ "):
			if err := next(); err != nil {
				return err
			}
			if behind := anchor(l); behind != "" {
				h.behind = append(h.behind, behind)
			}
		case strings.TrimSpace(l) == endOfFile:
			h.atEnd = true
		case l == "":
			h.lines = append(h.lines, " ") // models leave the blank of an empty line out
		case strings.ContainsRune(" +-", rune(l[0])):
			h.lines = append(h.lines, l)
		default:
			return fmt.Errorf("hunk %d: a line begins with none of ' ', - and +: %q", h.n, clip(l, 80))
		}
	}
	// A blank line before the next section belongs to neither.
	for len(h.lines) > 0 && h.lines[len(h.lines)-1] == " " && lines[len(lines)-1] == "" {
		h.lines, lines = h.lines[:len(h.lines)-1], lines[:len(lines)-1]
	}
	return next()
}

// anchor is the line that an @@ names; the numbers of a unified diff name none.
func anchor(l string) string {
	l = strings.TrimSpace(strings.TrimPrefix(l, "@@"))
	if strings.HasPrefix(l, "-") && strings.Contains(l, "@@") {
		_, l, _ = strings.Cut(l, "@@")
	}
	return strings.TrimSpace(strings.TrimSuffix(l, "@@"))
}

// apply changes the content of a file by the hunks, in order.
func (s section) apply(content string) (string, error) {
	cr := crlf(content)
	if cr {
		content = strings.ReplaceAll(content, "\r\n", "\n")
	}
	lines := strings.Split(content, "\n")
	ended := lines[len(lines)-1] == ""
	if ended {
		lines = lines[:len(lines)-1]
	}
	var out []string
	done := 0 // lines of the file that are behind us
	for _, h := range s.hunks {
		at, err := h.place(lines, done)
		if err != nil {
			return "", fmt.Errorf("hunk %d of %d: %w", h.n, len(s.hunks), err)
		}
		out = append(out, lines[done:at]...)
		done = at
		for _, l := range h.lines {
			switch l[0] {
			case '+':
				out = append(out, l[1:])
			case ' ':
				out = append(out, lines[done]) // as it stands, whatever its blanks are in the patch
				done++
			default:
				done++
			}
		}
	}
	text := strings.Join(append(out, lines[done:]...), "\n")
	if (ended || content == "") && text != "" {
		text += "\n"
	}
	if cr {
		text = toCRLF(text)
	}
	return text, nil
}

// place is the line, from 0, at which a hunk stands, at or behind from.
func (h hunk) place(lines []string, from int) (int, error) {
	for _, b := range h.behind {
		i := slices.IndexFunc(lines[from:], func(l string) bool { return strings.TrimSpace(l) == b })
		if i < 0 {
			i = slices.IndexFunc(lines[from:], func(l string) bool { return strings.Contains(l, b) })
		}
		if i < 0 {
			return 0, fmt.Errorf("the line %q of its @@ does not occur behind line %d", clip(b, 120), from)
		}
		from += i + 1
	}
	old := h.old()
	if len(old) == 0 {
		if len(h.behind) > 0 && !h.atEnd {
			return from, nil
		}
		return len(lines), nil
	}
	for _, same := range []func(a, b string) bool{
		func(a, b string) bool { return a == b },
		func(a, b string) bool { return strings.TrimRight(a, " \t") == strings.TrimRight(b, " \t") },
		func(a, b string) bool { return strings.TrimSpace(a) == strings.TrimSpace(b) },
	} {
		found := h.places(lines, old, from, same)
		switch {
		case len(found) == 1, len(found) > 1 && len(h.behind) > 0:
			return found[0], nil
		case len(found) > 1:
			return 0, fmt.Errorf("its lines occur %d times, at lines %s; put more of the lines around into it, or name the line before by @@", len(found), numbers(found))
		}
	}
	return 0, h.missing(lines, old, from)
}

// places are the lines at which a hunk may stand.
func (h hunk) places(lines, old []string, from int, same func(a, b string) bool) (found []int) {
	for i := from; i+len(old) <= len(lines); i++ {
		if h.atEnd && i+len(old) != len(lines) {
			continue
		}
		if slices.EqualFunc(lines[i:i+len(old)], old, same) {
			found = append(found, i)
		}
	}
	return found
}

func numbers(places []int) string {
	var out []string
	for _, p := range places[:min(10, len(places))] {
		out = append(out, fmt.Sprint(p+1))
	}
	if len(places) > 10 {
		out = append(out, "...")
	}
	return strings.Join(out, ", ")
}

// missing says that the lines of a hunk are not there, and what is nearest to them.
func (h hunk) missing(lines, old []string, from int) error {
	what := "its lines with - and ' ' do not occur in the file"
	if from > 0 {
		what = fmt.Sprintf("its lines with - and ' ' do not occur behind line %d", from)
	}
	content := strings.Join(lines, "\n")
	line, same, of := nearest(content, strings.Join(old, "\n"))
	if line == 0 {
		return fmt.Errorf("%s; read the place again", what)
	}
	hint := ""
	if line <= from {
		hint = ", which is before: hunks stand in the order of the file"
	}
	return fmt.Errorf("%s; the nearest place, %d of %d lines the same, is at line %d%s:\n%s", what, same, of, line, hint, excerpt(content, line, of))
}
