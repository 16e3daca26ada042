// Package mutation takes a change apart, as mutation testing does: it puts a switch
// before each function that the change touches, by which an environment variable
// takes it out, gives functions back the bodies that they had, and gives constants
// other values. What the tests say of such a mutant tells what they hold. It runs
// nothing.
package mutation

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"agency/internal/code"
	"agency/internal/languages"
	"agency/internal/regexp"
)

// File is a changed source of the product.
type File struct {
	Path          string
	Before, After []byte // Before is nil where the file is new
	// Added are the lines of After that the change adds, CutAt those behind which
	// old ones are gone.
	Added, CutAt []int
}

// Function is a function of the product that the change touches.
type Function struct {
	ID    string // by which its switch knows it
	Path  string
	Lines []int // changed lines of code in it
	// Existed: the base has a function of this name in the file; Dynamic: its
	// language writes no types of results; Maybe: its result may be missing.
	Existed, Dynamic, Maybe bool
}

// Switches are those that were put into the files of a change.
type Switches struct {
	Env        string // the environment variable that decides
	Functions  []Function
	Loose      int // changed lines of code outside of all functions, and of data
	LooseLines map[string][]int
	syntax     *code.Engine
	named      int // functions that got an id
}

// NewSwitches puts switches on an environment variable.
func NewSwitches(syntax *code.Engine, env string) *Switches {
	return &Switches{Env: env, LooseLines: map[string][]int{}, syntax: syntax}
}

// Put puts the switches into one file; nil where none is to be put, or the file
// cannot be read.
func (s *Switches) Put(ctx context.Context, f File) ([]byte, error) {
	fns, _, err := s.syntax.Functions(ctx, f.Path, f.After)
	if err != nil {
		return nil, code.Skip(err)
	}
	own, err := s.touched(ctx, f, fns)
	if err != nil {
		return nil, code.Skip(err)
	}
	was, err := s.names(ctx, f)
	if err != nil {
		return nil, err
	}
	var picked []code.SwitchedFunction
	forms := languages.Of(f.Path).Source.Forms
	for i, fn := range fns {
		if lines, ok := own[i]; ok && !fn.Test {
			s.named++
			id := fmt.Sprint(s.named)
			s.Functions = append(s.Functions, Function{
				ID: id, Path: f.Path, Lines: lines, Existed: was[fn.Name],
				Dynamic: forms.Untyped, Maybe: forms.Maybe.In(string(f.After[fn.Start:fn.BodyStart])),
			})
			picked = append(picked, code.SwitchedFunction{Function: fn, ID: id})
		}
	}
	if len(picked) == 0 {
		return nil, nil
	}
	out, err := s.syntax.Switch(ctx, f.Path, f.After, picked, s.Env)
	if err != nil {
		s.Functions = s.Functions[:len(s.Functions)-len(picked)]
		return nil, code.Skip(err)
	}
	s.Functions = slices.DeleteFunc(s.Functions, func(fn Function) bool {
		return slices.ContainsFunc(out.Skipped, func(skipped code.Skipped) bool { return skipped.ID == fn.ID })
	})
	return out.Source, nil
}

// touched are the changed lines of code of each function that the change touches,
// by its index. Those outside of all are noted.
func (s *Switches) touched(ctx context.Context, f File, fns []code.Function) (map[int][]int, error) {
	hold, err := s.syntax.CodeLines(ctx, f.Path, f.After)
	if err != nil {
		return nil, err
	}
	isCode := map[int]bool{}
	for _, n := range hold {
		isCode[n] = true
	}
	own := map[int][]int{}
	for _, n := range f.Added {
		switch at := innermost(fns, n); {
		case at >= 0 && isCode[n]:
			own[at] = append(own[at], n)
		case at >= 0 && own[at] == nil && says(f.After, n): // its head
			own[at] = []int{}
		case at >= 0:
		case says(f.After, n):
			s.Loose++
			s.LooseLines[f.Path] = append(s.LooseLines[f.Path], n)
		}
	}
	for _, n := range f.CutAt {
		if at := innermost(fns, n); at >= 0 && n+1 <= fns[at].ToLine && own[at] == nil {
			own[at] = []int{}
		}
	}
	return own, nil
}

// names are those of a file's functions on the base.
func (s *Switches) names(ctx context.Context, f File) (map[string]bool, error) {
	if f.Before == nil {
		return nil, nil
	}
	fns, _, err := s.syntax.Functions(ctx, f.Path, f.Before)
	out := map[string]bool{}
	for _, fn := range fns {
		out[fn.Name] = true
	}
	return out, code.Skip(err)
}

