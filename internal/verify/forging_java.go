package verify

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"

	"agency/internal/code"
)

// javaOrigins are the ways by which code of Java can look at who runs it.
var javaOrigins = map[string]origin{
	"java.lang.Thread.currentThread": {grade: gradeStrong, silent: []string{
		"interrupt", "isInterrupted", "getId", "threadId", "getContextClassLoader", "setContextClassLoader", "setName", "join", "isVirtual", "isDaemon", "getUncaughtExceptionHandler", "setUncaughtExceptionHandler",
	}},
	"java.lang.Thread.getAllStackTraces": {grade: gradeStrong}, "java.lang.Thread.activeCount": {grade: gradeStrong, number: true},
	"java.lang.Thread.enumerate": {grade: gradeStrong}, "java.lang.Thread.dumpStack": {grade: gradeStrong},
	"java.lang.StackWalker.getInstance": {grade: gradeStrong}, "java.lang.System.getProperties": {grade: gradeWeak},
	"java.lang.ProcessHandle.current": {grade: gradeStrong, silent: []string{"pid"}}, "java.lang.ProcessHandle.allProcesses": {grade: gradeStrong},
	"java.lang.System.console":                                {grade: gradeStrong, stream: true, silent: []string{"readLine", "readPassword", "printf", "format", "writer", "reader", "flush", "charset"}},
	"java.lang.management.ManagementFactory.getRuntimeMXBean": {grade: gradeStrong, silent: []string{"getUptime", "getStartTime", "getPid", "getVmVersion", "getSpecVersion"}},
	"java.lang.management.ManagementFactory.getThreadMXBean":  {grade: gradeStrong},
}

// javaMembers are methods that do, whatever they are of.
var javaMembers = map[string]origin{
	"getStackTrace": {grade: gradeStrong}, "printStackTrace": {grade: gradeStrong}, "getProtectionDomain": {grade: gradeStrong},
	"getSourceClassName": {grade: gradeStrong}, "getSourceMethodName": {grade: gradeStrong},
	"desiredAssertionStatus": {grade: gradeWeak},
}

// javaExits are methods that end the process, or act at its end.
var javaExits = map[string]string{
	"java.lang.System.exit": "ends the process", "java.lang.Runtime.exit": "ends the process", "java.lang.Runtime.halt": "ends the process",
	"java.lang.Runtime.addShutdownHook": "acts at the process's end", "java.lang.System.setSecurityManager": "acts at the process's end",
}

func javaKnown(name string) bool {
	_, origin := javaOrigins[name]
	return origin || javaExits[name] != ""
}

// javaForms are what is looked for in the texts of Java.
type javaForms struct{ property, variable, runner, build, name *regexp.Regexp }

var javaForm = sync.OnceValue(func() javaForms {
	return javaForms{
		property: regexp.MustCompile(`^(?:sun\.java\.command|java\.class\.path|jdk\.module\.path|user\.dir|basedir|surefire\..*|maven\..*|org\.gradle\..*|java\.security\.manager|idea\..*)$`),
		variable: regexp.MustCompile(`^(?:MAVEN_\w+|GRADLE_\w+|SUREFIRE_\w+|JAVA_MAIN_CLASS\w*|PWD|OLDPWD|_)$`),
		runner:   regexp.MustCompile(`\borg[./](?:junit|testng|mockito|assertj|hamcrest)\b|\bsurefire\b|\bjava\.class\.path\b`),
		// name is how a class or its file is called.
		name: regexp.MustCompile(`^[\w.$/]+$`),
		// build are files that only a build of the tests leaves, and sources.
		build: regexp.MustCompile(`\.(?:class|java)$|^(?:\./)?(?:out|target|build|bin|src|test)(?:/|$)|^(?:pom\.xml|build\.gradle(?:\.kts)?)$`),
	}
})

// javaFlows are functions whose result tells what they are given.
var javaFlows = []string{
	"contains", "startsWith", "endsWith", "equals", "matches", "indexOf", "format", "join", "valueOf", "requireNonNull", "requireNonNullElse", "of", "ofNullable", "toString",
	"concat", "copyOf", "asList", "stream", "exists", "notExists", "isRegularFile", "isDirectory", "get", "isNull", "nonNull", "getOrDefault", "println", "append", "write", "compile", "matcher",
}

