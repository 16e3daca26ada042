package file

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"agency/internal/agency"
	"agency/internal/tool"
)

type searchFilesArgs struct {
	Pattern    string `json:"pattern" jsonschema_description:"Regular expression in RE2 syntax, matched against each line. (?i) ignores case."`
	Path       string `json:"path,omitempty" jsonschema_description:"Folder or file to search; the whole repository where absent."`
	Glob       string `json:"glob,omitempty" jsonschema_description:"Only files whose path or name matches, for instance *.go or internal/**/*_test.go."`
	MaxResults int    `json:"max_results,omitempty" jsonschema:"minimum=1,maximum=1000" jsonschema_description:"Most lines to show; 100 where absent."`
}

const (
	defaultResults = 100
	mostResults    = 1000
	// maxSearched is the largest file that is searched.
	maxSearched = 4 << 20
)

func searchFiles() tool.Tool {
	return tool.Define(texts, "search_files", tool.Read, func(ctx context.Context, env *tool.Env, a searchFilesArgs) (tool.Result, error) {
		if len(a.Pattern) > 1000 {
			return tool.Refuse("the pattern is too long: the most is 1000 letters"), nil
		}
		re, err := regexp.Compile(a.Pattern)
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
		if a.MaxResults == 0 {
			a.MaxResults = defaultResults
		}
		s := search{files: env.Files, hide: env.Hide, re: re, glob: glob, most: a.MaxResults}
		err = s.from(ctx, a.Path)
		return s.result(), err
	})
}

type search struct {
	files   *tool.Files
	hide    func(string) string
	re      *regexp.Regexp
	glob    func(string) bool
	most    int
	b       strings.Builder
	hits    int
	inFiles int
	skipped int // files too large to search
}

var errEnough = errors.New("enough")

func (s *search) from(ctx context.Context, p string) error {
	rel, info, err := s.files.Stat(p)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		err = s.file(rel, info)
	} else {
		err = fs.WalkDir(s.files.FS(), rel, func(p string, d fs.DirEntry, err error) error {
			if ctx.Err() != nil {
				return ctx.Err()
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
	return s.file(p, info)
}

func (s *search) file(rel string, info fs.FileInfo) error {
	if info.Size() > maxSearched {
		s.skipped++
		return nil
	}
	data, err := s.files.ReadAll(rel)
	if err != nil || tool.Binary(data) {
		return nil // unreadable is as good as no match
	}
	if !strings.ContainsAny(s.re.String(), `^$\\`) && !s.re.Match(data) {
		return nil // one match over the whole is cheaper than one a line
	}
	n, found := 0, false
	for line := range bytes.Lines(data) {
		n++
		line = bytes.TrimRight(line, "\r\n")
		if !s.re.Match(line) {
			continue
		}
		if s.hits == s.most || s.b.Len() > tool.MaxResult-1024 {
			s.hits = s.most
			fmt.Fprintf(&s.b, "[more lines match; narrow the pattern, the path or the glob]\n")
			return errEnough
		}
		s.hits++
		found = true
		fmt.Fprintf(&s.b, "%s:%d:%s\n", tool.Printable(rel), n, clip(s.hide(string(line)), 300))
	}
	if found {
		s.inFiles++
	}
	return nil
}

func (s *search) result() tool.Result {
	note := ""
	if s.skipped > 0 {
		note = fmt.Sprintf("[%s not searched: over %s]\n", agency.Things(s.skipped, "file was", "files were"), tool.Size(maxSearched))
	}
	if s.hits == 0 {
		return tool.OK("no line matches\n" + note)
	}
	return tool.OK(s.b.String() + note)
}

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
