package check

import (
	"path"
	"slices"
	"strings"
	"unicode"
)

// selectRust selects by the filters of the test binary, and packages by folder.
func (c call) selectRust(sel selection, repo files) ([]edit, bool) {
	var filters []string
	options := ""
	for _, p := range sel.paths {
		o, filter, ok := c.rustPath(p, repo)
		if !ok {
			return nil, false
		}
		options += o
		if filter != "" {
			filters = append(filters, filter)
		}
	}
	edits := []edit{insertAt(c.expr.Args[c.subcommand()].End().Offset(), options)}
	if c.runner == runNextest {
		return append(edits, c.nextest(append(filters, sel.names...), sel.exact)...), true
	}
	filters = append(filters, sel.names...)
	if len(filters) == 0 {
		return edits, true
	}
	text := " --"
	if slices.Contains(c.words, "--") {
		text = ""
	}
	if sel.exact {
		text += " --exact"
	}
	return append(edits, c.atEnd(text+" "+quoteAll(filters))), true
}

// subcommand is the index of the last word of `cargo +x test`, `cargo nextest run`.
func (c call) subcommand() int {
	at := c.at + 1
	for strings.HasPrefix(c.words[at], "+") {
		at++
	}
	if c.runner == runNextest {
		at++
	}
	return at
}

// nextest filters: the binary's id and the test's name stand in a receipt with
// a dot between.
func (c call) nextest(names []string, exact bool) []edit {
	if len(names) == 0 {
		return nil
	}
	var terms []string
	for _, n := range names {
		if id, test, ok := strings.Cut(n, "."); exact && ok {
			terms = append(terms, "(binary_id(="+id+") and test(="+test+"))")
			continue
		}
		terms = append(terms, "test("+n+")")
	}
	return []edit{insertAt(c.expr.Args[c.subcommand()].End().Offset(), " -E "+quote(strings.Join(terms, " or ")))}
}

// rustPath is how a file or folder is selected: the package of the nearest
// Cargo.toml, an integration test by its name, a source by its module.
func (c call) rustPath(p string, repo files) (options, filter string, ok bool) {
	full := path.Join(c.dir, p)
	dir := full
	for !repo.exists(path.Join(dir, "Cargo.toml")) {
		if dir == "." || dir == c.dir {
			return "", "", false
		}
		dir = path.Dir(dir)
	}
	manifest := string(repo.readFile(path.Join(dir, "Cargo.toml")))
	name := cargoPackage(manifest)
	if name == "" {
		return "", "", full == dir
	}
	options = " -p " + quote(name)
	rest := strings.TrimPrefix(strings.TrimPrefix(full, dir), "/")
	switch {
	case full == dir, rest == "src", rest == "src/lib.rs", rest == "src/main.rs":
	case strings.HasPrefix(rest, "tests/") && path.Ext(rest) == ".rs":
		test, _, _ := strings.Cut(strings.TrimPrefix(rest, "tests/"), "/")
		options += " --test " + quote(strings.TrimSuffix(test, ".rs"))
	case strings.HasPrefix(rest, "src/"):
		module := strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(rest, "src/"), ".rs"), "/mod")
		filter = strings.ReplaceAll(module, "/", "::") + "::"
	case rest == "tests":
		options += " --test '*'"
	default:
		return "", "", false
	}
	return options, filter, true
}

// cargoPackage is the name in the table [package] of a manifest.
func cargoPackage(manifest string) string {
	table := ""
	for line := range strings.Lines(manifest) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			table = line
		}
		if key, value, ok := strings.Cut(line, "="); ok && table == "[package]" && strings.TrimSpace(key) == "name" {
			value, _, _ = strings.Cut(strings.TrimSpace(value), "#")
			return strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	return ""
}

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