// javaLore is what is known of Java; exists tells what files the claim has.
func javaLore(exists func(string) bool) *lore {
	files := regexp.MustCompile(`^(?:new java\.io\.(?:File|FileInputStream|FileReader)|new File|(?:java\.nio\.file\.)?(?:Path\.of|Paths\.get))$`)
	return &lore{
		origins: javaOrigins,
		members: javaMembers,
		asked: func(_ *synFile, name, constant string) (origin, bool) {
			switch last(name) {
			case "getProperty":
				return origin{grade: gradeStrong}, javaForm().property.MatchString(constant)
			case "getenv":
				return origin{grade: gradeStrong}, javaForm().variable.MatchString(constant)
			}
			if slices.Contains(javaLoads, last(name)) {
				return origin{grade: gradeStrong}, javaNamesTest(constant, exists)
			}
			return origin{grade: gradeStrong}, files.MatchString(name) && (javaForm().build.MatchString(constant) || constant == "" || constant == ".")
		},
		flows: func(name string) bool {
			return strings.HasPrefix(name, "new ") || slices.Contains(javaFlows, last(name)) || last(name) == "getProperty"
		},
		tells: func(name string) bool {
			return slices.Contains([]string{"println", "print", "printf", "log", "debug", "info", "warn", "error", "trace", "warning", "fine", "severe", "assert"}, last(name))
		},
		argType: func(typ string) bool {
			return slices.Contains([]string{"String[]", "String...", "String", "int", "Integer", "PrintStream", "InputStream", "java.io.PrintStream", "Exception", "Throwable", "RuntimeException"}, typ)
		},
	}
}

// javaNamesTest tells of the name of a class, or of its file, that is of tests.
func javaNamesTest(name string, exists func(string) bool) bool {
	if strings.HasSuffix(name, ".class") || javaForm().runner.MatchString(name) {
		return true
	}
	stem := strings.ReplaceAll(strings.TrimPrefix(name, "/"), ".", "/")
	for _, root := range []string{"test/", "src/test/java/", "tests/", "test/java/"} {
		if exists(root + stem + ".java") {
			return true
		}
	}
	return isTestFile(stem + ".java")
}

// javaSide finds the marks of one side of the changed files of Java.
func (j *job) javaSide(ctx context.Context, files []source, after bool, exists func(string) bool) (map[string][]aware, error) {
	out := map[string][]aware{}
	var all []*synFile
	for _, f := range files {
		src := f.before
		if after {
			src = f.after
		}
		if src == nil {
			continue
		}
		root, fault, err := j.syntaxOf(ctx, f.path, src)
		if err != nil {
			return nil, err
		}
		if out[f.path] = fault; !root.OK() {
			continue
		}
		s := readJava(f.path, src, root)
		out[f.path] = slices.Concat(out[f.path], common(s), javaHooks(s))
		if !f.test {
			out[f.path] = slices.Concat(out[f.path], javaNames(root), javaLooksFor(s, exists))
		}
		all = append(all, s)
	}
	k := newKnower(javaLore(exists), all)
	for _, f := range all {
		out[f.path] = append(out[f.path], k.javaEnds(f)...)
		if !isTestFile(f.path) {
			out[f.path] = append(out[f.path], k.marks(f)...)
		}
	}
	return out, nil
}

// javaEnds are the places where a file ends the process, but for main and the
// command line's own functions that fail, and where it hides what it calls.
func (k *knower) javaEnds(f *synFile) (out []aware) {
	for _, fn := range f.funcs {
		k.at = fn
		honest := map[*syn]bool{}
		fn.body.every(func(s *syn) bool {
			say := func(word string) { out = append(out, aware{word: word, line: s.line}) }
			switch {
			case s.op == opCall && s.callee() == "java.lang.System.exit" && len(s.kids) == 2 && (fn.top || k.commands(fn, nil) && fails(s.kids[1])):
				honest[s.kids[0]] = true
			case s.op == opCall && slices.Contains([]string{"getMethod", "getDeclaredMethod", "findStatic", "findVirtual"}, last(s.callee())):
				for _, a := range s.kids[1:] {
					if t, ok := a.constant(); ok && (t == "exit" || t == "halt") {
						say("reaches what it does not name (" + t + ")")
					}
				}
			case s.op == opCall && s.callee() == "assert" && assigns(s):
				say("asks whether assertions are on")
			case s.op == opName && javaExits[s.text] != "" && !honest[s]:
				say(javaExits[s.text] + " (" + strings.TrimPrefix(s.text, "java.lang.") + ")")
			case s.op == opMember && (s.text == "halt" || s.text == "addShutdownHook"):
				say("acts at the process's end (" + s.text + ")")
			}
			return true
		})
	}
	return out
}

