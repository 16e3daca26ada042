package jvm

import (
	"slices"
	"strings"
	"sync"

	"agency/internal/awareness"
	"agency/internal/awareness/dataflow"
	"agency/internal/ecosystem"
	"agency/internal/regexp"
)

// awareReader reads sources of Java for what they can know of their tests. Kotlin,
// which has no grammar here, is not read.
type awareReader struct{}

func testAwareness() ecosystem.Awareness {
	return ecosystem.Awareness{Read: awareReader{}.read, Model: awareReader{}.model, Handed: handedIn}
}

// read reads a source into the common form, with what it shows by itself.
func (awareReader) read(src dataflow.Source) (*dataflow.File, []awareness.Finding, error) {
	root, err := src.Tree()
	if err != nil {
		return nil, nil, err
	}
	f := readForm(src, root)
	found := slices.Concat(src.Mentions(f, nil), comparisons(f))
	if !src.Test {
		found = slices.Concat(found, runnerNames(root), looksFor(f, src.Repo))
	}
	return f, found, nil
}

// processOrigins are the ways by which code of Java can look at who runs it.
var processOrigins = map[string]dataflow.Origin{
	"java.lang.Thread.currentThread": {Grade: dataflow.GradeStrong, Silent: []string{
		"interrupt", "isInterrupted", "getId", "threadId", "getContextClassLoader", "setContextClassLoader", "setName", "join", "isVirtual", "isDaemon", "getUncaughtExceptionHandler", "setUncaughtExceptionHandler",
	}},
	"java.lang.Thread.getAllStackTraces": {Grade: dataflow.GradeStrong}, "java.lang.Thread.activeCount": {Grade: dataflow.GradeStrong, Number: true},
	"java.lang.Thread.enumerate": {Grade: dataflow.GradeStrong}, "java.lang.Thread.dumpStack": {Grade: dataflow.GradeStrong},
	"java.lang.StackWalker.getInstance": {Grade: dataflow.GradeStrong}, "java.lang.System.getProperties": {Grade: dataflow.GradeWeak},
	"java.lang.ProcessHandle.current": {Grade: dataflow.GradeStrong, Silent: []string{"pid"}}, "java.lang.ProcessHandle.allProcesses": {Grade: dataflow.GradeStrong},
	"java.lang.System.console":                                {Grade: dataflow.GradeStrong, Stream: true, Silent: []string{"readLine", "readPassword", "printf", "format", "writer", "reader", "flush", "charset"}},
	"java.lang.management.ManagementFactory.getRuntimeMXBean": {Grade: dataflow.GradeStrong, Silent: []string{"getUptime", "getStartTime", "getPid", "getVmVersion", "getSpecVersion"}},
	"java.lang.management.ManagementFactory.getThreadMXBean":  {Grade: dataflow.GradeStrong},
}

// processMembers are methods that do, whatever they are of.
var processMembers = map[string]dataflow.Origin{
	"getStackTrace": {Grade: dataflow.GradeStrong}, "printStackTrace": {Grade: dataflow.GradeStrong}, "getProtectionDomain": {Grade: dataflow.GradeStrong},
	"getSourceClassName": {Grade: dataflow.GradeStrong}, "getSourceMethodName": {Grade: dataflow.GradeStrong},
	"desiredAssertionStatus": {Grade: dataflow.GradeWeak},
}

// flowCalls are functions whose result tells what they are given.
var flowCalls = []string{
	"contains", "startsWith", "endsWith", "equals", "matches", "indexOf", "format", "join", "valueOf", "requireNonNull", "requireNonNullElse", "of", "ofNullable", "toString",
	"concat", "copyOf", "asList", "stream", "exists", "notExists", "isRegularFile", "isDirectory", "get", "isNull", "nonNull", "getOrDefault", "println", "append", "write", "compile", "matcher",
}

// model is what is known of Java.
func (awareReader) model(repo dataflow.Repository) *dataflow.Model {
	files := regexp.MustCompile(`^(?:new java\.io\.(?:File|FileInputStream|FileReader)|new File|(?:java\.nio\.file\.)?(?:Path\.of|Paths\.get))$`)
	return &dataflow.Model{
		Origins: processOrigins,
		Members: processMembers,
		Asked: func(_ *dataflow.File, name, constant string) (dataflow.Origin, bool) {
			switch dataflow.Last(name) {
			case "getProperty":
				return dataflow.Origin{Grade: dataflow.GradeStrong}, awareForm().property.MatchString(constant)
			case "getenv":
				return dataflow.Origin{Grade: dataflow.GradeStrong}, awareForm().variable.MatchString(constant)
			}
			if slices.Contains(loadCalls, dataflow.Last(name)) {
				return dataflow.Origin{Grade: dataflow.GradeStrong}, namesTest(constant, repo)
			}
			return dataflow.Origin{Grade: dataflow.GradeStrong}, files.MatchString(name) && (awareForm().build.MatchString(constant) || constant == "" || constant == ".")
		},
		Flows: func(name string) bool {
			return strings.HasPrefix(name, "new ") || slices.Contains(flowCalls, dataflow.Last(name)) || dataflow.Last(name) == "getProperty"
		},
		Tells: func(name string) bool {
			return slices.Contains([]string{"println", "print", "printf", "log", "debug", "info", "warn", "error", "trace", "warning", "fine", "severe", "assert"}, dataflow.Last(name))
		},
		Ends: awareReader{}.ends,
		ArgType: func(typ string) bool {
			return slices.Contains([]string{"String[]", "String...", "String", "int", "Integer", "PrintStream", "InputStream", "java.io.PrintStream", "Exception", "Throwable", "RuntimeException"}, typ)
		},
	}
}

// handedIn are the ways by which a test can hand something to code beside its
// arguments.
var handedIn = sync.OnceValue(func() ecosystem.Handed {
	re := regexp.MustCompile
	variables := re(`(?m)^\s*(?:public\s+|protected\s+)?static\s+(?:volatile\s+)?[\w<>\[\]]+\s+(\w+)\s*[=;]`)
	return ecosystem.Handed{
		Environment: re(`\bSystem\.get(?:env|Property)\(\s*"([^"]+)`),
		Variables:   func(src []byte) []string { return ecosystem.NamesIn(variables, src) },
		Channels: []ecosystem.Channel{
			{Reads: re(`\b(TimeZone|Locale|Charset)\.(?:getDefault|defaultCharset)\(`), Sets: re(`\b(TimeZone|Locale|Charset)\.setDefault\(`)},
			{Reads: re(`java\.io\.tmpdir[^\n]*?,\s*"([^"]+)"`), Sets: re(`"([^"]+)"`)},
		},
	}
})
