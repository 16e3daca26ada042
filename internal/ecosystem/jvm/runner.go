package jvm

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"unicode"

	"agency/internal/ecosystem"
	"agency/internal/regexp"
	"agency/internal/testreport"
)

func runners() []ecosystem.Runner {
	maven := ecosystem.Runner{
		Name: "maven",
		Runs: func(w []string) bool {
			switch path.Base(w[0]) {
			case "mvn", "mvnw", "mvnd":
				return ecosystem.HasWord(w[1:], "test", "verify", "package", "install", "integration-test") &&
					!ecosystem.HasWord(w, "-DskipTests", "-Dmaven.test.skip", "-Dmaven.test.skip=true", "-DskipTests=true")
			}
			return false
		},
		Ask:    askBuilt(" -o -B -fae"),
		Select: selectMaven,
	}
	gradle := ecosystem.Runner{
		Name: "gradle",
		Runs: func(w []string) bool {
			base := path.Base(w[0])
			return (base == "gradle" || base == "gradlew") && gradleTests(w[1:]) && !ecosystem.HasWord(w, "--dry-run", "-m")
		},
		Ask:    askBuilt(" --offline --continue --no-daemon"),
		Kept:   func(name string) bool { return strings.Contains(name, "build/test-results/") },
		Select: selectGradle,
	}
	for _, r := range []*ecosystem.Runner{&maven, &gradle} {
		r.ReportAt = func(name string) (dir string, ok bool) {
			m := builtReport.FindStringSubmatch(name)
			if m == nil {
				return "", false
			}
			return strings.TrimSuffix(m[1], "/"), true
		}
		r.Names = testreport.IsDotted
		r.Sources = sources
	}
	return []ecosystem.Runner{maven, gradle}
}

// builtReport parts the path of a report of surefire, failsafe or Gradle at the
// module's folder.
var builtReport = regexp.MustCompile(`^(.*?)(?:target/(?:surefire|failsafe)-reports|build/test-results)/.*\.xml$`)

// askBuilt has a build go on after a failure, and reach no network.
func askBuilt(options string) func(ecosystem.Call, ecosystem.Query) (ecosystem.Asked, bool) {
	return func(c ecosystem.Call, _ ecosystem.Query) (ecosystem.Asked, bool) {
		return ecosystem.Asked{Edits: []ecosystem.Edit{c.After(c.At, options)}}, c.Script == ""
	}
}

// builtCall is a call of a program that builds and tests.
type builtCall struct{ ecosystem.Call }

// javaTest is a test of Java as it is written: module's folder, class, method.
type javaTest struct{ module, class, method string }

// javaName reads com.x.ATest.adds(int)[1], ATest#adds, ATest, adds.
func javaName(name string) javaTest {
	var t javaTest
	if i := strings.IndexAny(name, "([{"); i > 0 {
		name = name[:i]
	}
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		t.module, name = name[:i], name[i+1:]
	}
	parts := strings.Split(strings.ReplaceAll(name, "#", "."), ".")
	last := -1
	for i, p := range parts {
		if p != "" && unicode.IsUpper([]rune(p)[0]) {
			last = i
		}
	}
	if last < 0 && len(parts) > 1 { // a package
		t.class = name + ".*"
		return t
	}
	t.class, t.method = strings.Join(parts[:last+1], "."), strings.Join(parts[last+1:], ".")
	return t
}

// tests are the tests of a selection with their modules' folders. The
// module of a class that a person wrote is looked up by the name of its file.
func (c builtCall) tests(sel ecosystem.Selection, repo ecosystem.Repo) ([]javaTest, bool) {
	var out []javaTest
	for _, n := range sel.Names {
		t := javaName(n)
		if !sel.Exact && t.class != "" && !strings.HasSuffix(t.class, "*") {
			simple := t.class[strings.LastIndexByte(t.class, '.')+1:]
			found := repo.Below(c.Dir, ".", func(p string) bool {
				return strings.TrimSuffix(path.Base(p), path.Ext(p)) == simple && slices.Contains(sources, path.Ext(p))
			})
			if len(found) == 0 {
				return nil, false
			}
			t.module = javaModule(found[0])
		}
		for _, p := range sel.Paths {
			t.module = javaModule(p)
		}
		out = append(out, t)
	}
	if len(sel.Names) > 0 {
		return out, true
	}
	for _, p := range sel.Paths {
		module, rest := javaModule(p), ""
		if i := strings.Index(p, "src/"); i >= 0 {
			rest = p[i:]
		}
		t := javaTest{module: module}
		if f := strings.SplitN(rest, "/", 4); len(f) == 4 { // src/test/java/com/x/ATest.java
			t.class = strings.ReplaceAll(strings.TrimSuffix(f[3], path.Ext(f[3])), "/", ".")
			if !slices.Contains(sources, path.Ext(p)) {
				t.class += ".*"
			}
		}
		out = append(out, t)
	}
	return out, true
}

