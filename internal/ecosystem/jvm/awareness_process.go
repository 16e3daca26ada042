package jvm

import (
	"slices"
	"strings"
	"sync"

	"agency/internal/awareness"
	"agency/internal/awareness/dataflow"
	"agency/internal/code"
	"agency/internal/regexp"
)

// processEnds are methods that end the process, or act at its end.
var processEnds = map[string]string{
	"java.lang.System.exit": "ends the process", "java.lang.Runtime.exit": "ends the process", "java.lang.Runtime.halt": "ends the process",
	"java.lang.Runtime.addShutdownHook": "acts at the process's end", "java.lang.System.setSecurityManager": "acts at the process's end",
}

func isKnown(name string) bool {
	_, origin := processOrigins[name]
	return origin || processEnds[name] != ""
}

// awareForms are what is looked for in the texts of Java.
type awareForms struct{ property, variable, runner, build, class *regexp.Regexp }

var awareForm = sync.OnceValue(func() awareForms {
	return awareForms{
		property: regexp.MustCompile(`^(?:sun\.java\.command|java\.class\.path|jdk\.module\.path|user\.dir|basedir|surefire\..*|maven\..*|org\.gradle\..*|java\.security\.manager|idea\..*)$`),
		variable: regexp.MustCompile(`^(?:MAVEN_\w+|GRADLE_\w+|SUREFIRE_\w+|JAVA_MAIN_CLASS\w*|PWD|OLDPWD|_)$`),
		runner:   regexp.MustCompile(`\borg[./](?:junit|testng|mockito|assertj|hamcrest)\b|\bsurefire\b|\bjava\.class\.path\b`),
		// class is how a class or its file is called.
		class: regexp.MustCompile(`^[\w.$/]+$`),
		// build are files that only a build of the tests leaves, and sources.
		build: regexp.MustCompile(`\.(?:class|java)$|^(?:\./)?(?:out|target|build|bin|src|test)(?:/|$)|^(?:pom\.xml|build\.gradle(?:\.kts)?)$`),
	}
})

// namesTest tells of the name of a class, or of its file, that is of tests.
func namesTest(name string, repo dataflow.Repository) bool {
	if strings.HasSuffix(name, ".class") || awareForm().runner.MatchString(name) {
		return true
	}
	stem := strings.ReplaceAll(strings.TrimPrefix(name, "/"), ".", "/")
	for _, root := range []string{"test/", "src/test/java/", "tests/", "test/java/"} {
		if repo.Exists(root + stem + ".java") {
			return true
		}
	}
	return repo.IsTest(stem + ".java")
}

// ends are the places where a file ends the process, but for main and the
// command line's own functions that fail, and where it hides what it calls.
func (awareReader) ends(a *dataflow.Analysis, f *dataflow.File) (out []awareness.Finding) {
	honest := map[*dataflow.Node]bool{}
	f.Every(func(fn *dataflow.Func, s *dataflow.Node) {
		say := func(word string) { out = append(out, awareness.Finding{Word: word, Line: s.Line}) }
		switch {
		case s.Op == dataflow.OpCall && s.Callee() == "java.lang.System.exit" && len(s.Kids) == 2 && (fn.Entry || a.MayExit(fn, s.Kids[1])):
			honest[s.Kids[0]] = true
		case s.Op == dataflow.OpCall && slices.Contains([]string{"getMethod", "getDeclaredMethod", "findStatic", "findVirtual"}, dataflow.Last(s.Callee())):
			for _, arg := range s.Kids[1:] {
				if t, ok := arg.Constant(); ok && (t == "exit" || t == "halt") {
					say("reaches what it does not name (" + t + ")")
				}
			}
		case s.Op == dataflow.OpCall && s.Callee() == "assert" && assigns(s):
			say("asks whether assertions are on")
		case s.Op == dataflow.OpName && processEnds[s.Text] != "" && !honest[s]:
			say(processEnds[s.Text] + " (" + strings.TrimPrefix(s.Text, "java.lang.") + ")")
		case s.Op == dataflow.OpMember && (s.Text == "halt" || s.Text == "addShutdownHook"):
			say("acts at the process's end (" + s.Text + ")")
		}
	})
	return out
}

func assigns(s *dataflow.Node) (found bool) {
	s.Every(func(n *dataflow.Node) bool {
		found = found || n.Op == dataflow.OpAssign && !(len(n.Kids) == 2 && n.Kids[0].Op == dataflow.OpName && n.Text == "=" && n.Kids[1].Op == dataflow.OpOther)
		return !found
	})
	return found
}

// runnerNames finds what a file names of the test runner: imports, classes, texts.
func runnerNames(root code.Node) (out []awareness.Finding) {
	for n := range root.All() {
		if n.Is("import_declaration", "scoped_type_identifier", "string_literal") && awareForm().runner.MatchString(n.Text()) {
			out = append(out, awareness.Finding{Word: "knows the test runner", Line: n.Line()})
		}
	}
	return out
}

// loadCalls look for a class or a file of the build by its name.
var loadCalls = []string{"getResource", "getResourceAsStream", "getResources", "forName", "loadClass", "findClass", "findLoadedClass", "getSystemResource", "getSystemResourceAsStream"}

// looksFor finds the names of what is of tests in a file that looks for
// something by a name which is handed to it.
func looksFor(f *dataflow.File, repo dataflow.Repository) (out []awareness.Finding) {
	asks := false
	f.Every(func(_ *dataflow.Func, s *dataflow.Node) {
		if s.Op == dataflow.OpCall && len(s.Kids) > 1 && slices.Contains(loadCalls, dataflow.Last(s.Callee())) {
			_, constant := s.Kids[1].Constant()
			asks = asks || !constant
		}
	})
	if !asks {
		return nil
	}
	f.Texts(func(text string, line int) {
		if awareForm().class.MatchString(text) && namesTest(text, repo) {
			out = append(out, awareness.Finding{Word: "looks for what is of tests (" + text + ")", Line: line})
		}
	})
	return out
}

// comparisons finds comparisons that do not look at what they compare.
func comparisons(f *dataflow.File) (out []awareness.Finding) {
	for _, fn := range f.Funcs {
		if len(fn.Params) != 1 || len(fn.Results) != 1 ||
			!(fn.Name == "equals" && fn.Results[0] == "boolean" || fn.Name == "compareTo" && fn.Results[0] == "int") {
			continue
		}
		c := dataflow.Comparison{Func: fn, Self: "this", Other: fn.Params[0].Name, Both: true, Fields: true}
		out = append(out, c.Hollow(f)...)
	}
	return out
}
