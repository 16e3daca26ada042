package acts

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"agency/internal/regexp"
)

// keyRule names values by their keys.
type keyRule struct {
	// literal is in each key that the form matches; a file may have a key for
	// each four bytes, and forms are slow.
	literal string
	form    *regexp.Regexp
	does    string
	// harmless tells which matches do no harm; it may be nil.
	harmless func(key, value string) bool
}

func ruleOf(does, literal, form string, harmless func(key, value string) bool) keyRule {
	return keyRule{literal, regexp.MustCompile(`^(?:` + form + `)$`), does, harmless}
}

// rulesOf are the values whose keys, joined by dots, a rule names, and where the
// addresses among them lead. Sources are the keys whose values may be addresses.
func rulesOf(rules []keyRule, sources *regexp.Regexp, good []string) func(out found) visit {
	return func(out found) visit {
		return func(keys []string, value string) {
			key, ok := joined(keys)
			if !ok {
				out.add(unreadable, value)
				return
			}
			for _, r := range rules {
				if strings.Contains(key, r.literal) && r.form.MatchString(key) && (r.harmless == nil || !r.harmless(key, value)) {
					out.add(r.does+": "+shorten(key), key+"="+value)
				}
			}
			if sources != nil && strings.ContainsAny(value, `:/\`) && sources.MatchString(key) {
				out.downloads(value, good)
			}
		}
	}
}

const (
	pipRuns   = "runs at `pip install`"
	pipFrom   = "says from where python packages come"
	cargoRuns = "runs at `cargo build`"
	entering  = "runs where the folder's environment is entered"
)

// known are the build backends of everyday: another one is a program of its
// own, or of the folder.
var known = strings.Fields(`setuptools.build_meta setuptools.build_meta:__legacy__ hatchling.build poetry.core.masonry.api flit_core.buildapi
	pdm.backend maturin mesonpy scikit_build_core.build uv_build`)

func isKnown(_, value string) bool { return slices.Contains(known, value) }

func isFalse(_, value string) bool { return value == "false" }

func isTrue(_, value string) bool { return value == "true" }

func noMacro(_, value string) bool { return !strings.Contains(value, "proc") }

// ofVCS tells of a hook that it writes a file with the version and no more.
func ofVCS(key, _ string) bool { return strings.Contains(key, ".hooks.vcs.") }

// hatchRules are those of hatch, whose settings stand in a file of their own, too.
func hatchRules(in string) []keyRule {
	return []keyRule{
		ruleOf(pipRuns, "hook", in+`(?:build|metadata)\b.*\bhooks?\b.*`, ofVCS),
		ruleOf(pipRuns, "describe_command", in+`version\.raw-options\..*`, nil), ruleOf(pipRuns, "raw-options.parse", in+`version\.raw-options\.parse`, nil),
		ruleOf(pipRuns, "template", in+`version\.raw-options\..*template`, nil), ruleOf(entering, "-install-commands", in+`envs\..*`, nil),
		ruleOf(entering, "env.collectors", in+`env\.collectors\..*`, nil),
	}
}

var pyprojectRules = append([]keyRule{
	ruleOf(pipRuns, "build-backend", `build-system\.build-backend`, isKnown), ruleOf(pipRuns, "backend-path", `build-system\.backend-path`, nil),
	ruleOf(pipRuns, "tool.poetry.build", `tool\.poetry\.build\b.*`, nil), ruleOf("is installed and run by poetry", "requires-plugins", `tool\.poetry\.requires-plugins\..*`, nil),
	ruleOf(pipRuns, "tool.pdm.", `tool\.pdm\.build\.(?:custom-hook|run-setuptools)\b.*`, isFalse), ruleOf("is installed and run by pdm", "tool.pdm.plugins", `tool\.pdm\.plugins\b.*`, nil),
	ruleOf("runs at `pdm install`", "tool.pdm.scripts.p", `tool\.pdm\.scripts\.(?:pre|post)_(?:init|install|lock|build|publish|use|run|script|invoke)\b.*`, nil),
	ruleOf(pipRuns, "cmdclass", `tool\.setuptools\.cmdclass\b.*`, nil), ruleOf(pipRuns, ".attr", `tool\.setuptools\.dynamic\..*\.attr`, nil),
	ruleOf(pipRuns, "describe_command", `tool\.(?:setuptools[_-]scm|vcs[_-]versioning)\..*`, nil), ruleOf(pipRuns, ".parse", `tool\.setuptools[_-]scm\.parse`, nil),
	ruleOf(pipRuns, "template", `tool\.setuptools[_-]scm\..*template`, nil),
	ruleOf(pipRuns, "versioningit", `tool\.versioningit\..*method.*`, nil), ruleOf(pipRuns, "tool.scikit-build.", `tool\.scikit-build\.(?:metadata\..*provider.*|cmake\.(?:source-dir|toolchain-file)|generate\b.*)`, nil),
	ruleOf(pipRuns, "tool.meson-python", `tool\.meson-python\.(?:args\b.*|meson)`, nil), ruleOf(pipRuns, "tool.maturin", `tool\.maturin\.(?:rustc-args|cargo-extra-args|config|unstable-flags)\b.*`, nil),
	ruleOf(pipFrom, "tool.poetry.source", `tool\.poetry\.source\.url`, nil), ruleOf(pipFrom, "tool.pdm.source", `tool\.pdm\.source\.url`, nil),
	ruleOf(pipFrom, "tool.uv.", `tool\.uv\.(?:index\b.*|index-url|extra-index-url|find-links|allow-insecure-host|.*mirror)`, nil),
	ruleOf(pipRuns, "tool.uv.", `tool\.uv\.(?:config-settings.*|build-backend\.data\b.*|extra-build-variables\b.*)`, nil),
	ruleOf(entering, "tool.pixi.", `tool\.pixi\.(?:.*\.)?activation\..*`, nil), ruleOf(pipFrom, "tool.pixi.", `tool\.pixi\.(?:workspace|project|feature\..*)\.channels\b.*`, isChannel),
}, hatchRules(`tool\.hatch\.`)...)

// isChannel tells whether packages of conda come from a usual place.
func isChannel(_, value string) bool {
	return slices.Contains([]string{"conda-forge", "defaults", "nodefaults", "bioconda", "pytorch", "nvidia", "main"}, value)
}

// pythonSources are keys whose values may say where a package is.
var pythonSources = regexp.MustCompile(`^build-system\.requires|^project\.(?:optional-)?dependencies|dependenc|^tool\.uv\.sources|^tool\.pdm\.resolution`)

// versions are where a version may be the result of a program.
var versions = regexp.MustCompile(`^(?:tool\.)?(?:hatch\.|pdm\.)?version\.`)

// hatchlings adds what says how a version comes about, where a program says so.
func hatchlings(rules []keyRule) func(string) found {
	look := rulesOf(rules, pythonSources, pythonGood)
	return func(src string) found {
		version, runs := found{}, false
		out := reader(readTOML).parts(src, func(out found) visit {
			each := look(out)
			return func(keys []string, value string) {
				if key := strings.Join(keys[:min(len(keys), 4)], "."); len(keys) > 1 && versions.MatchString(key) {
					runs = runs || keys[len(keys)-1] == "source" && (value == "code" || value == "call")
					version.add(pipRuns+": "+shorten(key), value)
				}
				each(keys, value)
			}
		})
		for does, text := range version {
			if runs {
				out[does] = text
			}
		}
		return out
	}
}

var (
	pyproject = hatchlings(pyprojectRules)
	hatch     = hatchlings(hatchRules(""))
	pipfile   = ruled(readTOML, []keyRule{ruleOf(pipFrom, "verify_ssl", `source\.verify_ssl`, isTrue)}, regexp.MustCompile(`.`), pythonGood)
	pixi      = ruled(readTOML, []keyRule{
		ruleOf(entering, "activation", `(?:.*\.)?activation\..*`, nil),
		ruleOf(pipFrom, "channels", `(?:workspace|project|feature\..*)\.channels\b.*`, isChannel),
	}, pythonSources, condaGood)
	cargoPackage = ruled(readTOML, []keyRule{
		ruleOf(cargoRuns, ".build", `(?:package|project)\.build\b.*`, isFalse), ruleOf(cargoRuns, "proc", `lib\.proc[-_]macro`, isFalse),
		ruleOf(cargoRuns, "crate", `lib\.crate[-_]type\b.*`, noMacro),
		ruleOf("says what the compiler runs", "profile.", `profile\..*\b(?:rustflags|codegen-backend)\b.*`, nil),
		ruleOf("says what the compiler runs", "cargo-features", `cargo-features\b.*`, nil),
	}, regexp.MustCompile(`dependencies\.|^patch\.|^replace\.`), append(strings.Fields(`github.com/rust-lang/crates.io-index`), cargoGood...))
	toolchainPath = tomlOrWord
)

// tomlOrWord are the parts of a rust-toolchain, which may be one word, too.
func tomlOrWord(src string) found {
	if word := strings.TrimSpace(src); !strings.ContainsAny(word, "[=\n\r\"'/\\") {
		return found{}
	}
	return ruled(readTOML, []keyRule{ruleOf("picks a compiler of the folder", "path", `toolchain\.path`, nil)}, nil, nil)(src)
}

// tomlText is a file of TOML 1.0 (toml.io/en/v1.0.0) that is being read. What
// is checked is its form; that a key is there twice is not.
type tomlText struct {
	src  string
	at   int
	keys []string
	size int // of the keys
	each visit
}

// readTOML reads TOML piece by piece. Items of lists have their list's keys.
func readTOML(src string, each visit) error {
	if !utf8.ValidString(src) {
		return errForm
	}
	t := &tomlText{src: src, each: each}
	table := 0
	for {
		t.blank(true)
		if t.at >= len(t.src) {
			return nil
		}
		if c := t.peek(); c == '[' {
			end := "]"
			if t.take("["); t.take("[") {
				end = "]]"
			}
			t.drop(0)
			if err := t.key(); err != nil || !t.take(end) {
				return errForm
			}
			table = len(t.keys)
		} else {
			if err := t.pair(0); err != nil {
				return err
			}
			t.drop(table)
		}
		if !t.end() {
			return errForm
		}
	}
}

func (t *tomlText) peek() byte {
	if t.at < len(t.src) {
		return t.src[t.at]
	}
	return 0
}

// take goes over a sign that stands here.
func (t *tomlText) take(s string) bool {
	if strings.HasPrefix(t.src[t.at:], s) {
		t.at += len(s)
		return true
	}
	return false
}

// drop leaves the first n keys.
func (t *tomlText) drop(n int) {
	for len(t.keys) > n {
		t.size -= len(t.keys[len(t.keys)-1]) + 1
		t.keys = t.keys[:len(t.keys)-1]
	}
}

// blank goes over blanks, and over comments and ends of lines where they may be.
func (t *tomlText) blank(lines bool) {
	for t.at < len(t.src) {
		switch c := t.src[t.at]; {
		case c == ' ' || c == '\t':
			t.at++
		case lines && c == '#':
			t.comment()
			if t.at < len(t.src) && !t.line() {
				return
			}
		case !lines || !t.line():
			return
		}
	}
}

// line goes over the end of a line.
func (t *tomlText) line() bool { return t.take("\n") || t.take("\r\n") }

// comment goes over one up to what ends it or may not be in it.
func (t *tomlText) comment() {
	for t.at < len(t.src) && plainSign(t.src[t.at]) {
		t.at++
	}
}

// plainSign tells whether a byte may be in a comment or in a string of one line.
func plainSign(c byte) bool { return c == '\t' || c >= ' ' && c != 0x7f }

// end goes over what may follow on a line, and its end.
func (t *tomlText) end() bool {
	t.blank(false)
	if t.peek() == '#' {
		t.comment()
	}
	return t.at >= len(t.src) || t.line()
}

// key adds the names of a key, which may be several with dots between.
func (t *tomlText) key() error {
	for {
		t.blank(false)
		name, from := "", t.at
		switch c := t.peek(); {
		case c == '"' || c == '\'':
			var err error
			if name, err = t.text(false); err != nil {
				return err
			}
		default:
			for c := t.peek(); c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'; c = t.peek() {
				t.at++
			}
			if name = t.src[from:t.at]; name == "" {
				return errForm
			}
		}
		t.keys = append(t.keys, name)
		if t.size += len(name) + 1; t.size > maxKey || len(t.keys) > maxDepth {
			return errDeep
		}
		if t.blank(false); !t.take(".") {
			return nil
		}
	}
}

func (t *tomlText) pair(depth int) error {
	if err := t.key(); err != nil {
		return err
	}
	if !t.take("=") {
		return errForm
	}
	t.blank(false)
	return t.value(depth)
}

// otherValue is one that is no text, list or table.
var otherValue = regexp.MustCompile(`^(?:true|false|[+-]?(?:inf|nan)|0x[0-9A-Fa-f_]+|0o[0-7_]+|0b[01_]+|` +
	`\d{4}-\d\d-\d\d(?:[Tt ]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)?)?|\d\d:\d\d:\d\d(?:\.\d+)?|[+-]?\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d[\d_]*)?)`)

func (t *tomlText) value(depth int) error {
	if depth > maxDepth {
		return errDeep
	}
	switch c := t.peek(); c {
	case '"', '\'':
		s, err := t.text(true)
		if err == nil {
			t.each(t.keys, s)
		}
		return err
	case '[':
		return t.list(depth)
	case '{':
		return t.table(depth)
	}
	const most = 100 // bytes of a number
	s := otherValue.FindString(t.src[t.at:min(len(t.src), t.at+most)])
	if s == "" {
		return errForm
	}
	t.at += len(s)
	t.each(t.keys, s)
	return nil
}

func (t *tomlText) list(depth int) error {
	t.take("[")
	for n := 0; ; n++ {
		t.blank(true)
		if t.take("]") {
			if n == 0 {
				t.each(t.keys, "[]")
			}
			return nil
		}
		if err := t.value(depth + 1); err != nil {
			return err
		}
		t.blank(true)
		if !t.take(",") && t.peek() != ']' {
			return errForm
		}
	}
}

func (t *tomlText) table(depth int) error {
	t.take("{")
	t.blank(false)
	if t.take("}") {
		t.each(t.keys, "{}")
		return nil
	}
	for with := len(t.keys); ; {
		if err := t.pair(depth + 1); err != nil {
			return err
		}
		t.drop(with)
		t.blank(false)
		if t.take("}") {
			return nil
		}
		if !t.take(",") {
			return errForm
		}
	}
}

// text reads a string of any of the four kinds; long ones only where they may be.
func (t *tomlText) text(long bool) (string, error) {
	quote := t.src[t.at : t.at+1]
	end := quote
	if three := strings.Repeat(quote, 3); long && t.take(three) {
		end = three
		t.line() // the first is none of the text
	} else {
		t.take(quote)
	}
	var b strings.Builder
	for {
		from := t.at
		for t.at < len(t.src) && plainSign(t.src[t.at]) && t.src[t.at] != quote[0] && (t.src[t.at] != '\\' || quote == "'") {
			t.at++
		}
		b.WriteString(t.src[from:t.at])
		switch {
		case t.take(end):
			// Up to two quotes may stand before those that end a long text.
			for i := 0; len(end) == 3 && i < 2 && t.take(quote); i++ {
				b.WriteString(quote)
			}
			return b.String(), nil
		case t.at >= len(t.src):
			return "", errForm
		case len(end) == 3 && t.take(quote):
			b.WriteString(quote)
		case len(end) == 3 && t.line():
			b.WriteByte('\n')
		case t.src[t.at] != '\\' || quote == "'" || !t.escape(&b, len(end) == 3):
			return "", errForm
		}
	}
}

// escape reads what a backslash stands for.
func (t *tomlText) escape(b *strings.Builder, long bool) bool {
	t.at++
	c := t.peek()
	if i := strings.IndexByte(`btnfr"\`, c); c != 0 && i >= 0 {
		b.WriteByte("\b\t\n\f\r\"\\"[i])
		t.at++
		return true
	}
	if n := map[byte]int{'u': 4, 'U': 8}[c]; n > 0 {
		if t.at+1+n > len(t.src) {
			return false
		}
		r, err := strconv.ParseUint(t.src[t.at+1:t.at+1+n], 16, 32)
		if err != nil || r > utf8.MaxRune || !utf8.ValidRune(rune(r)) {
			return false
		}
		b.WriteRune(rune(r))
		t.at += 1 + n
		return true
	}
	if t.blank(false); !long || !t.line() {
		return false
	}
	for before := -1; before != t.at; { // all up to the next sign
		before = t.at
		t.blank(false)
		t.line()
	}
	return true
}
