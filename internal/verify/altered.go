package verify

import (
	"bytes"
	"context"
	"regexp"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/code"
	"agency/internal/git"
)

// Some tests cannot be run on the base's product, for a name that they or their
// neighbours use is not there. They are run on the claim with less of the change
// in it: its old functions as they were, or its constants other than they are.

// onOldBodies runs tests that did not build on the base's product on a claim in
// which the functions that were there before do what they did.
func (w *weighing) onOldBodies(ctx context.Context) error {
	open := slices.DeleteFunc(slices.Clone(w.open), func(t string) bool { return w.shown[t] })
	if len(open) == 0 || !w.f.sides.changesProduct() {
		return nil
	}
	set, err := w.j.altered(ctx, w.f, func(ctx context.Context, c git.Change, before, after []byte) ([]byte, error) {
		return w.j.oldBodies(ctx, c.Path, before, after)
	})
	if err != nil || len(set) == 0 {
		return err
	}
	s, err := w.onAltered(ctx, check.StageOldBodies, set, open)
	if err != nil {
		return err
	}
	for _, t := range open {
		if s.tests[t] == agency.TestFailed && !lacksName(s.receipt, t) {
			w.shown[t] = true
		}
	}
	return nil
}

// onOtherValues runs tests that no function decides on a claim whose changed
// constants and tables hold other values.
func (w *weighing) onOtherValues(ctx context.Context) error {
	open := slices.DeleteFunc(slices.Clone(w.open), w.f.readsSource)
	if len(open) == 0 || len(w.loose) == 0 {
		return nil
	}
	set, err := w.j.altered(ctx, w.f, func(_ context.Context, c git.Change, _, after []byte) ([]byte, error) {
		return otherValues(after, w.loose[c.Path]), nil
	})
	if err != nil || len(set) == 0 {
		return err
	}
	s, err := w.onAltered(ctx, check.StageOtherValues, set, open)
	if err != nil {
		return err
	}
	w.settle(func(t string, v *agency.TestWorth) bool {
		if s.tests[t] != agency.TestFailed || lacksName(s.receipt, t) || !w.f.failsByAssertion(s, t) || !slices.Contains(open, t) {
			return false
		}
		if v.Ground = agency.GroundCut; w.shown[t] {
			v.Ground = agency.GroundFails
		}
		return true
	})
	return nil
}

// altered are the sources of the product that the change touches, other than
// the claim has them.
func (j *job) altered(ctx context.Context, f *facts, alter func(ctx context.Context, c git.Change, before, after []byte) ([]byte, error)) (set []git.Entry, err error) {
	for _, c := range slices.Concat(f.sides.product, f.sides.inner) {
		if c.Status == 'D' || !regular(c.New.Mode) || code.LanguageOf(c.Path) == "" {
			continue
		}
		before, after, err := j.texts(ctx, c)
		if err != nil {
			return nil, err
		}
		text, err := alter(ctx, c, before, after)
		if err != nil {
			return nil, err
		}
		if text == nil || bytes.Equal(text, after) {
			continue
		}
		e, err := j.blob(ctx, c.Path, text)
		if err != nil {
			return nil, err
		}
		e.Mode = c.New.Mode
		set = append(set, e)
	}
	return set, nil
}

func (w *weighing) onAltered(ctx context.Context, stage check.Stage, set []git.Entry, tests []string) (suite, error) {
	tree, err := w.j.withEntries(ctx, w.j.task.claim, set)
	if err != nil {
		return suite{}, err
	}
	return w.j.trial(ctx, w.f, stage, tree, tests)
}

// oldBodies is a source of the claim in which the functions that the base has
// under the same head do what they did there.
func (j *job) oldBodies(ctx context.Context, p string, before, after []byte) ([]byte, error) {
	if before == nil {
		return nil, nil
	}
	old, _, err := j.v.o.Syntax.Functions(ctx, p, before)
	if err != nil {
		return nil, skipped(err)
	}
	now, _, err := j.v.o.Syntax.Functions(ctx, p, after)
	if err != nil {
		return nil, skipped(err)
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
	if languageOf(p) == golang {
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

// otherValues is a source in which the literals of these lines are others. Tags
// and imports stay as they are.
func otherValues(src []byte, lines []int) []byte {
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
	switch {
	case text == "true":
		return "false"
	case text == "false":
		return "true"
	case text == "True":
		return "False"
	case text == "False":
		return "True"
	case text[0] == '"' || text[0] == '\'' && len(text) > 3: // a rune stays
		return text[:len(text)-1] + "~" + text[len(text)-1:]
	case text[0] == '\'':
		return text
	case strings.Contains(text, "."):
		return text + "1"
	}
	return text[:len(text)-1] + string('0'+(text[len(text)-1]-'0'+1)%10)
}
