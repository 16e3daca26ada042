package verify

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/awareness/symbols"
	"agency/internal/ecosystem"
	"agency/internal/languages"
	"agency/internal/regexp"
)

// handedIn names what the tests of the run hand to the changed product so that it
// does right under them alone: a state that it reads beside its arguments, another
// function in the place of one of its own, a class that does its work. And it
// names a function that only says that it is not there, where that is what they
// expect. What the criteria speak of is asked for.
func handedIn(files []source, read map[string]sidesOfFile, criteria []agency.Criterion) (out []agency.Weakening) {
	asked := saidBy(criteria)
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

// saidBy is all that criteria say.
func saidBy(criteria []agency.Criterion) (text string) {
	for _, c := range criteria {
		text += c.Text + "\n"
	}
	return text
}

// handing is what one file of the product is handed.
type handing struct {
	file     source
	was, now symbols.State
	asked    string
	said     []string
}

func (h *handing) say(format string, args ...any) {
	h.said = append(h.said, fmt.Sprintf(format, args...))
}

// from takes the tests of one file.
func (h *handing) from(f source, tests symbols.State) {
	own := languages.Of(h.file.path).Awareness.Modules.Member
	for _, r := range h.now.Reads {
		if has(h.was.Reads, r) || h.isAsked(r) {
			continue
		}
		if r.Kind == symbols.OfFile && slices.ContainsFunc(tests.Texts, func(t string) bool { return t == r.Name || path.Base(t) == r.Name }) || sets(tests, r) {
			h.say("reads %s, %s:%d, which the tests of this run set", r, h.file.path, r.Line)
		}
	}
	for _, r := range tests.Replaces {
		if name, ok := own(h.file.path, f.path, r.Name); ok && (slices.Contains(h.now.Defines, name) || name == "*" && len(h.now.Defines) > 0) {
			h.say("the tests put something else in the place of %s, %s:%d", replaced(name, h.file.path), f.path, r.Line)
		}
	}
	for _, r := range tests.Overrides {
		if name, ok := own(h.file.path, f.path, r.Name); ok && slices.Contains(h.now.Defines, name) && slices.Contains(h.now.Calls, name) {
			h.say("a class of the tests does the work of %s, %s:%d", name, f.path, r.Line)
		}
	}
	for _, s := range h.now.Stubs {
		short := s.Name[strings.LastIndexByte(s.Name, '.')+1:]
		if !has(h.was.Stubs, s) && tests.Refusals && !strings.Contains(h.asked, "implement") && callsPlainly(strings.ReplaceAll(string(f.after), ".", " "), short) {
			h.say("%s only says that it is not implemented, %s:%d, and the tests expect that", s.Name, h.file.path, s.Line)
		}
	}
	for _, s := range h.now.Hollow {
		if !has(h.was.Hollow, s) && callsPlainly(strings.ReplaceAll(string(f.after), ".", " "), s.Name) {
			h.say("%s gives the same whatever it is given, %s:%d", s.Name, h.file.path, s.Line)
		}
	}
}

// has tells whether places name the same, on whatever line.
func has(places []symbols.Place, as symbols.Place) bool {
	return slices.ContainsFunc(places, func(p symbols.Place) bool { return p.Kind == as.Kind && p.Name == as.Name })
}

func replaced(name, file string) string {
	if name == "*" {
		return "the whole of " + path.Base(file)
	}
	return name
}

// ofTime is how a criterion speaks of the clock.
var ofTime = regexp.MustCompile(`(?i)\b(?:times?|clock|dates?|days?|daily|today|yesterday|tomorrow|hours?|hourly|minutes?|seconds?|weeks?|weekdays?|weekends?|months?|years?|night|morning|noon|evening|midnight|now|ago|old|age|ends?|ended|expir\w*|valid|until|since|before|after|season\w*|schedul\w*|deadline|due|overdue|late|later|recent\w*|[12]\d{3})\b`)

// isAsked tells whether the criteria speak of what is read, or of the last part of
// its name.
func (h *handing) isAsked(p symbols.Place) bool {
	if p.Kind == symbols.OfTime {
		return ofTime.MatchString(h.asked)
	}
	name := p.String()
	last := name[strings.LastIndexAny(name, " .")+1:]
	return last != "" && strings.Contains(h.asked, last)
}

// sets tells whether tests change what a product reads; a member of its own
// function by its own name, whatever the test calls the function.
func sets(tests symbols.State, read symbols.Place) bool {
	if has(tests.Sets, read) || read.Kind != symbols.OfCode {
		return has(tests.Sets, read)
	}
	name := read.Name
	return slices.ContainsFunc(tests.Sets, func(p symbols.Place) bool {
		_, member, ok := strings.Cut(name, ".")
		if !ok { // of all code
			return p.Name == "globalThis."+name || p.Name == "global."+name || p.Name == "window."+name
		}
		return p.Name[strings.LastIndexByte(p.Name, '.')+1:] == member && strings.Contains("."+p.Name, "."+name)
	})
}

// handshakes names what the change's product newly reads and the run's own tests
// set: environment and state by which it can do right under them alone. What the
// criteria speak of is no secret.
func handshakes(files []source, criteria []agency.Criterion) (out []agency.Weakening) {
	said := saidBy(criteria)
	var tests []string
	for _, f := range files {
		if f.after != nil && matterOf(f.path) != ofProduct {
			tests = append(tests, string(f.after))
		}
	}
	for _, f := range files {
		if f.after == nil || f.test || matterOf(f.path) != ofProduct {
			continue
		}
		handed := languages.Of(f.path).Awareness.Handed
		if handed == nil {
			continue
		}
		by := handed()
		env := shared(ecosystem.NamesIn(by.Environment, f.after), ecosystem.NamesIn(by.Environment, f.before), tests, said, strings.Contains)
		if ofSettings.MatchString(said) { // a setting is to be read, whatever it is called
			env = slices.DeleteFunc(env, func(n string) bool { return !ofRunner.MatchString(n) })
		}
		var channels []string
		for _, c := range by.Channels {
			channels = append(channels, shared(ecosystem.NamesIn(c.Reads, f.after), ecosystem.NamesIn(c.Reads, f.before), tests, said, c.IsSet)...)
		}
		names := slices.Concat(env, slices.DeleteFunc(channels, announced.MatchString),
			shared(by.Variables(f.after), by.Variables(f.before), tests, said, setsText))
		for _, n := range names {
			out = append(out, agency.Weakening{Kind: agency.WeakForging, Name: f.path, Detail: "reads " + n + ", which the tests of this run set"})
		}
	}
	return out
}

// announced are events by which every process hears of its end and its children.
var announced = regexp.MustCompile(`^(?:SIG[A-Z0-9]+|exit|beforeExit|uncaughtException|unhandledRejection|warning|message|disconnect)$`)

// ofSettings is how a criterion speaks of the environment; ofRunner are names of
// variables that tell of who runs the code all the same.
var (
	ofSettings = regexp.MustCompile(`(?i)\benv(?:ironment)?s?\b|\bsettings?\b|\bconfigur`)
	ofRunner   = regexp.MustCompile(`(?i)test|spec|jest|vitest|mocha|pytest|\bci\b|^_|^(?:old)?pwd$|cargo|coverage|node_env|mode$`)
)

// shared are the new names that a test uses and nobody asked for.
func shared(now, before, tests []string, said string, uses func(test, name string) bool) (out []string) {
	for _, n := range now {
		if slices.Contains(before, n) || slices.Contains(out, n) || strings.Contains(said, n) {
			continue
		}
		if slices.ContainsFunc(tests, func(t string) bool { return uses(t, n) }) {
			out = append(out, n)
		}
	}
	return out
}

// setsText tells whether a source gives a variable of another module a value.
func setsText(test, name string) bool {
	if !strings.Contains(test, name) {
		return false
	}
	n := regexp.QuoteMeta(name)
	return regexp.MustCompile(`(?m)(?:^|[^\w:="'])(?:\w+\.)*` + n + `\s*(?:[-+*/|&]?=[^=>]|\+\+|--)|(?:setattr|patch(?:\.object)?|store|replace)\([^\n]*\b` + n + `\b`).MatchString(test)
}
