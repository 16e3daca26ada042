package check

import (
	"strings"
	"testing"
	"testing/fstest"
)

// repoOf is a repository of empty files, or NAME=CONTENT.
func repoOf(names ...string) fstest.MapFS {
	out := fstest.MapFS{}
	for _, n := range names {
		name, text, _ := strings.Cut(n, "=")
		out[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

// TestTargets narrows the test command of every runner to what an agent writes.
func TestTargets(t *testing.T) {
	const npm = `package.json={"scripts": {"test": "tsc && jest --config j.js src", "pretest": "x", "m": "mocha test/*.js", "n": "node --test test/", "all": "npm run n"}}`
	js := []string{"src/a.test.js=it('adds two'", "src/b/c.test.js", "test/a.test.js", "j.js", npm}
	py := []string{"tests/test_a.py=def test_one", "tests/sub/test_b.py", "cfg.ini"}
	rs := []string{"Cargo.toml=[workspace]\n", "core/Cargo.toml=[package]\nname = \"core-x\"\n", "core/src/a/b.rs=fn adds", "core/tests/it.rs", "core/src/lib.rs"}
	jv := []string{"pom.xml", "app/src/test/java/com/x/ATest.java", "app/src/main/java/com/x/A.java", "lib/src/test/java/BTest.java"}
	for _, tt := range []struct {
		line, target string
		repo         []string
		want         string
	}{
		{"npx jest --config j.js src", "./src/a.test.js", js, "npx jest --config j.js --runTestsByPath src/a.test.js"},
		{"npx jest --ci", "src/b/", js, "npx jest --ci src/b"},
		{"npx jest", "adds two", js, "npx jest -t 'adds two'"},
		{"npx jest", "src/a.test.js adds (x)", js, `npx jest -t 'adds \(x\)' --runTestsByPath src/a.test.js`},
		{"npx jest -t x", "adds", js, ""},
		{"npx vitest", "src/a.test.js > s > adds", js, "npx vitest run -t '^\\s*(s adds)$' src/a.test.js"},
		{"npx vitest run --pool threads", "src", js, "npx vitest run --pool threads src"},
		{"npx mocha test/*.js", "test", js, "npx mocha --recursive test"},
		{"npx mocha --timeout 5", "adds", js, "npx mocha --timeout 5 --grep adds"},
		{"node --test --import tsx test/", "test", js, "node --test --import tsx test/a.test.js"},
		{"node --test", "src", js, "node --test src/a.test.js src/b/c.test.js"},
		{"node --test", "adds two", js, "node --test --test-name-pattern='adds two'"},
		{"npm test", "src/a.test.js", js, `(PATH="$PWD/node_modules/.bin:$PATH"; export PATH; npm run pretest && tsc && jest --config j.js --runTestsByPath src/a.test.js)`},
		{"npm test -- --ci", "adds", js, `(PATH="$PWD/node_modules/.bin:$PATH"; export PATH; npm run pretest && tsc && jest --config j.js src --ci -t adds)`},
		{"pnpm run all", "test/a.test.js", js, `(PATH="$PWD/node_modules/.bin:$PATH"; export PATH; (PATH="$PWD/node_modules/.bin:$PATH"; export PATH; node --test test/a.test.js))`},
		{"npm run build && npx jest 2>&1", "src/a.test.js", js, "npm run build && npx jest --runTestsByPath src/a.test.js 2>&1"},

		{"python3 -m pytest -q -c cfg.ini tests", "tests/test_a.py", py, "python3 -m pytest tests/test_a.py -q -c cfg.ini"},
		{"pytest", "tests/sub", py, "pytest tests/sub"},
		{"pytest tests", "tests/sub", py, "pytest tests/sub"},
		{"pytest -q", "TestA::test_one", py, "pytest -k 'TestA and test_one' -q"},
		{"pytest", "tests/test_a.py::test_one", py, "pytest tests/test_a.py::test_one"},
		{"pytest", "tests/test_a.py test_one[1]", py, "pytest tests/test_a.py -k test_one"},
		{"pytest", "two words", py, ""},
		{"pytest -k x", "test_one", py, ""},
		{"python3 -m unittest discover -s tests", "tests/test_a.py", py, `python3 -m unittest discover -s tests -k 'test_a.*'`},
		{"python3 -m unittest discover -s tests", "tests", py, `python3 -m unittest discover -s tests`},
		{"python3 -m unittest", "tests/sub", py, `python3 -m unittest -k 'tests.sub.*'`},
		{"python3 -m unittest", "TestA.test_one", py, "python3 -m unittest -k TestA.test_one"},

		{"cargo test --workspace", "core", rs, "cargo test -p core-x --workspace"},
		{"cargo test", "core/tests/it.rs", rs, "cargo test -p core-x --test it"},
		{"cargo test", "core/src/a/b.rs", rs, "cargo test -p core-x -- a::b::"},
		{"cargo test -- --test-threads=1", "adds", rs, "cargo test -- --test-threads=1 adds"},
		{"cargo test", "core adds", rs, "cargo test -p core-x -- adds"},
		{"cargo nextest run", "core/src/a/b.rs", rs, "cargo nextest run -p core-x -E 'test(a::b::)'"},
		{"cargo nextest run", "core-x.a::b::adds", rs, "cargo nextest run -E '(binary_id(=core-x) and test(=a::b::adds))'"},

		{"mvn -q test", "app", jv, "mvn -q test -pl app -am"},
		{"mvn test", "ATest#adds", jv, "mvn test -pl app -am -Dsurefire.failIfNoSpecifiedTests=false -DfailIfNoTests=false -Dtest='ATest#adds'"},
		{"mvn test", "app/src/test/java/com/x/ATest.java", jv, "mvn test -pl app -am -Dsurefire.failIfNoSpecifiedTests=false -DfailIfNoTests=false -Dtest=com.x.ATest"},
		{"mvn test", "Nowhere", jv, ""},
		{"./gradlew build", "lib/src/test/java/BTest.java", jv, "./gradlew :lib:test --tests BTest"},
		{"./gradlew test", "app/com.x.ATest.adds", jv, "./gradlew :app:test --tests com.x.ATest.adds"},
		{"./gradlew check", "adds", jv, "./gradlew test --tests '*.adds'"},
		{"./gradlew test", "app/src/test/java/com/x", jv, "./gradlew :app:test --tests 'com.x.*'"},

		{"go test ./... && (cd web && npx jest)", "web/x.test.js", []string{"go.mod=module ex.com/p\n", "web/x.test.js"}, "(cd web && npx jest --runTestsByPath x.test.js)"},
		{"go test ./... && (cd web && npx jest)", "./internal/a", []string{"go.mod=module ex.com/p\n", "internal/a/a.go"}, "go test ./internal/a/..."},
		{"go test ./... && (cd web && npx jest)", "TestX", []string{"go.mod=module ex.com/p\n", "a_test.go=func TestX("}, "go test -run '^(TestX)$' ./..."},
		{"go test ./... && (cd web && npx jest)", "ex.com/p/a.TestX/case", []string{"go.mod=module ex.com/p\n"}, "go test -run '^(TestX)$' ex.com/p/a"},
		{"go test ./... && (cd web && npx jest)", "nowhere", []string{"go.mod=module ex.com/p\n"}, ""},
		{"make test", "src", js, ""},
	} {
		got, err := Target(tt.line, tt.target, repoOf(tt.repo...))
		if tt.want == "" {
			if err == nil || !strings.Contains(err.Error(), "cannot be narrowed") {
				t.Errorf("`%s` to %s: %q, %v", tt.line, tt.target, got, err)
			}
			continue
		}
		if err != nil || got != tt.want {
			t.Errorf("`%s` to %s: %v\n got %s\nwant %s", tt.line, tt.target, err, got, tt.want)
		}
	}
}
