package golang

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
	"sync"

	"agency/internal/awareness/dataflow"
	"agency/internal/ecosystem"
	"agency/internal/regexp"
)

// awareReader reads sources for what they can know of their tests.
type awareReader struct{}

func testAwareness() ecosystem.Awareness {
	return ecosystem.Awareness{Read: awareReader{}.read, Model: awareReader{}.model, Handed: handedIn, TestMain: testMain}
}

// processOrigins are the ways by which code of Go can look at who runs it.
var processOrigins = map[string]dataflow.Origin{
	"runtime.Caller": {Grade: dataflow.GradeStrong, Results: []int{0, 1, 2}}, "runtime.Callers": {Grade: dataflow.GradeStrong},
	"runtime.CallersFrames": {Grade: dataflow.GradeStrong, Results: []int{0}}, "runtime.FuncForPC": {Grade: dataflow.GradeStrong},
	"runtime.Stack": {Grade: dataflow.GradeStrong}, "runtime/debug.Stack": {Grade: dataflow.GradeStrong},
	"runtime.NumGoroutine": {Grade: dataflow.GradeStrong, Number: true}, "runtime.GoroutineProfile": {Grade: dataflow.GradeStrong}, "runtime.NumCgoCall": {Grade: dataflow.GradeStrong, Number: true},
	"runtime/pprof.Lookup": {Grade: dataflow.GradeStrong}, "runtime/pprof.Profiles": {Grade: dataflow.GradeStrong}, "runtime/pprof.Label": {Grade: dataflow.GradeStrong},
	"os.Executable": {Grade: dataflow.GradeStrong, Results: []int{0}, Own: true}, "os.Getppid": {Grade: dataflow.GradeStrong}, "syscall.Getppid": {Grade: dataflow.GradeStrong},
	"expvar.Get": {Grade: dataflow.GradeStrong}, "log.Flags": {Grade: dataflow.GradeStrong}, "log.Prefix": {Grade: dataflow.GradeStrong}, "log.Writer": {Grade: dataflow.GradeStrong},
	"runtime/metrics.Read": {Grade: dataflow.GradeStrong}, "runtime.ReadMemStats": {Grade: dataflow.GradeStrong}, "flag.Set": {Grade: dataflow.GradeArgs},
	"os.Environ": {Grade: dataflow.GradeWeak, Loads: true},
	"os.Args":    {Grade: dataflow.GradeArgs}, "flag.CommandLine": {Grade: dataflow.GradeArgs}, "flag.Lookup": {Grade: dataflow.GradeArgs}, "flag.Visit": {Grade: dataflow.GradeArgs},
	"flag.VisitAll": {Grade: dataflow.GradeArgs}, "flag.Args": {Grade: dataflow.GradeArgs}, "flag.Arg": {Grade: dataflow.GradeArgs}, "flag.NArg": {Grade: dataflow.GradeArgs},
	"flag.NFlag": {Grade: dataflow.GradeArgs}, "flag.Parsed": {Grade: dataflow.GradeArgs},
	"os.Stdout": {Stream: true}, "os.Stderr": {Stream: true}, "os.Stdin": {Stream: true, Input: true},
	"os.Getwd": {Grade: dataflow.GradeWeak, Results: []int{0}}, "syscall.Getwd": {Grade: dataflow.GradeWeak}, "runtime/debug.ReadBuildInfo": {Grade: dataflow.GradeWeak, Results: []int{0}},
}

// fileCalls look at files by their name.
var fileCalls = map[string]bool{
	"os.Stat": true, "os.Lstat": true, "os.Open": true, "os.OpenFile": true, "os.ReadFile": true, "os.ReadDir": true, "os.Readlink": true,
	"os.DirFS": true, "path/filepath.Glob": true, "path/filepath.WalkDir": true, "path/filepath.Walk": true, "path/filepath.Abs": true, "path/filepath.EvalSymlinks": true, "io/ioutil.ReadFile": true, "io/ioutil.ReadDir": true,
}

// flowCalls are packages whose functions give on what they are given.
var flowCalls = []string{
	"strings.", "bytes.", "path.", "path/filepath.Base", "path/filepath.Clean", "path/filepath.Dir", "path/filepath.Ext", "path/filepath.Join", "path/filepath.Rel",
	"path/filepath.ToSlash", "path/filepath.Match", "path/filepath.Split", "fmt.Sprint", "fmt.Append", "fmt.Errorf", "slices.", "maps.", "strconv.", "regexp.", "unicode/utf8.", "cmp.",
	"os.Stat", "os.Lstat", "os.SameFile", "errors.",
}

// streamAskers tell of a stream who is at its other end.
var streamAskers = regexp.MustCompile(`^(?:Stat|Fd|Seek|Sync|SyscallConn|Set(?:Read|Write)?Deadline|ReadAt|WriteAt|Truncate|Is(?:Cygwin)?Terminal|Isatty|IsTTY|GetSize|GetState|MakeRaw|Fstat|Ioctl\w*|Dup\w*|NewFile)$`)

