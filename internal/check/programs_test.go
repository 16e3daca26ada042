package check_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"agency/internal/check"
	"agency/internal/ecosystem"
)

// What a command certainly starts, and no more: where in doubt it is left out.
func TestNeeds(t *testing.T) {
	repo := fstest.MapFS{
		"package.json":     {Data: []byte(`{"scripts": {"pretest": "eslint .", "test": "tape test/*.js | tap-spec", "unit": "cross-env A=1 mocha", "all": "npm run unit && yarn fmt", "fmt": "prettier .", "ci": "npm ci && jest", "empty": ""}}`)},
		"web/package.json": {Data: []byte(`{"scripts": {"test": "ava"}}`)},
		"Makefile":         {},
		"run-tests":        {Mode: 0o755},
	}
	module := func(name, in, dir string) check.Need {
		return check.Need{Kind: check.NeedModule, Need: ecosystem.Need{Name: name, In: in, Dir: dir}}
	}
	program := func(name string) check.Need { return check.Need{Need: ecosystem.Need{Name: name, Dir: "."}} }
	bin := func(name, script string) check.Need {
		return check.Need{Kind: check.NeedBin, Need: ecosystem.Need{Name: name, Dir: "."}, Script: script}
	}
	for line, want := range map[string][]check.Need{
		"":                             nil,
		"cargo test --workspace":       {program("cargo")},
		"cargo nextest run":            {program("cargo"), program("cargo-nextest")},
		"RUST_LOG=1 timeout 5 cargo t": {program("cargo")},
		"env A=b exec mvn test":        {program("mvn")},
		"make && ./build/tests":        {program("make")},
		"./gradlew test":               {{Need: ecosystem.Need{Name: "./gradlew", Dir: "."}}},
		"(cd web && npm test)":         {program("npm"), {Kind: check.NeedBin, Need: ecosystem.Need{Name: "ava", Dir: "web"}, Script: "script test of web/package.json"}},
		"npm test":                     {program("npm"), bin("eslint", "script pretest of package.json"), bin("tape", "script test of package.json"), bin("tap-spec", "script test of package.json")},
		"yarn test":                    {program("yarn"), bin("tape", "script test of package.json"), bin("tap-spec", "script test of package.json")},
		"npm run all":                  {program("npm"), bin("npm", "script all of package.json"), bin("cross-env", "script all of package.json"), bin("mocha", "script all of package.json"), bin("yarn", "script all of package.json"), bin("prettier", "script all of package.json")},
		"npm run empty":                {program("npm")},
		"npm run ci":                   {program("npm"), bin("npm", "script ci of package.json")},
		"npx jest":                     {program("npx"), {Kind: check.NeedBin, Need: ecosystem.Need{Name: "jest", In: "npx", Dir: "."}}},
		"npx jest@29":                  {program("npx"), {Kind: check.NeedBin, Need: ecosystem.Need{Name: "jest", In: "npx", Dir: "."}}},
		"npx --yes jest":               {program("npx"), {Kind: check.NeedBin, Need: ecosystem.Need{Name: "jest", In: "npx", Dir: "."}}},
		"npx -p jest-cli jest":         {program("npx")},
		"npx @jest/cli":                {program("npx")},
		"pnpm exec vitest run":         {program("pnpm"), {Kind: check.NeedBin, Need: ecosystem.Need{Name: "vitest", In: "pnpm", Dir: "."}}},
		"yarn jest":                    {program("yarn"), {Kind: check.NeedBin, Need: ecosystem.Need{Name: "jest", Dir: "."}}},
		"python3 -m pytest -q":         {program("python3"), module("pytest", "python3", ".")},
		"cd py && python -m coverage run -m pytest": {program("python"), module("coverage", "python", "py"), module("pytest", "python", "py")},
		"python3 -m mine.tests":                     {program("python3"), {Kind: check.NeedModule, Need: ecosystem.Need{Name: "mine", In: "python3", Dir: "."}, Own: true}},
		".venv/bin/python -m pytest":                {{Need: ecosystem.Need{Name: ".venv/bin/python", Dir: "."}}, module("pytest", ".venv/bin/python", ".")},
		"python3 -m unittest && pytest":             {program("python3"), program("pytest")},
		"go test ./... && (cd r && cargo test)":     {program("go"), program("cargo")},

		// What a shell decides, and what may not matter, is left alone.
		"if true; then cargo test; fi":          nil,
		"for d in a b; do (cd $d && tox); done": nil,
		"cargo test || true":                    nil,
		"! pytest":                              nil,
		"tox; go test ./...":                    {program("go")},
		"$TOX && go test":                       {program("go")},
		"PATH=x:$PATH tox":                      nil,
		"export PATH=x:$PATH && tox":            nil,
		"PATH=x:$PATH; tox":                     nil,
		". .venv/bin/activate && pytest":        nil,
		"f() { tox; }; f":                       nil,
		"command -v tox >/dev/null && go vet":   {program("go")},
		"cd $X && npm test":                     {program("npm")},
		"./run-tests":                           nil,
		"'unbalanced":                           nil,

		// Behind what installs only toolchains are judged.
		"npm ci && npm test":                       {program("npm")},
		"pip install -e . && pytest && cargo test": {program("pip"), program("cargo")},
		"make deps && npx jest":                    {program("make"), program("npx")},
		"test -d node_modules || npm ci; npx jest": {program("npx")},
	} {
		t.Run(line, func(t *testing.T) {
			got := slices.DeleteFunc(check.Needs(check.Commands{Test: line}, repo), func(n check.Need) bool { return n.After != nil })
			for i := range got {
				if got[i].Command != "test" || got[i].Line != line {
					t.Errorf("%+v: wrong command", got[i])
				}
				got[i].Command, got[i].Line = "", ""
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A setup installs packages: what remains are toolchains and its own program.
func TestNeedsBehindSetup(t *testing.T) {
	repo := fstest.MapFS{"package.json": {Data: []byte(`{"scripts": {"test": "tape"}}`)}}
	got := check.Needs(check.Commands{Setup: "pnpm install", Build: "cargo build", Lint: "ruff check", Test: "pnpm test && cargo test"}, repo)
	var names []string
	for _, n := range got {
		if n.After == nil {
			names = append(names, string(n.Command)+" "+n.Name)
		}
	}
	if diff := cmp.Diff([]string{"setup pnpm", "build cargo", "test cargo"}, names); diff != "" {
		t.Error(diff)
	}
}

// A program that nobody knows may install others, unless it is missing itself: in its
// own line, where it is of setup, and perhaps where it builds. Each command says what it
// needs, and after which others.
func TestNeedsBehindUnknownPrograms(t *testing.T) {
	repo := fstest.MapFS{"package.json": {Data: []byte(`{"scripts": {"build": "own-scripts build", "test": "own-scripts test && npm run size", "size": "own-limit"}}`)}, "types": {Mode: 0o755}, "setup.sh": {Mode: 0o755}}
	for name, tt := range map[string]struct {
		cmds check.Commands
		want []string
	}{
		"the line itself and the build": {
			check.Commands{Build: "npm run build", Lint: "odd-lint || true", Typecheck: "./types", Test: "npm test"},
			[]string{"build npm [] [] false", "build own-scripts [] [] false", "test npm [] [] false", "test own-scripts [] [1] false", "test npm [] [] false", "test own-limit [3] [1] false"},
		},
		"a build that may be skipped": {
			check.Commands{Build: "odd || true", Test: "no-such-runner"}, []string{"test no-such-runner [] [] true"},
		},
		"setup":                        {check.Commands{Setup: "odd", Build: "npm run build", Test: "other"}, []string{"setup odd [] [] false", "build npm [] [] false", "build own-scripts [0] [] false", "test other [0] [0 2] false"}},
		"a setup that nobody can read": {check.Commands{Setup: "./setup.sh", Lint: "pytest", Test: "pytest"}, nil},
	} {
		var got []string
		for _, n := range check.Needs(tt.cmds, repo) {
			got = append(got, fmt.Sprintf("%s %s %v %v %v", n.Command, n.Name, n.After, n.Built, n.Doubt))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