// javaTests are the tests of a selection with their modules' folders. The
// module of a class that a person wrote is looked up by the name of its file.
func (c call) javaTests(sel selection, repo files) ([]javaTest, bool) {
	var out []javaTest
	for _, n := range sel.names {
		t := javaName(n)
		if !sel.exact && t.class != "" && !strings.HasSuffix(t.class, "*") {
			simple := t.class[strings.LastIndexByte(t.class, '.')+1:]
			found := repo.below(c.dir, ".", func(p string) bool {
				return strings.TrimSuffix(path.Base(p), path.Ext(p)) == simple && isJava(p)
			})
			if len(found) == 0 {
				return nil, false
			}
			t.module = javaModule(found[0])
		}
		for _, p := range sel.paths {
			t.module = javaModule(p)
		}
		out = append(out, t)
	}
	if len(sel.names) > 0 {
		return out, true
	}
	for _, p := range sel.paths {
		module, rest := javaModule(p), ""
		if i := strings.Index(p, "src/"); i >= 0 {
			rest = p[i:]
		}
		t := javaTest{module: module}
		if f := strings.SplitN(rest, "/", 4); len(f) == 4 { // src/test/java/com/x/ATest.java
			t.class = strings.ReplaceAll(strings.TrimSuffix(f[3], path.Ext(f[3])), "/", ".")
			if !isJava(p) {
				t.class += ".*"
			}
		}
		out = append(out, t)
	}
	return out, true
}

func isJava(p string) bool {
	switch path.Ext(p) {
	case ".java", ".kt", ".groovy", ".scala":
		return true
	}
	return false
}

// javaModule is the folder of the module that a path belongs to.
func javaModule(p string) string {
	if i := strings.Index("/"+p, "/src/"); i >= 0 {
		return strings.TrimSuffix(p[:i], "/")
	}
	return strings.TrimPrefix(path.Clean(p), ".")
}

func (c call) selectMaven(sel selection, repo files) ([]edit, bool) {
	tests, ok := c.javaTests(sel, repo)
	if !ok || has(c.words, "-Dtest") {
		return nil, false
	}
	var modules, names []string
	for _, t := range tests {
		if m := t.module; m != "" && !slices.Contains(modules, m) {
			modules = append(modules, m)
		}
		name := t.class
		if t.method != "" {
			name = or(name, "*") + "#" + t.method
		}
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	text := ""
	if len(modules) > 0 && !has(c.words, "-pl", "--projects", "-f", "--file") {
		text += " -pl " + quote(strings.Join(modules, ",")) + " -am"
	}
	if len(names) > 0 {
		text += " -Dsurefire.failIfNoSpecifiedTests=false -DfailIfNoTests=false -Dtest=" + quote(strings.Join(names, ","))
	}
	return []edit{c.atEnd(text)}, text != ""
}

func or(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

// selectGradle puts the test task of each module, with its filters, in place of
// the tasks of the call: a filter that finds nothing fails its task.
func (c call) selectGradle(sel selection, repo files) ([]edit, bool) {
	tests, ok := c.javaTests(sel, repo)
	if !ok || has(c.words, "--tests") {
		return nil, false
	}
	tasks := c.gradleTasks()
	if len(tasks) == 0 {
		return nil, false
	}
	task := c.words[tasks[0]]
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
			filter = " --tests " + quote(filter)
		}
		byModule[t.module] += filter
	}
	text := ""
	for _, m := range order {
		name := ":" + task
		if m != "" {
			name = ":" + strings.ReplaceAll(m, "/", ":") + name
		} else if !sel.exact && len(sel.paths) == 0 {
			name = task // of every module: which one has it is not known
		}
		text += " " + name + byModule[m]
	}
	return append(c.dropped(tasks), c.atEnd(text)), true
}

// gradleTasks are the words of a call that run tests.
func (c call) gradleTasks() []int {
	var out []int
	for i := c.at + 1; i < len(c.words); i++ {
		if gradleTests(c.words[i : i+1]) {
			out = append(out, i)
		}
	}
	return out
}