// streamFiles are names of files that are the streams.
var streamFiles = regexp.MustCompile(`^/dev/(?:std(?:in|out|err)|fd/\d+)$`)

// flowBuiltins are functions and types of the language that do.
var flowBuiltins = []string{"string", "len", "append", "min", "max", "int", "int64", "uint64", "bool", "byte", "any"}

// model is what is known of Go.
func (awareReader) model(repo dataflow.Repository) *dataflow.Model {
	return &dataflow.Model{
		Origins: processOrigins,
		Asked: func(f *dataflow.File, name, constant string) (dataflow.Origin, bool) {
			if name == "os.Getenv" || name == "os.LookupEnv" {
				return dataflow.Origin{Grade: dataflow.GradeStrong}, slices.Contains([]string{"_", "PWD", "OLDPWD", "GOCOVERDIR", "GOTEST", "GOFLAGS"}, constant)
			}
			if name == "os/exec.Command" {
				return dataflow.Origin{Grade: dataflow.GradeStrong}, slices.Contains([]string{"pwd", "ps", "pstree", "lsof", "tty"}, constant)
			}
			if fileCalls[name] && streamFiles.MatchString(constant) {
				return dataflow.Origin{Grade: dataflow.GradeStrong, Stream: true}, !strings.HasPrefix(name, "os.Open")
			}
			if !fileCalls[name] || path.IsAbs(constant) {
				return dataflow.Origin{}, false
			}
			dir := path.Dir(f.Path)
			beside := dir != "." && repo.Exists(path.Join(dir, constant)) && !repo.Exists(path.Clean(constant))
			return dataflow.Origin{Grade: dataflow.GradeWeak}, beside || path.Clean(constant) == "." || strings.HasSuffix(constant, ".go") || repo.IsTest(constant)
		},
		Places: func(call *dataflow.Node) bool {
			return call.Callee() == "log.New" && call.Names(map[string]bool{"log.Lshortfile": true, "log.Llongfile": true}) && !call.Names(map[string]bool{"os.Stderr": true, "os.Stdout": true})
		},
		Flows: func(name string) bool {
			return slices.Contains(flowBuiltins, name) || slices.ContainsFunc(flowCalls, func(p string) bool { return strings.HasPrefix(name, p) })
		},
		Askers: streamAskers,
		Tells: func(name string) bool {
			said := func(p string) bool { return strings.HasPrefix(name, p) }
			return slices.ContainsFunc([]string{"fmt.Print", "fmt.Fprint", "log.", "log/slog."}, said) || slices.Contains([]string{"Print", "Printf", "Println", "Log", "Logf", "Debug", "Info", "Warn", "Error", "Errorf", "println", "print"}, name)
		},
		Ends: awareReader{}.ends,
		ArgType: func(typ string) bool {
			return slices.Contains([]string{"[]string", "int", "error", "context.Context", "io.Writer", "io.Reader", "*os.File", "io/fs.FS", "string"}, typ)
		},
	}
}

// handedIn are the ways by which a test can hand something to code beside its
// arguments.
var handedIn = sync.OnceValue(func() ecosystem.Handed {
	re := regexp.MustCompile
	return ecosystem.Handed{
		Environment: re(`os\.(?:Getenv|LookupEnv)\(\s*["` + "`" + `]([^"` + "`" + `]+)`),
		Variables:   settableVariables,
		Channels: []ecosystem.Channel{
			{Reads: re(`\b(runtime\.GOMAXPROCS|debug\.SetGCPercent)\(`), Sets: re(`\b(runtime\.GOMAXPROCS|debug\.SetGCPercent)\(`)},
			{Reads: re(`os\.TempDir\(\)[^\n]*?"([^"]+)"`), Sets: re(`"([^"]+)"`)},
			{Reads: re(`\b(time\.Local)\b`), Sets: re(`\btime\.Local\s*=`)},
		},
	}
})

// settableVariables are those of a package that code elsewhere can set.
func settableVariables(src []byte) []string {
	file, _ := parser.ParseFile(token.NewFileSet(), "", src, parser.SkipObjectResolution)
	if file == nil {
		return nil
	}
	var out []string
	for _, d := range file.Decls {
		gen, ok := d.(*ast.GenDecl)
		if !ok || gen.Tok != token.VAR {
			continue
		}
		for _, s := range gen.Specs {
			v, ok := s.(*ast.ValueSpec)
			if !ok || injected(v) {
				continue
			}
			for _, n := range v.Names {
				if n.Name != "_" {
					out = append(out, n.Name)
				}
			}
		}
	}
	return out
}

// injected tells of a variable that holds a function of another package, such as
// time.Now: tests put another in its place, as everybody does.
func injected(v *ast.ValueSpec) bool {
	return len(v.Values) > 0 && !slices.ContainsFunc(v.Values, func(x ast.Expr) bool { _, ok := x.(*ast.SelectorExpr); return !ok })
}