// innermost is the index of the smallest function that holds a line; -1 where
// none does.
func innermost(fns []code.Function, line int) int {
	best := -1
	for i, f := range fns {
		if f.FromLine <= line && line <= f.ToLine && (best < 0 || f.End-f.Start < fns[best].End-fns[best].Start) {
			best = i
		}
	}
	return best
}

// says tells whether a line outside of functions says anything: it is no
// comment, no import, no bracket.
func says(src []byte, line int) bool {
	at := 0
	for text := range strings.Lines(string(src)) {
		if at++; at < line {
			continue
		}
		text = strings.TrimSpace(text)
		for _, idle := range []string{"//", "#", "/*", "*", "import ", "from ", "use ", "package ", "mod ", "module.exports", "export {", "__all__", `"`} {
			if strings.HasPrefix(text, idle) {
				return false
			}
		}
		return strings.ContainsFunc(text, func(r rune) bool {
			return r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		})
	}
	return false
}

// OldBodies is a source in which the functions that it had before under the same
// head do what they did; nil where there is none.
func OldBodies(ctx context.Context, syntax *code.Engine, p string, before, after []byte) ([]byte, error) {
	if before == nil {
		return nil, nil
	}
	old, _, err := syntax.Functions(ctx, p, before)
	if err != nil {
		return nil, code.Skip(err)
	}
	now, _, err := syntax.Functions(ctx, p, after)
	if err != nil {
		return nil, code.Skip(err)
	}
	bodies := map[string]string{} // by name and head
	for _, fn := range old {
		bodies[fn.Name+"\x00"+head(before, fn)] = string(before[fn.BodyStart:fn.BodyEnd])
	}
	var out bytes.Buffer
	at := 0
	for _, fn := range now {
		body, ok := bodies[fn.Name+"\x00"+head(after, fn)]
		if !ok || fn.BodyStart < at || body == string(after[fn.BodyStart:fn.BodyEnd]) {
			continue
		}
		out.Write(after[at:fn.BodyStart])
		out.WriteString(body)
		at = fn.BodyEnd
	}
	if at == 0 {
		return nil, nil
	}
	out.Write(after[at:])
	if code.LanguageOf(p) == code.Go {
		return unusedImports(out.Bytes()), nil
	}
	return out.Bytes(), nil
}

func head(src []byte, fn code.Function) string {
	return strings.Join(strings.Fields(string(src[fn.Start:fn.BodyStart])), " ")
}

var importLine = regexp.MustCompile(`(?m)^(\s*(?:import\s+)?)("(?:[^"/]+/)*([^"/]+)")\s*$`)

// unusedImports lets the imports stand that only the new bodies used.
func unusedImports(src []byte) []byte {
	return importLine.ReplaceAllFunc(src, func(line []byte) []byte {
		m := importLine.FindSubmatch(line)
		if bytes.Contains(src, append(bytes.Clone(m[3]), '.')) {
			return line
		}
		return bytes.Join([][]byte{m[1], []byte("_ "), m[2]}, nil)
	})
}

var literal = regexp.MustCompile(`"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|\b\d+(?:\.\d+)?\b|\b(?:true|false|True|False)\b`)

// OtherValues is a source in which the literals of these lines are others. Tags
// and imports stay as they are.
func OtherValues(src []byte, lines []int) []byte {
	at := 0
	var out bytes.Buffer
	for line := range strings.Lines(string(src)) {
		if at++; slices.Contains(lines, at) && !strings.Contains(line, "import") && !strings.Contains(line, "require(") {
			line = literal.ReplaceAllStringFunc(line, otherValue)
		}
		out.WriteString(line)
	}
	return out.Bytes()
}

func otherValue(text string) string {
	truths := map[string]string{"true": "false", "false": "true", "True": "False", "False": "True"}
	switch {
	case truths[text] != "":
		return truths[text]
	case text[0] == '"' || text[0] == '\'' && len(text) > 3: // a rune stays
		return text[:len(text)-1] + "~" + text[len(text)-1:]
	case text[0] == '\'':
		return text
	case strings.Contains(text, "."):
		return text + "1"
	}
	return text[:len(text)-1] + string('0'+(text[len(text)-1]-'0'+1)%10)
}
