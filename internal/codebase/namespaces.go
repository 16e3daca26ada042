package codebase

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"agency/internal/code"
	"agency/internal/code/gotypes"
	"agency/internal/code/symbols"
	"agency/internal/regexp"
)

var (
	// exposes finds files that hand on all names of another.
	exposes = regexp.MustCompile(`\bexport\s*\*\s*(?:as\s+[\w$]+\s+)?from\s*["']([^"']+)["']|(?:\.\.\.|exports\s*,\s*|\bexports\s*=\s*)\s*require\s*\(\s*["']([^"']+)["']`)
	// takesAll finds what holds all names of a file.
	takesAll = regexp.MustCompile(`\*\s*as\s+([\w$]+)\s+from\s*["']([^"']+)["']|([\w$]+)\s*=\s*(?:await\s+import|require)\s*\(\s*["']([^"']+)["']`)
	// handedOut finds the names that a file exports apart from their definitions.
	handedOut = regexp.MustCompile(`\bexport\s*(?:type\s*)?\{[^}]*\}|\bexports\s*=\s*\{[^}]*\}|\bexports\s*\.[^=;]*`)
)

// computed refuses what a module of JavaScript exports where a name of the module is made at
// run time: its namespace, or that of one which hands on all of it, is asked for a member by
// an expression, or for its names. No reference shows that, and no type where there are none.
func computed(ctx context.Context, t Tree, f symbols.File, text []byte, d symbols.Definition) error {
	if family(f.Path) != "script" || d.Container != "" || !exported(text, d) {
		return nil
	}
	type source struct {
		path string
		text []byte
	}
	var all []source
	err := t.walk(ctx, ".", func(p string) bool {
		if code.SyntaxOf(p) != "" && family(p) == "script" {
			if text := t.read(p); exposes.Match(text) || takesAll.Match(text) {
				all = append(all, source{p, text})
			}
		}
		return ctx.Err() == nil
	})
	if errors.Is(err, errTooMany) {
		return no("%v: not all that use it would be seen", err)
	}
	if err != nil {
		return err
	}
	of := []string{f.Path}
	for n := 0; n < len(of); n++ {
		for _, s := range all {
			if !slices.Contains(of, s.path) && slices.ContainsFunc(exposes.FindAllSubmatch(s.text, -1), func(m [][]byte) bool { return leadsTo(s.path, string(m[1])+string(m[2]), of[n]) }) {
				of = append(of, s.path)
			}
		}
	}
	var bad []string
	for _, s := range all {
		for _, m := range takesAll.FindAllSubmatch(s.text, -1) {
			name, from := string(m[1])+string(m[3]), string(m[2])+string(m[4])
			if !slices.ContainsFunc(of, func(to string) bool { return leadsTo(s.path, from, to) }) {
				continue
			}
			n := regexp.QuoteMeta(name)
			by := regexp.MustCompile(`(?:^|[^\w$.])` + n + `\s*(?:\?\.)?\[\s*(?:[^\s"'\d]|["'][^"'\]]*["']\s*[^\]\s])|\bin\s+` + n + `(?:$|[^\w$.])|\bObject\.(?:keys|entries|getOwnPropertyNames)\s*\(\s*` + n + `\s*\)`)
			if at := by.FindIndex(s.text); at != nil {
				line, where := lineAt(s.text, at[0]+bytes.Index(s.text[at[0]:at[1]], []byte(name)))
				bad = append(bad, fmt.Sprintf("%s:%d: %s", s.path, where, line))
			}
		}
	}
	if len(bad) == 0 {
		return nil
	}
	return &gotypes.Refused{Why: "names of its module are made at run time there, and may be this one", Places: bad[:min(len(bad), maxNotes)]}
}

// exported tells whether others may have a definition by its name.
func exported(text []byte, d symbols.Definition) bool {
	before := text[lineStart(text, d.Start):d.NameStart]
	return bytes.HasPrefix(bytes.TrimSpace(before), []byte("export")) ||
		slices.ContainsFunc(handedOut.FindAll(text, -1), func(l []byte) bool { return hasWord(l, d.Name, 0) >= 0 })
}

// leadsTo tells whether what a file of JavaScript imports may be another file: exactly where
// the import is relative, and else by its last name.
func leadsTo(from, module, to string) bool {
	bare := func(p string) string {
		if code.SyntaxOf(p) != "" {
			p = strings.TrimSuffix(p, path.Ext(p))
		}
		return strings.TrimSuffix(p, "/index")
	}
	if strings.HasPrefix(module, ".") {
		return bare(path.Join(path.Dir(from), module)) == bare(to) || path.Join(path.Dir(from), module)+"/index" == strings.TrimSuffix(to, path.Ext(to))
	}
	return path.Base(bare(module)) == path.Base(bare(to))
}
