package node

import (
	"path"
	"slices"
	"strings"
	"sync"

	"agency/internal/awareness/symbols"
	"agency/internal/code"
	"agency/internal/ecosystem"
	"agency/internal/regexp"
)

func testAwareness() ecosystem.Awareness {
	m := awareModules{}
	return ecosystem.Awareness{Symbols: &symbols.Language{
		Self:    "this",
		Members: knowingMembers,
		Bind:    func(t *symbols.Table, n code.Node) { awareNames{t}.bind(n) },
		Eval:    func(t *symbols.Table, n code.Node, depth int) []symbols.Value { return awareNames{t}.eval(n, depth) },
		Spell:   awareNames{}.spell,
		Look:    func(r *symbols.Reader, n code.Node) { awareScan{r}.look(n) },
		Compare: func(r *symbols.Reader, n code.Node) { awareScan{r}.compare(n) },
		Write: func(r *symbols.Reader, at, value code.Node, path, name string) {
			awareScan{r}.write(at, value, path, name)
		},
		IsAssertion: func(name string) bool { return name != "fail" && symbols.IsAssertion(name) },
		Global:      awareScan{}.global,
	}, Handed: handedIn, Modules: ecosystem.Modules{Source: m.source, IsProgram: m.isProgram, Member: m.member}}
}

// handedIn are the ways by which a test can hand something to code beside its
// arguments.
var handedIn = sync.OnceValue(func() ecosystem.Handed {
	re := regexp.MustCompile
	variables := re(`(?m)^(?:export\s+)?(?:let|var)\s+(\w+)|^(?:module\.)?exports\.(\w+)\s*=\s*(?:true|false|null|undefined|-?\d|['"])`)
	return ecosystem.Handed{
		Environment: re(`\bprocess\.env(?:\.(\w+)|\[\s*['"]([^'"]+))`),
		Variables:   func(src []byte) []string { return ecosystem.NamesIn(variables, src) },
		Channels: []ecosystem.Channel{
			{Reads: re(`tmpdir\(\)[^\n]*?['"` + "`" + `]([^'"` + "`" + `]+)`), Sets: re(`['"` + "`" + `]([^'"` + "`" + `]+)['"` + "`" + `]`)},
			{Reads: re(`Symbol\.for\(\s*['"]([^'"]+)`), Sets: re(`Symbol\.for\(\s*['"]([^'"]+)`)},
			{Reads: re(`process\.(?:on|once|emit|addListener|prependListener)\(\s*['"]([^'"]+)`), Sets: re(`process\.(?:emit|on|once|addListener)\(\s*['"]([^'"]+)`)},
			{Reads: re(`(getTimezoneOffset|resolvedOptions)\(`), Sets: re(`process\.env\.TZ\s*=|env\[['"]TZ['"]\]\s*=`)},
		},
	}
})

// awareModules is how modules are read and found.
type awareModules struct{}

// source is a page of components with nothing but its scripts.
func (awareModules) source(p string, src []byte) (string, []byte) {
	if ext := path.Ext(p); ext != ".vue" && ext != ".svelte" {
		return p, src
	}
	out := regexp.MustCompile(`[^\n]`).ReplaceAll(src, []byte(" "))
	for _, m := range regexp.MustCompile(`(?s)<script\b[^>]*>(.*?)</script`).FindAllSubmatchIndex(src, -1) {
		copy(out[m[2]:m[3]], src[m[2]:m[3]])
	}
	return p + ".ts", out
}

var exporting = regexp.MustCompile(`\bexports\b|(?m)^\s*export\b`)

// isProgram tells of a file that is started by itself and gives nothing to others.
// One that another file of the change loads is none.
func (awareModules) isProgram(file ecosystem.Module, others []ecosystem.Module) bool {
	if exporting.Match(file.Text) {
		return false
	}
	base := path.Base(file.Path)
	stem := regexp.QuoteMeta(strings.TrimSuffix(base, path.Ext(base)))
	quote := "['\"`]"
	loads := regexp.MustCompile(`(?:require\(|import\(?|from)\s*` + quote + "[^'\"`]*?\\b" + stem + `(?:\.\w+)?` + quote)
	named := regexp.MustCompile(quote + "\\.{1,2}/(?:[^'\"`]*/)?" + stem + `(?:\.\w+)?` + quote)
	return !slices.ContainsFunc(others, func(o ecosystem.Module) bool {
		return o.Path != file.Path && (loads.Match(o.Text) || o.Product && named.Match(o.Text))
	})
}

// member is the name within a file of what a test of a path knows by the module's.
func (awareModules) member(file, test, full string) (string, bool) {
	if !strings.HasPrefix(full, ".") {
		return "", false
	}
	at := path.Join(path.Dir(test), full)
	for _, stem := range []string{file, strings.TrimSuffix(file, path.Ext(file)), path.Dir(file)} {
		if rest, ok := strings.CutPrefix(at, stem+"."); ok && !strings.Contains(rest, "/") {
			return rest, true
		}
	}
	return "", false
}
