package acts

import (
	"strings"

	"agency/internal/regexp"
)

// everyday are the lines of a manifest that is a program which edits of every
// day change: plain names and versions, in which nothing is put.
var everyday = regexp.MustCompile(`^\s*(?:` + strings.Join([]string{
	`\w+\.(?:version|summary|description|author|email|license|required_ruby_version|homepage)\s*=\s*` + texts,
	`\w+\.add_(?:runtime_|development_)?dependency\s*\(?` + texts + `\s*\)?`,
	`(?:pod|gem)\s+` + texts + `(?:,\s*(?:require|group|groups|platforms?|subspecs|configurations|modular_headers)(?::|\s*=>)\s*(?:false|true|:\w+|\[[:\w, '"]*\]|` + quoted + `))*`,
	`(?:version|name|summary|description|author|license|srcDir|backend|requires|installExt|skipDirs)\s*[=:]?\s*` + texts, // of nimble, too
	`version:\s*` + texts, `\{:\w+,\s*` + texts + `\s*\}`, `ruby\s+` + quoted, `source\s+["']https://rubygems\.org/?["']`, `gemspec`, `end`,
	`group\s+:\w+(?:,\s*:\w+)*\s+do`,
	`\.package\(\s*url:\s*"https://[\w.-]+/[\w./-]+",\s*(?:from:\s*|exact:\s*|branch:\s*|\.upToNextM(?:ajor|inor)\(from:\s*)` + texts + `\)?\s*\)`,
	`\.product\(name:\s*` + quoted + `,\s*package:\s*` + quoted + `\)`, `\.(?:target|byName)\(name:\s*` + quoted + `\)`, `name:\s*` + quoted, quoted,
}, "|") + `)\s*[,;]?\s*(?:#[^\r]*)?$`)

// quoted is a text in quotes, without a sign by which something is put in it or that
// an address has; texts are several.
const (
	quoted = `(?:"[A-Za-z0-9._\-/<>=!~+* ]*"|'[A-Za-z0-9._\-/<>=!~+* ]*')`
	texts  = quoted + `(?:,\s*` + quoted + `)*`
)

// manifestProgram is a program that says what a package is.
func manifestProgram(src string) found {
	var b strings.Builder
	for line := range strings.Lines(src) {
		if t := strings.TrimSpace(line); t != "" && !everyday.MatchString(strings.TrimRight(line, "\r\n")) && !ofComment(t) {
			b.WriteString(strings.TrimRight(line, " \t\r\n") + "\n")
		}
	}
	out := found{}
	if b.Len() > 0 {
		out.add("runs at an installation of dependencies", b.String())
	}
	return out
}

// ofComment tells whether a line is one for every language that comments so.
func ofComment(line string) bool {
	return strings.HasPrefix(line, "# ") && !strings.Contains(line, "\r") && !strings.Contains(line, "coding")
}

// variables are those by which programs are told what to load, to run or to trust.
var variables = regexp.MustCompile(`(?i)^(?:(?:export|declare|typeset|local|readonly)\s+(?:-\w+\s+)*)?(?:NODE_OPTIONS|NODE_PATH|NODE_EXTRA_CA_CERTS|LD_\w+|DYLD_\w+|PATH|PYTHON\w+|` +
	`BASH_ENV|ENV|ZDOTDIR|PROMPT_COMMAND|PS[0-4]|IFS|GIT_\w+|RUBYOPT|RUBYLIB|PERL5\w+|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS|MAVEN_OPTS|MAVEN_ARGS|GRADLE_OPTS|` +
	`GOFLAGS|GOPROXY|GOTOOLCHAIN|GONOSUM\w+|GOSUMDB|GOENV|EDITOR|VISUAL|PAGER|BROWSER|SHELL|npm_config_\w+|YARN_\w+|COREPACK_\w+|BUN_\w+|DENO_\w+|PIP_\w+|PIPENV_\w+|POETRY_\w+|UV_\w+|` +
	`BUNDLE_\w+|RUSTC\w*|RUSTFLAGS|CARGO_\w+|CC|CXX|CPP|LDFLAGS|C\w*FLAGS|DOCKER_HOST|COMPOSE_FILE|SSL_CERT_\w+|CURL_CA_BUNDLE|REQUESTS_CA_BUNDLE|[a-z]+_proxy)\s*[=:]`)

