package verify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"agency/internal/agency"
	"agency/internal/code"
	"agency/internal/git"
)

// cutFunction is a function of the product that the change touches.
type cutFunction struct {
	id    string
	path  string
	lines []int // changed lines of code in it
	// existed: the base has a function of this name in the file; dynamic: its
	// language writes no types of results; maybe: its result may be missing.
	existed, dynamic, maybe bool
}

// cuts is the claim with a switch before each changed function, by which an
// environment variable takes it out.
type cuts struct {
	env        string
	tree       agency.OID
	fns        []cutFunction
	named      int // functions that got an id
	loose      int // changed lines of code outside of all functions, and of data
	looseLines map[string][]int
}

// changedCode finds the functions that the change touches and puts the switches
// in.
func (j *job) changedCode(ctx context.Context, f *facts) (cuts, error) {
	sum := sha256.Sum256([]byte(fmt.Sprintf("%s\x00%s\x00%s", j.task.Run, j.key, j.task.claim)))
	c := cuts{env: "V" + strings.ToUpper(hex.EncodeToString(sum[:8])), looseLines: map[string][]int{}}
	lines, err := j.changedLines(ctx)
	if err != nil {
		return c, err
	}
	var set []git.Entry
	for _, ch := range slices.Concat(f.sides.product, f.sides.inner) {
		if languageOf(ch.Path) == "" && !isDoc(ch.Path) && !isUnread(ch.Path) {
			c.loose++ // data of the product
		}
		if code.LanguageOf(ch.Path) == "" || ch.Status == 'D' || !regular(ch.New.Mode) {
			continue
		}
		_, src, err := j.texts(ctx, ch)
		if err != nil {
			return c, err
		}
		made, err := j.cutFile(ctx, &c, ch, src, lines)
		if err != nil {
			return c, err
		}
		set = append(set, made...)
	}
	if len(set) > 0 {
		c.tree, err = j.withEntries(ctx, j.task.claim, set)
	}
	return c, err
}

// cutFile puts the switches into one file.
func (j *job) cutFile(ctx context.Context, c *cuts, ch git.Change, src []byte, lines *changedLines) ([]git.Entry, error) {
	fns, _, err := j.v.o.Syntax.Functions(ctx, ch.Path, src)
	if err != nil {
		return nil, skipped(err)
	}
	hold, err := j.v.o.Syntax.CodeLines(ctx, ch.Path, src)
	if err != nil {
		return nil, skipped(err)
	}
	isCode := map[int]bool{}
	for _, n := range hold {
		isCode[n] = true
	}
	byFn := map[int][]int{}
	for _, n := range lines.of(ch.Path) {
		switch at := innermost(fns, n); {
		case at >= 0 && isCode[n]:
			byFn[at] = append(byFn[at], n)
		case at >= 0 && byFn[at] == nil && says(src, n): // its head
			byFn[at] = []int{}
		case at >= 0:
		case says(src, n):
			c.loose++
			c.looseLines[ch.Path] = append(c.looseLines[ch.Path], n)
		}
	}
	for _, n := range lines.cutAt[ch.Path] {
		if at := innermost(fns, n); at >= 0 && n+1 <= fns[at].ToLine && byFn[at] == nil {
			byFn[at] = []int{}
		}
	}
	was, err := j.functionNames(ctx, ch)
	if err != nil {
		return nil, err
	}
	var picked []code.SwitchedFunction
	for i, fn := range fns {
		if own, ok := byFn[i]; ok && !fn.Test {
			c.named++
			id := fmt.Sprint(c.named)
			c.fns = append(c.fns, cutFunction{
				id: id, path: ch.Path, lines: own, existed: was[fn.Name], dynamic: slices.Contains([]language{python, javascript}, languageOf(ch.Path)),
				maybe: maybeOf(languageOf(ch.Path), src[fn.Start:fn.BodyStart]),
			})
			picked = append(picked, code.SwitchedFunction{Function: fn, ID: id})
		}
	}
	if len(picked) == 0 {
		return nil, nil
	}
	out, err := j.v.o.Syntax.Switch(ctx, ch.Path, src, picked, c.env)
	if err != nil {
		c.fns = c.fns[:len(c.fns)-len(picked)]
		return nil, skipped(err)
	}
	c.fns = slices.DeleteFunc(c.fns, func(fn cutFunction) bool {
		return slices.ContainsFunc(out.Skipped, func(s code.Skipped) bool { return s.ID == fn.id })
	})
	e, err := j.blob(ctx, ch.Path, out.Source)
	e.Mode = ch.New.Mode
	return []git.Entry{e}, err
}

// mayBeMissing is how the head of a function says that there may be no result.
var mayBeMissing = sync.OnceValue(func() map[language]*regexp.Regexp {
	return map[language]*regexp.Regexp{
		golang: regexp.MustCompile(`,\s*(?:\w+\s+)?bool\s*\)\s*\{?\s*$`),
		rust:   regexp.MustCompile(`->\s*(?:\w+::)*(?:Option|Result)\s*<`),
		java:   regexp.MustCompile(`\bOptional(?:Int|Long|Double|\s*<[^()]*>)\s+\w+\s*\(`),
	}
})

func maybeOf(lang language, head []byte) bool {
	form := mayBeMissing()[lang]
	return form != nil && form.Match(head)
}

// functionNames are those of a changed file's functions on the base.
func (j *job) functionNames(ctx context.Context, ch git.Change) (map[string]bool, error) {
	before, _, err := j.texts(ctx, ch)
	if err != nil || before == nil {
		return nil, err
	}
	fns, _, err := j.v.o.Syntax.Functions(ctx, ch.Path, before)
	out := map[string]bool{}
	for _, fn := range fns {
		out[fn.Name] = true
	}
	return out, skipped(err)
}

// skipped lets a file that cannot be read take part in nothing.
func skipped(err error) error {
	for _, known := range []error{code.ErrLanguage, code.ErrTooLarge, code.ErrTooMuch} {
		if errors.Is(err, known) {
			return nil
		}
	}
	if git.IsTooLong(err) {
		return nil
	}
	return err
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
