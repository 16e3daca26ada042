package codebase

import (
	"bytes"
	"context"
	"path"
	"strings"

	"agency/internal/code"
	"agency/internal/code/symbols"
	"agency/internal/regexp"
)

// unread are attributes of Rust that do not read the name of what they stand before. One that
// is there under a condition is the last of cfg_attr.
var unread = regexp.MustCompile(`^\s*(?:cfg_attr\((?:[^,()]|\([^()]*\))*,\s*)?(?:(?:\w+::)?test|derive|allow|expect|warn|deny|forbid|inline|must_use|cfg|deprecated|doc|ignore|should_panic|track_caller|cold|repr|non_exhaustive)\b(?:[^,]|\([^()]*\)|"[^"]*")*\]\s*$`)

// attributed tells whether an attribute of Rust that may read names stands before.
func (r *syntaxRename) attributed() bool {
	if r.file.Language != code.Rust {
		return false
	}
	lines := strings.Split(strings.TrimRight(string(r.text[:lineStart(r.text, r.d.Start)]), " \t\r\n"), "\n")
	all, open := "", false // an attribute of several lines is read from its end
	for i := len(lines) - 1; i >= 0; i-- {
		line := strings.TrimSpace(lines[i])
		switch {
		case strings.HasPrefix(line, "#["):
			open = false
		case strings.HasPrefix(line, "//") && !open:
			continue
		case strings.HasSuffix(line, "]") || open:
			open = true
		default:
			i = 0
			continue
		}
		all = line + " " + all
	}
	for attribute := range strings.SplitSeq(all, "#[") {
		if strings.TrimSpace(attribute) != "" && !unread.MatchString(attribute) {
			return true
		}
	}
	return false
}

// module is the innermost module of Rust around the definition within its file; ok is false
// where there is none, or something else is around it.
func (r *syntaxRename) module() (m symbols.Definition, ok bool) {
	if r.file.Language != code.Rust || r.d.Container == "" {
		return m, false
	}
	for at := r.d.Container; at != ""; at = at[:max(0, strings.LastIndexByte(at, '.'))] {
		var around []symbols.Definition
		for _, d := range r.file.Definitions {
			if d.Path() == at && d.Start <= r.d.Start && r.d.End <= d.End {
				around = append(around, d)
			}
		}
		if len(around) != 1 || around[0].Kind != symbols.Module {
			return m, false
		}
		if at == r.d.Container {
			m = around[0]
		}
	}
	return m, true
}

// private tells whether a definition in a module of its file is seen in that module alone.
func (r *syntaxRename) private() bool {
	_, ok := r.module()
	return ok && r.d.Kind != symbols.Macro && !strings.HasPrefix(r.d.Signature, "pub")
}

// toldIn are the places of a name in the tests that comments of Rust hold: rustdoc compiles and
// runs what stands in them between fences.
func toldIn(f symbols.File, text []byte, name string) []int {
	if f.Language != code.Rust {
		return nil
	}
	return told(text, name, f.Comments)
}

// included tells whether a source of Rust may take in a file of prose, whose examples are then
// tests as well.
func included(ctx context.Context, t Tree, l code.Language, p string) (is bool) {
	if l != code.Rust {
		return false
	}
	_ = t.walk(ctx, ".", func(q string) bool { // who renames has walked all of it
		text := t.read(q)
		is = code.SyntaxOf(q) == code.Rust && bytes.Contains(text, []byte("include_str!")) && bytes.Contains(text, []byte(path.Base(p)))
		return !is
	})
	return is
}

// compiled are the words behind a fence with which rustdoc compiles what follows.
var compiled = regexp.MustCompile(`^(?:rust|no_run|should_panic|compile_fail|edition\d+|[,\s])*$`)

// told are the places of a name between fences of a text, within its comments where they are
// not nil.
func told(text []byte, name string, comments [][2]int) (out []int) {
	inside, runs := false, false
	at := 0
	for line := range bytes.Lines(text) {
		begin := at
		at += len(line)
		words := bytes.TrimLeft(line, " \t")
		if comments != nil {
			if !within(comments, begin+len(line)-len(words)) {
				inside = false
				continue
			}
			words = bytes.TrimLeft(words, "/!* \t")
		}
		if info, ok := bytes.CutPrefix(words, []byte("```")); ok {
			inside = !inside
			runs = inside && compiled.Match(bytes.TrimSpace(info))
			continue
		}
		for i := hasWord(line, name, 0); inside && runs && i >= 0; i = hasWord(line, name, i+1) {
			out = append(out, begin+i)
		}
	}
	return out
}