// environment are the lines of a .env that set such variables, and those that a
// shell runs which sources it: all but names with plain values.
func environment(src string) found {
	out := found{}
	for line := range strings.FieldsFuncSeq(src, func(r rune) bool { return r == '\n' || r == '\r' }) {
		if line = strings.TrimSpace(line); variables.MatchString(line) {
			out.add("sets what programs load or run: "+shorten(line), line)
		}
	}
	for src != "" {
		var line string
		if line, src = shellLine(src); !isPlain(line) {
			out.add("runs where a shell reads it: "+shorten(line), line)
		}
	}
	return out
}

// assignment begins a line that gives a name a value.
var assignment = regexp.MustCompile(`^\s*(?:export[ \t]+)?[A-Za-z_][\w.-]*\s*[=:][ \t]*`)

// query is a further part of an address, which a shell takes for another name
// with a value.
var query = regexp.MustCompile(`^&[\w.-]+=`)

// shellLine is the first line of a text, with those that a quote in it takes in.
func shellLine(src string) (line, rest string) {
	quote := byte(0)
	for i := 0; i < len(src); i++ {
		switch c := src[i]; {
		case c == '\\' && quote != '\'':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '#' && (i == 0 || strings.IndexByte(" \t\n", src[i-1]) >= 0):
			if n := strings.IndexByte(src[i:], '\n'); n >= 0 {
				return src[:i+n], src[i+n+1:]
			}
			return src, ""
		case c == '\n':
			return src[:i], src[i+1:]
		}
	}
	return src, ""
}

// isPlain tells whether a line of a shell runs nothing: it is empty, a comment,
// or a name with one value in which nothing is called.
func isPlain(line string) bool {
	bare := strings.TrimSpace(line)
	if bare == "" || bare[0] == '#' {
		return true
	}
	name := assignment.FindString(line)
	if name == "" {
		return false
	}
	value, quote, ended := line[len(name):], byte(0), false
	for i := 0; i < len(value); i++ {
		c := value[i]
		switch {
		case quote != '\'' && (c == '`' || c == '$' && strings.HasPrefix(value[i+1:], "(")):
			return false
		case c == '\\' && quote != '\'':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '#' && ended:
			return true
		case c == ' ' || c == '\t' || c == '\r':
			ended = true
		case c == '&' && !ended && query.MatchString(value[i:]):
		case ended || strings.IndexByte(";|&<>()", c) >= 0:
			return false
		case c == '"' || c == '\'':
			quote = c
		}
	}
	return quote == 0
}

var (
	versionFile = lineParts("picks the programs that a shell uses in the folder", `\.\.|://|^[/~.]|[^\w.*/ #+@\r-]`)
	xcode       = lineParts("runs at each build with Xcode", `(?i)shellScript|scriptText|ExecutionAction|PBXLegacyTarget|PBXBuildRule|buildToolPath|customLLDBInitFile|\\U|\\[0-7]|&#|<!ENTITY|`+xcodeTools)
	xcconfig    = lineParts("runs at each build with Xcode", `(?i)^#include|`+xcodeTools)
	rebar       = lineParts("runs at `rebar3 compile`", `pre_hooks|post_hooks|provider_hooks|plugins|parse_transform|\\|port_env`)
	dubSDL      = lineParts("runs at `dub build`", `(?i)(?:pre|post)\w+Commands`)
	cartfile    = lockText(nil)
)

