package verify

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/code/marks"
)

// handedIn names what the tests of the run hand to the changed product so that it
// does right under them alone: a state that it reads beside its arguments, another
// function in the place of one of its own, a class that does its work. And it
// names a function that only says that it is not there, where that is what they
// expect. What the criteria speak of is asked for.
func handedIn(files []source, read map[string]sidesOfFile, criteria []agency.Criterion) (out []agency.Weakening) {
	asked := ""
	for _, c := range criteria {
		asked += c.Text + "\n"
	}
	for _, f := range files {
		both, ok := read[f.path]
		if !ok || f.test || matterOf(f.path) != ofProduct {
			continue
		}
		h := handing{file: f, was: both.before.State, now: both.after.State, asked: asked}
		for _, t := range files {
			if tests, ok := read[t.path]; ok && (t.test || matterOf(t.path) != ofProduct) && t.lang == f.lang {
				h.from(t, tests.after.State)
			}
		}
		if len(h.said) > 0 {
			slices.Sort(h.said)
			out = append(out, agency.Weakening{Kind: agency.WeakForging, Name: f.path, Detail: strings.Join(slices.Compact(h.said), "; ")})
		}
	}
	return out
}

// handing is what one file of the product is handed.
type handing struct {
	file     source
	was, now marks.State
	asked    string
	said     []string
}

func (h *handing) say(format string, args ...any) {
	h.said = append(h.said, fmt.Sprintf(format, args...))
}

// from takes the tests of one file.
func (h *handing) from(f source, tests marks.State) {
	for _, r := range h.now.Reads {
		if slices.ContainsFunc(h.was.Reads, func(o marks.Place) bool { return o.Name == r.Name }) || h.isAsked(r.Name) {
			continue
		}
		name, isFile := strings.CutPrefix(r.Name, "the file ")
		if isFile && slices.ContainsFunc(tests.Texts, func(t string) bool { return t == name || path.Base(t) == name }) || sets(tests, r.Name) {
			h.say("reads %s, %s:%d, which the tests of this run set", r.Name, h.file.path, r.Line)
		}
	}
	for _, r := range tests.Replaces {
		if name, ok := h.own(f.path, r.Name); ok && (slices.Contains(h.now.Defines, name) || name == "*" && len(h.now.Defines) > 0) {
			h.say("the tests put something else in the place of %s, %s:%d", replaced(name, h.file.path), f.path, r.Line)
		}
	}
	for _, r := range tests.Overrides {
		if name, ok := h.own(f.path, r.Name); ok && slices.Contains(h.now.Defines, name) && slices.Contains(h.now.Calls, name) {
			h.say("a class of the tests does the work of %s, %s:%d", name, f.path, r.Line)
		}
	}
	for _, s := range h.now.Stubs {
		short := s.Name[strings.LastIndexByte(s.Name, '.')+1:]
		before := slices.ContainsFunc(h.was.Stubs, func(o marks.Place) bool { return o.Name == s.Name })
		if !before && tests.Refusals && !h.isAsked("implement") && callsPlainly(strings.ReplaceAll(string(f.after), ".", " "), short) {
			h.say("%s only says that it is not implemented, %s:%d, and the tests expect that", s.Name, h.file.path, s.Line)
		}
	}
	for _, s := range h.now.Hollow {
		before := slices.ContainsFunc(h.was.Hollow, func(o marks.Place) bool { return o.Name == s.Name })
		if !before && callsPlainly(strings.ReplaceAll(string(f.after), ".", " "), s.Name) {
			h.say("%s gives the same whatever it is given, %s:%d", s.Name, h.file.path, s.Line)
		}
	}
}

func replaced(name, file string) string {
	if name == "*" {
		return "the whole of " + path.Base(file)
	}
	return name
}

// ofTime is how a criterion speaks of the clock.
var ofTime = regexp.MustCompile(`(?i)\b(?:times?|clock|dates?|days?|daily|today|yesterday|tomorrow|hours?|hourly|minutes?|seconds?|weeks?|weekdays?|weekends?|months?|years?|night|morning|noon|evening|midnight|now|ago|old|age|ends?|ended|expir\w*|valid|until|since|before|after|season\w*|schedul\w*|deadline|due|overdue|late|later|recent\w*|[12]\d{3})\b`)

// isAsked tells whether the criteria speak of a name or of its last part.
func (h *handing) isAsked(name string) bool {
	if name == marks.Clock {
		return ofTime.MatchString(h.asked)
	}
	last := name[strings.LastIndexAny(name, " .")+1:]
	return last != "" && strings.Contains(h.asked, last)
}

// sets tells whether tests change what a product reads; a member of its own
// function by its own name, whatever the test calls the function.
func sets(tests marks.State, name string) bool {
	return slices.ContainsFunc(tests.Sets, func(p marks.Place) bool {
		if p.Name == name {
			return true
		}
		if strings.Contains(name, " ") {
			return false
		}
		_, member, ok := strings.Cut(name, ".")
		if !ok { // of all code
			return p.Name == "globalThis."+name || p.Name == "global."+name || p.Name == "window."+name || p.Name == name
		}
		return p.Name[strings.LastIndexByte(p.Name, '.')+1:] == member && strings.Contains("."+p.Name, "."+name)
	})
}

// own is the name within the file of what tests know by the module's; false
// where it is another module's.
func (h *handing) own(test, full string) (string, bool) {
	if h.file.lang == javascript {
		if !strings.HasPrefix(full, ".") {
			return "", false
		}
		at := path.Join(path.Dir(test), full)
		for _, stem := range []string{h.file.path, strings.TrimSuffix(h.file.path, path.Ext(h.file.path)), path.Dir(h.file.path)} {
			if rest, ok := strings.CutPrefix(at, stem+"."); ok && !strings.Contains(rest, "/") {
				return rest, true
			}
		}
		return "", false
	}
	module := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(h.file.path, ".py"), "/__init__"), ".pyi")
	for _, root := range []string{"src/", "lib/", "python/", ""} {
		name := strings.ReplaceAll(strings.TrimPrefix(module, root), "/", ".")
		if rest, ok := strings.CutPrefix(full, name+"."); ok {
			return rest, true
		}
	}
	return "", false
}
