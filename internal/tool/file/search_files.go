package file

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"agency/internal/agency"
	"agency/internal/tool"
)

type searchFilesArgs struct {
	Pattern    string `json:"pattern" jsonschema_description:"(?i) ignores case."`
	Path       string `json:"path,omitempty" jsonschema_description:"File or folder; all where absent."`
	Glob       string `json:"glob,omitempty" jsonschema_description:"Such as *.go or internal/**/*_test.go."`
	MaxResults int    `json:"max_results,omitempty" jsonschema:"minimum=1,maximum=1000" jsonschema_description:"100 where absent."`
	Context    int    `json:"context,omitempty" jsonschema:"minimum=0,maximum=20" jsonschema_description:"Lines around each match."`
	FilesOnly  bool   `json:"files_only,omitempty"`
	Multiline  bool   `json:"multiline,omitempty" jsonschema_description:"\\n is a line's end; (?s) lets . match it."`
}

const (
	defaultResults = 100
	mostResults    = 1000
	mostContext    = 20
	// maxSearched is the largest file that is searched; one that is named may be as large
	// as one that is read.
	maxSearched = 4 << 20
	// mostSpanned is how many lines of one match are shown.
	mostSpanned = 20
)

func searchFiles() tool.Tool {
	return tool.Define(texts, "search_files", tool.Read, func(ctx context.Context, env *tool.Env, a searchFilesArgs) (tool.Result, error) {
		if len(a.Pattern) > 1000 {
			return tool.Refuse("the pattern is too long: the most is 1000 letters"), nil
		}
		expr := a.Pattern
		if a.Multiline {
			expr = "(?m)" + expr
		}
		re, err := regexp.Compile(expr)
		if err != nil {
			return tool.Refuse("the pattern is no regular expression of RE2: " + strings.TrimPrefix(err.Error(), "error parsing regexp: ")), nil
		}
		glob, err := compileGlob(a.Glob)
		if err != nil {
			return tool.Refuse(err.Error()), nil
		}
		if a.MaxResults < 0 || a.MaxResults > mostResults {
			return tool.Refuse(fmt.Sprintf("max_results is 1 to %d", mostResults)), nil
		}
		if a.Context < 0 || a.Context > mostContext {
			return tool.Refuse(fmt.Sprintf("context is 0 to %d", mostContext)), nil
		}
		if a.MaxResults == 0 {
			a.MaxResults = defaultResults
		}
		s := search{files: env.Files, hide: env.Hide, re: re, glob: glob, args: a}
		err = s.from(ctx, a.Path)
		return s.result(), err
	})
}

type search struct {
	files   *tool.Files
	hide    func(string) string
	re      *regexp.Regexp
	glob    func(string) bool
	args    searchFilesArgs
	b       strings.Builder
	hits    int
	skipped int // files too large to search
}

var errEnough = errors.New("enough")

func (s *search) from(ctx context.Context, p string) error {
	rel, info, err := s.files.Stat(p)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		err = s.file(rel, info, tool.MaxFile)
	} else {
		err = fs.WalkDir(s.files.FS(), rel, func(p string, d fs.DirEntry, err error) error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if d != nil && d.IsDir() && p != rel && (p == tool.OutputDir || p == tool.StagedDir) {
				return fs.SkipDir // copies, and what commands said: only where they are asked for
			}
			return s.visit(p, d, err)
		})
	}
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

func (s *search) visit(p string, d fs.DirEntry, err error) error {
	switch {
	case err != nil && d != nil && d.IsDir():
		return fs.SkipDir // a folder that cannot be read hides nothing else
	case err != nil:
		return nil
	case p != "." && tool.GitName(d.Name()):
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	case !d.Type().IsRegular() || !s.glob(p):
		return nil
	}
	info, err := d.Info()
	if err != nil {
		return nil // it went away meanwhile
	}
	return s.file(p, info, maxSearched)
}

// span are the lines of a match, from 0, the last one included.
type span struct{ from, to int }

