package detect

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/ecosystem"
	"agency/internal/sandbox"
)

const gradle9 = "distributionBase=GRADLE_USER_HOME\ndistributionUrl=https\\://services.example/distributions/gradle-9.9-bin.zip\n"

// TestAbsentPrograms asks the real shell in the sandbox: what cannot run is
// refused with what, where and how to mend it; what can run or may is not.
func TestAbsentPrograms(t *testing.T) {
	runner, err := sandbox.New(sandbox.Options{Mode: sandbox.ModeFull, StateDir: t.TempDir()})
	if err != nil {
		t.Skipf("no full sandbox here: %v", err)
	}
	t.Cleanup(func() { _ = runner.Close() }) // never fails
	tape := `{"scripts": {"test": "no-such-tape test/*.js"}, "devDependencies": {"no-such-tape": "1"}}`
	for name, tt := range map[string]struct {
		files    map[string]string
		cmds     check.Commands
		online   bool
		what     string // of the error; empty: none
		mend     string
		note     string
		hostOnly string // a program that only the user's PATH has
		home     string // a file in the user's home
	}{
		"nothing is missing": {cmds: check.Commands{Test: "sh -c true && cat x"}},
		"no such program":    {cmds: check.Commands{Test: "no-such-runner -v"}, what: "commands.test `no-such-runner -v` cannot run: no-such-runner is not in PATH", mend: "install no-such-runner or add its folder to PATH"},
		"of setup":           {cmds: check.Commands{Setup: "no-such-pm install", Test: "pytest"}, what: "commands.setup `no-such-pm install` cannot run", mend: "set commands.setup"},
		"setup installs it":  {files: map[string]string{"setup.sh": ""}, cmds: check.Commands{Setup: "sh setup.sh", Test: "no-such-runner"}},
		"only linted":        {cmds: check.Commands{Test: "true", Lint: "no-such-lint ."}, note: "commands.lint `no-such-lint .` cannot run, and is red before and after: no-such-lint is not in PATH"},
		"outside alone":      {cmds: check.Commands{Test: "only-outside"}, hostOnly: "only-outside", what: "only-outside, which the sandbox does not show", mend: "sandbox.read"},
		"extra cargo":        {cmds: check.Commands{Test: "cat x && cargo-none"}, what: "cargo-none is not in PATH"},
		"a script's program": {
			files: map[string]string{"package.json": tape, "package-lock.json": "{}"}, cmds: check.Commands{Test: "npm test"},
			what: "no-such-tape, which script test of package.json starts, is neither in node_modules/.bin of the repository nor in PATH", mend: "npm ci, or have the run do it: commands.setup",
		},
		"a script of several parts": {
			files: map[string]string{"package.json": `{"scripts": {"build": "no-such-tape build", "test": "no-such-tape test && npm run size", "size": "no-such-limit"}, "devDependencies": {"no-such-tape": "1"}}`},
			cmds:  check.Commands{Build: "npm run build", Test: "npm test"},
			what: "commands.test `npm test` cannot run: no-such-tape, which script test of package.json starts, is neither in node_modules/.bin of the repository nor in PATH; " +
				"no-such-limit, which script test of package.json starts, is neither in node_modules/.bin of the repository nor in PATH; nor can commands.build `npm run build`",
		},
		"behind another that is missing": {cmds: check.Commands{Lint: "no-such-lint .", Test: "no-such-runner"}, what: "commands.test `no-such-runner` cannot run: no-such-runner is not in PATH; commands.lint `no-such-lint .` cannot run either"},
		"behind one that only checks": {
			files: map[string]string{"whatever.sh": ""}, cmds: check.Commands{Typecheck: "make -v", Lint: "./whatever.sh", Test: "no-such-runner"},
			what: "commands.test `no-such-runner` cannot run: no-such-runner is not in PATH",
		},
		"behind one that may install it":      {files: map[string]string{"whatever.sh": ""}, cmds: check.Commands{Setup: "./whatever.sh", Lint: "true", Test: "no-such-runner"}},
		"behind one of its own line":          {files: map[string]string{"whatever.sh": ""}, cmds: check.Commands{Test: "./whatever.sh && no-such-runner"}},
		"behind a build":                      {files: map[string]string{"whatever.sh": ""}, cmds: check.Commands{Build: "./whatever.sh", Lint: "true", Test: "no-such-runner"}, note: "commands.test `no-such-runner` may be unable to run, unless the build brings what is missing: no-such-runner is not in PATH"},
		"behind a build that is there":        {cmds: check.Commands{Build: "find .", Test: "no-such-runner"}, note: "commands.test `no-such-runner` may be unable to run"},
		"behind a build that is missing, too": {cmds: check.Commands{Build: "no-such-build", Test: "no-such-runner"}, what: "commands.test `no-such-runner` cannot run"},
		"in a part": {
			files: map[string]string{"web/package.json": `{"scripts": {"test": "no-such-tape"}}`}, cmds: check.Commands{Test: "(cd web && npm test)"},
			what: "node_modules/.bin of web", mend: "echo /web/node_modules/ >>.git/info/exclude && (cd web && npm install --no-save --no-package-lock no-such-tape)",
		},
		"installed above": {
			files: map[string]string{"web/package.json": tape, "package.json": "{}", "node_modules/.bin/no-such-tape": ""}, cmds: check.Commands{Test: "(cd web && npm test)"},
		},
		"npx":              {files: map[string]string{"package.json": "{}"}, cmds: check.Commands{Test: "npx no-such-jest"}, what: "no-such-jest is neither in node_modules/.bin of the repository nor in PATH, and npx would want to download it", mend: "npm install --no-save --no-package-lock no-such-jest"},
		"npx --yes":        {files: map[string]string{"package.json": "{}"}, cmds: check.Commands{Test: "true", Typecheck: "npx --yes no-such-tsc@5 --noEmit"}, note: "commands.typecheck `npx --yes no-such-tsc@5 --noEmit` cannot run"},
		"npx of a package": {files: map[string]string{"package.json": "{}", "node_modules/no-such-tsc/x": ""}, cmds: check.Commands{Test: "npx no-such-tsc"}},
		"npx over the net": {files: map[string]string{"package.json": "{}"}, cmds: check.Commands{Test: "npx no-such-jest"}, online: true},
		"npx of its own":   {files: map[string]string{"package.json": `{"name": "no-such-jest", "bin": "x.js"}`}, cmds: check.Commands{Test: "npx no-such-jest"}},
		"plug and play":    {files: map[string]string{"package.json": tape, ".pnp.cjs": ""}, cmds: check.Commands{Test: "npm test"}},
		"yarn 4":           {files: map[string]string{"package.json": tape, "yarn.lock": "__metadata:\n"}, cmds: check.Commands{Test: "npm test"}},
		"a module": {
			files: map[string]string{"x.py": ""}, cmds: check.Commands{Test: "python3 -m nox"},
			what: "python3 has no module nox", mend: "python3 -m venv .venv && .venv/bin/pip install nox",
		},
		"a module that a file names": {
			files: map[string]string{"requirements.txt": "nox==1\n"}, cmds: check.Commands{Test: "python3 -m nox"},
			what: "python3 has no module nox", mend: ".venv/bin/pip install -r requirements.txt",
		},
		"a module of the repository": {files: map[string]string{"nox/__init__.py": ""}, cmds: check.Commands{Test: "python3 -m nox"}},
		"a module of nobody":         {files: map[string]string{"x.py": ""}, cmds: check.Commands{Test: "python3 -m nosuchmodule.tests"}, note: "python3 has no module nosuchmodule; mend: install what brings it, or write it"},
		"no script of a shell":       {cmds: check.Commands{Test: "cd . && bash -eu scripts/nosuch.sh all"}, note: "commands.test `cd . && bash -eu scripts/nosuch.sh all` cannot run, and is red before and after: scripts/nosuch.sh is not there; mend: write and commit it, or set commands.test in agency.yaml to what is there"},
		"no script at its path":      {cmds: check.Commands{Test: "./nosuch.sh"}, note: "nosuch.sh is not there"},
		"a script at its path":       {files: map[string]string{"such.sh": ""}, cmds: check.Commands{Test: "./such.sh"}},
		"a script that does not run": {files: map[string]string{"such.sh": "true\n"}, cmds: check.Commands{Test: "./such.sh"}, note: "such.sh is not executable; mend: chmod +x such.sh"},
		"a script of a shell":        {files: map[string]string{"such.sh": "true\n"}, cmds: check.Commands{Test: "sh such.sh"}},
		"a script that is made":      {cmds: check.Commands{Test: "cat such.in >such.sh && sh such.sh"}},
		"a script of a name made up": {cmds: check.Commands{Test: "sh ${DIR}such.sh"}},
		"no makefile":                {cmds: check.Commands{Test: "make check"}, note: "Makefile is not there"},
		"no makefile in a part":      {cmds: check.Commands{Test: "make -C web check"}, note: "web/Makefile is not there"},
		"a makefile":                 {files: map[string]string{"GNUmakefile": "check:\n"}, cmds: check.Commands{Test: "make check"}},
		"no such package script":     {files: map[string]string{"package.json": `{"scripts": {"unit": "true"}}`}, cmds: check.Commands{Test: "npm run nosuch"}, note: "package.json has no script nosuch, only unit; mend: write the script"},
		"no manifest":                {cmds: check.Commands{Test: "npm test"}, note: "package.json is not there"},
		"no wrapper":                 {cmds: check.Commands{Test: "./gradlew test"}, what: "./gradlew is not there in the repository"},
		"not executable":             {files: map[string]string{"gradlew": "#!/bin/sh\n"}, cmds: check.Commands{Test: "./gradlew test"}, what: "./gradlew is not executable", mend: "git update-index --chmod=+x gradlew"},
		"no distribution": {
			files: map[string]string{"gradlew": "", "gradle/wrapper/gradle-wrapper.properties": gradle9}, cmds: check.Commands{Test: "./gradlew test"},
			what: "gradle-9.9-bin, which ./gradlew would download, is not in ", mend: "./gradlew --version",
		},
		"a distribution": {
			files: map[string]string{"gradlew": "", "gradle/wrapper/gradle-wrapper.properties": gradle9}, cmds: check.Commands{Test: "./gradlew test"},
			home: ".gradle/wrapper/dists/gradle-9.9-bin/abc/gradle-9.9-bin.zip.ok",
		},
		"no distribution of maven": {
			files: map[string]string{"mvnw": "", ".mvn/wrapper/maven-wrapper.properties": "distributionUrl=https://repo.example/apache-maven-9.9-bin.zip\n"}, cmds: check.Commands{Test: "./mvnw test"},
			what: "apache-maven-9.9-bin, which ./mvnw would download", mend: "./mvnw --version",
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, program := range []string{"npm", "python3"} {
				if _, err := exec.LookPath(program); err != nil && (strings.Contains(tt.cmds.Test, program) || program == "npm" && strings.Contains(tt.cmds.Test, "npx")) {
					t.Skipf("needs %s", program)
				}
			}
			if strings.Contains(tt.cmds.Test, "-m nox") && exec.Command("python3", "-c", "import nox").Run() == nil {
				t.Skip("nox is installed here")
			}
			dir, bin := t.TempDir(), t.TempDir()
			write := func(at, text string, mode os.FileMode) {
				t.Helper()
				if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(at, []byte(text), mode); err != nil {
					t.Fatal(err)
				}
			}
			for n, text := range tt.files {
				mode := os.FileMode(0o644)
				if text == "" {
					mode = 0o755
				}
				write(filepath.Join(dir, n), text, mode)
			}
			env := func(name string) (string, bool) {
				if name == "HOME" {
					return bin, true
				}
				return os.LookupEnv(name)
			}
			if tt.home != "" {
				write(filepath.Join(bin, tt.home), "", 0o644)
			}
			if tt.hostOnly != "" {
				write(filepath.Join(bin, tt.hostOnly), "#!/bin/sh\n", 0o755)
				env = func(name string) (string, bool) {
					if name == "PATH" {
						return bin, true
					}
					return os.LookupEnv(name)
				}
			}
			root, err := os.OpenRoot(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = root.Close() }() // only read
			found, err := Toolchain(t.Context(), Input{Repo: root.FS(), Dir: dir, Env: os.LookupEnv})
			if err != nil {
				t.Fatal(err)
			}
			notes, err := AbsentPrograms(t.Context(), Base{
				Checker: check.New(check.Options{Runner: runner, Environment: ecosystem.Environment{Tools: found.Tools}, LayerDir: t.TempDir(), Dependencies: found.Dependencies, Finder: Finder{}}),
				Subject: check.Subject{Place: sandbox.Place{Root: dir, At: dir}, Stage: check.StageBase},
				Root:    root, Repo: dir, Commands: tt.cmds, Env: env, Online: tt.online,
			})
			switch {
			case tt.what == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tt.what != "" && (err == nil || !strings.Contains(err.Error(), tt.what) || !strings.Contains(agency.MendOf(err), tt.mend) || agency.KindOf(err) != agency.KindInvalid):
				t.Errorf("%v, mend %q", err, agency.MendOf(err))
			}
			if got := strings.Join(notes, "\n"); !strings.Contains(got, tt.note) || tt.note == "" && got != "" {
				t.Errorf("notes %q", notes)
			}
		})
	}
}