func assigns(s *syn) (found bool) {
	s.every(func(n *syn) bool {
		found = found || n.op == opAssign && !(len(n.kids) == 2 && n.kids[0].op == opName && n.text == "=" && n.kids[1].op == opOther)
		return !found
	})
	return found
}

// javaNames finds what a file names of the test runner: imports, classes, texts.
func javaNames(root code.Node) (out []aware) {
	for n := range root.All() {
		if n.Is("import_declaration", "scoped_type_identifier", "string_literal") && javaForm().runner.MatchString(n.Text()) {
			out = append(out, aware{word: "knows the test runner", line: n.Line()})
		}
	}
	return out
}

// javaLoads look for a class or a file of the build by its name.
var javaLoads = []string{"getResource", "getResourceAsStream", "getResources", "forName", "loadClass", "findClass", "findLoadedClass", "getSystemResource", "getSystemResourceAsStream"}

// javaLooksFor finds the names of what is of tests in a file that looks for
// something by a name which is handed to it.
func javaLooksFor(f *synFile, exists func(string) bool) (out []aware) {
	asks := false
	for _, fn := range f.funcs {
		fn.body.every(func(s *syn) bool {
			if s.op == opCall && len(s.kids) > 1 && slices.Contains(javaLoads, last(s.callee())) {
				_, constant := s.kids[1].constant()
				asks = asks || !constant
			}
			return !asks
		})
	}
	if !asks {
		return nil
	}
	for _, fn := range f.funcs {
		fn.body.texts(func(text string, line int) {
			if javaForm().name.MatchString(text) && javaNamesTest(text, exists) {
				out = append(out, aware{word: "looks for what is of tests (" + text + ")", line: line})
			}
		})
	}
	return out
}

// javaHooks finds comparisons that do not look at what they compare.
func javaHooks(f *synFile) (out []aware) {
	for _, fn := range f.funcs {
		if len(fn.params) != 1 || len(fn.results) != 1 || f.bare[fn.owner] ||
			!(fn.name == "equals" && fn.results[0] == "boolean" || fn.name == "compareTo" && fn.results[0] == "int") {
			continue
		}
		c := comparing{fn: fn, self: "this", other: fn.params[0].name, both: true, fields: true}
		if c.hollowEqual() {
			out = append(out, aware{word: fn.owner + "." + fn.name + " gives the same whatever it is compared with", line: fn.line})
		}
	}
	return out
}

// kotlinMarks are those of Kotlin, whose syntax is not read.
func kotlinMarks() []mark {
	return []mark{
		{form: regexp.MustCompile(`\boverride\s+fun\s+equals\s*\([^)]*\)\s*(?::\s*Boolean\s*)?(?:=\s*true\b|\{\s*return\s+true\b)`), word: "equals what it is compared with", tests: true},
		{form: regexp.MustCompile(`\bSystem\.exit\b|\bexitProcess\b|\.halt\s*\(`), word: "ends the process", tests: true},
		{form: regexp.MustCompile(`\borg\.(?:junit|testng|mockito|assertj|hamcrest)\b|\bsurefire\b|\bjava\.class\.path\b`), word: "knows the test runner"},
		{form: regexp.MustCompile(`\bgetStackTrace\b|\bstackTrace\b|\bStackWalker\b`), word: "looks at its callers"},
		{form: regexp.MustCompile(`\baddShutdownHook\b|\bsetSecurityManager\b`), word: "acts at the process's end", tests: true},
	}
}