// sources are the endings of what the builds compile.
var sources = []string{".java", ".kt", ".groovy", ".scala"}

// javaModule is the folder of the module that a path belongs to.
func javaModule(p string) string {
	if i := strings.Index("/"+p, "/src/"); i >= 0 {
		return strings.TrimSuffix(p[:i], "/")
	}
	return strings.TrimPrefix(path.Clean(p), ".")
}

func selectMaven(call ecosystem.Call, sel ecosystem.Selection, repo ecosystem.Repo) ([]ecosystem.Edit, bool) {
	c := builtCall{call}
	tests, ok := c.tests(sel, repo)
	if !ok || ecosystem.HasWord(c.Words, "-Dtest") {
		return nil, false
	}
	var modules, names []string
	for _, t := range tests {
		if m := t.module; m != "" && !slices.Contains(modules, m) {
			modules = append(modules, m)
		}
		name := t.class
		if t.method != "" {
			name = cmp.Or(name, "*") + "#" + t.method
		}
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	text := ""
	if len(modules) > 0 && !ecosystem.HasWord(c.Words, "-pl", "--projects", "-f", "--file") {
		text += " -pl " + ecosystem.Quote(strings.Join(modules, ",")) + " -am"
	}
	if len(names) > 0 {
		text += " -Dsurefire.failIfNoSpecifiedTests=false -DfailIfNoTests=false -Dtest=" + ecosystem.Quote(strings.Join(names, ","))
	}
	return []ecosystem.Edit{c.AtEnd(text)}, text != ""
}

// selectGradle puts the test task of each module, with its filters, in place of
// the tasks of the call: a filter that finds nothing fails its task.
func selectGradle(call ecosystem.Call, sel ecosystem.Selection, repo ecosystem.Repo) ([]ecosystem.Edit, bool) {
	c := builtCall{call}
	tests, ok := c.tests(sel, repo)
	if !ok || ecosystem.HasWord(c.Words, "--tests") {
		return nil, false
	}
	tasks := c.gradleTasks()
	if len(tasks) == 0 {
		return nil, false
	}
	task := c.Words[tasks[0]]
	if i := strings.LastIndexByte(task, ':'); i >= 0 {
		task = task[i+1:]
	}
	if task == "check" || task == "build" {
		task = "test"
	}
	byModule := map[string]string{}
	var order []string
	for _, t := range tests {
		if _, seen := byModule[t.module]; !seen {
			order = append(order, t.module)
		}
		filter := ""
		switch {
		case t.class != "" && t.method != "":
			filter = t.class + "." + t.method
		case t.class != "":
			filter = t.class
		case t.method != "":
			filter = "*." + t.method
		}
		if filter != "" {
			filter = " --tests " + ecosystem.Quote(filter)
		}
		byModule[t.module] += filter
	}
	text := ""
	for _, m := range order {
		name := ":" + task
		if m != "" {
			name = ":" + strings.ReplaceAll(m, "/", ":") + name
		} else if !sel.Exact && len(sel.Paths) == 0 {
			name = task // of every module: which one has it is not known
		}
		text += " " + name + byModule[m]
	}
	return append(c.Dropped(tasks), c.AtEnd(text)), true
}

// gradleTasks are the words of a call that run tests.
func (c builtCall) gradleTasks() []int {
	var out []int
	for i := c.At + 1; i < len(c.Words); i++ {
		if gradleTests(c.Words[i : i+1]) {
			out = append(out, i)
		}
	}
	return out
}

func gradleTests(args []string) bool {
	for _, a := range args {
		task := a[strings.LastIndexByte(a, ':')+1:]
		if task == "test" || task == "check" || task == "build" || strings.HasSuffix(task, "Test") {
			return true
		}
	}
	return false
}