func (s *search) file(rel string, info fs.FileInfo, most int64) error {
	if info.Size() > most {
		s.skipped++
		return nil
	}
	data, err := s.files.ReadAll(rel)
	if err != nil || tool.Binary(data) {
		return nil // unreadable is as good as no match
	}
	// One more than there is room for tells that there are more.
	room := s.args.MaxResults - s.hits + 1
	if s.args.FilesOnly {
		room = 1
	}
	var found []span
	if s.args.Multiline {
		data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
		found = s.across(data, room)
	} else {
		found = s.inLines(data, room)
	}
	switch {
	case len(found) == 0:
		return nil
	case s.args.FilesOnly:
		if s.full() {
			return s.enough()
		}
		s.hits++
		fmt.Fprintln(&s.b, tool.Printable(rel))
		return nil
	}
	return s.show(tool.Printable(rel), data, found)
}

// inLines are the lines that match.
func (s *search) inLines(data []byte, most int) (found []span) {
	if !strings.ContainsAny(s.re.String(), `^$\\`) && !s.re.Match(data) {
		return nil // one match over the whole is cheaper than one a line
	}
	n := 0
	for line := range bytes.Lines(data) {
		if s.re.Match(bytes.TrimRight(line, "\r\n")) {
			if found = append(found, span{n, n}); len(found) == most {
				return found
			}
		}
		n++
	}
	return found
}

// across are the lines of matches that may go over several.
func (s *search) across(data []byte, most int) (found []span) {
	line, at := 0, 0
	for _, m := range s.re.FindAllIndex(data, most) {
		if m[0] >= len(data) && len(data) > 0 && data[len(data)-1] == '\n' {
			break // behind the last line there is none
		}
		line += bytes.Count(data[at:m[0]], []byte("\n"))
		at = m[0]
		to := line + bytes.Count(data[m[0]:max(m[0], m[1]-1)], []byte("\n")) // its last letter may be a line's end
		found = append(found, span{line, to})
	}
	return found
}

func (s *search) full() bool { return s.hits >= s.args.MaxResults || s.b.Len() > tool.MaxResult-2048 }

func (s *search) enough() error {
	s.b.WriteString("[more match; narrow the pattern, the path or the glob]\n")
	return errEnough
}

// show writes the matches of a file as file:line:text, what stands around them as
// file-line-text, and -- between what does not stand together.
func (s *search) show(name string, data []byte, found []span) error {
	lines := bytes.Split(data, []byte("\n"))
	if len(lines[len(lines)-1]) == 0 {
		lines = lines[:len(lines)-1]
	}
	next := 0 // the first line that is not written
	for i, f := range found {
		if s.full() {
			return s.enough()
		}
		s.hits++
		from := max(next, f.from-s.args.Context)
		if s.args.Context > 0 && s.b.Len() > 0 && (i == 0 || from > next) {
			s.b.WriteString("--\n")
		}
		to := f.to + s.args.Context
		if i+1 < len(found) {
			to = min(to, max(f.to, found[i+1].from-1)) // that one is no context
		}
		for n := from; n <= min(to, len(lines)-1); n++ {
			mark := "-"
			if f.from <= n && n <= f.to {
				mark = ":"
			}
			if n-f.from == mostSpanned && n < f.to {
				fmt.Fprintf(&s.b, "[... %d more lines of the match]\n", f.to-n+1)
				n = f.to
				continue
			}
			text := s.hide(strings.TrimRight(string(lines[n]), "\r"))
			fmt.Fprintf(&s.b, "%s%s%d%s%s\n", name, mark, n+1, mark, clip(text, 300))
		}
		next = max(next, min(to, len(lines)-1)+1)
	}
	return nil
}

func (s *search) result() tool.Result {
	note := ""
	if s.skipped > 0 {
		note = fmt.Sprintf("[%s not searched: over %s]\n", agency.Things(s.skipped, "file was", "files were"), tool.Size(maxSearched))
	}
	if s.hits == 0 {
		return tool.OK("nothing matches\n" + note)
	}
	return tool.OK(s.b.String() + note)
}