const xcodeTools = `\b(?:CC|CXX|CPLUSPLUS|LD|LDPLUSPLUS|LIBTOOL|AR|SWIFT_EXEC|C_COMPILER_LAUNCHER|CLANG_\w*LAUNCHER|\w*TOOL_PATH|ALTERNATE_\w+|OTHER_SWIFT_FLAGS|OTHER_LDFLAGS_PLUGIN)\b"?(?:\[[^\]]*\])?\s*=`

// gradleProperties are the settings of Gradle's own Java, read as Java reads them.
func gradleProperties(src string) found {
	const does = "configures the Java of Gradle: "
	out := found{}
	var line strings.Builder
	for part := range strings.FieldsFuncSeq(src+"\n", func(r rune) bool { return r == '\n' || r == '\r' }) {
		part = strings.TrimLeft(part, " \t\f")
		if line.Len() == 0 && part != "" && (part[0] == '#' || part[0] == '!') {
			continue
		}
		if n := len(part) - len(strings.TrimRight(part, `\`)); n%2 == 1 && line.Len() < maxKey {
			line.WriteString(part[:len(part)-1])
			continue
		}
		line.WriteString(part)
		whole := line.String()
		line.Reset()
		if gradleKeys.MatchString(strings.TrimLeft(whole, " \t\f")) {
			out.add(does+shorten(whole), whole)
		}
	}
	if line.Len() > 0 {
		out.add(does+shorten(line.String()), line.String())
	}
	return out
}

// gradleKeys are those keys, and keys that are written with signs in another form.
var gradleKeys = regexp.MustCompile(`^(?:org\.gradle\.(?:jvmargs|java\.)|systemProp\.|android\.aapt2FromMavenOverride|android\.sdk\.|[^=: \t\f]*\\)`)

// msbuildForm are what a project of .NET may run at a build: commands, tasks,
// programs, and settings from elsewhere.
var msbuildForm = regexp.MustCompile(`(?is)<\s*(?:[\w.-]+:)?(?:Exec|UsingTask|Code|PreBuildEvent|PostBuildEvent|PreLinkEvent|Command|Analyzer|CustomBuild|CustomBuildStep|` +
	`\w*(?:ToolPath|ToolExe|Launcher|PropsPath|PropsFile|TargetsPath|TargetsFile)|CustomBefore\w*|CustomAfter\w*|MSBuildProject\w+Path|` +
	`Restore\w*(?:Sources|ConfigFile|Folders)|RunCommand|StartProgram|Import\w*|Sdk|Project)` +
	`\b(?:"[^"]*"|'[^']*'|[^'">])*>[^<]*(?:<!\[CDATA\[.*?\]\]>)?|InitialTargets[^>]*|<!DOCTYPE[^>]*`)

// msbuildPlain are of these the imports of files that are looked at themselves,
// and the kits of tools that come with .NET.
var msbuildPlain = regexp.MustCompile(`(?is)^<\s*(?:ImportGroup\b[^>]*>|Project(?:\s+(?:xmlns|ToolsVersion|DefaultTargets|Sdk\s*=\s*["']Microsoft\.NET\.Sdk(?:\.[a-z]+)*["']|` +
	`Sdk\s*=\s*["'](?:MSTest\.Sdk|Aspire\.AppHost\.Sdk)(?:/[\d.]+)?["'])(?:\s*=\s*["'][^"'<>]*["'])?)*\s*/?>|` +
	`Import\s+(?:Condition\s*=\s*(?:"[^"]*"|'[^']*')\s*)?Project\s*=\s*["'][\w./\\$() -]*\.(?:props|targets|projitems)["']\s*(?:(?:Condition|Label)\s*=\s*(?:"[^"]*"|'[^']*')\s*)*/?>)`)

func msbuild(src string) found {
	out := found{}
	for _, part := range msbuildForm.FindAllString(src, -1) {
		if !msbuildPlain.MatchString(part) {
			part = strings.Join(strings.Fields(part), " ")
			out.add("runs at each build with .NET, also of an editor: "+shorten(part), part)
		}
	}
	return out
}
