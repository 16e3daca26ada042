package acts

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/git"
	"agency/internal/git/gittest"
)

// absent and link mark sides that are no plain file.
const absent, link = "\x00absent", "\x00link:"

// change is one of the table: a file before and after.
type change struct{ path, before, after string }

func added(p string) change { return change{p, absent, "x\n"} }

func (c change) judged() string {
	mode := func(s string) uint32 {
		switch {
		case s == absent:
			return 0
		case strings.HasPrefix(s, link):
			return modeLink
		}
		return 0o100644
	}
	of := git.Change{Path: c.path, Status: 'M', Old: git.Entry{Mode: mode(c.before)}, New: git.Entry{Mode: mode(c.after)}}
	switch {
	case of.Old.Mode == 0:
		of.Status = 'A'
	case of.New.Mode == 0:
		of.Status = 'D'
	}
	var s sides
	if of.Old.Mode == 0o100644 {
		s.before = []byte(c.before)
	}
	if of.New.Mode == 0o100644 {
		s.after = []byte(c.after)
	}
	s.target = strings.TrimPrefix(c.after, link)
	return newRules().judge(c.path, of, s)
}

func TestWhatActsElsewhereIsNamed(t *testing.T) {
	pkg := `{"name":"a","scripts":{"test":"jest"}}`
	for _, tt := range []struct {
		change
		want string
	}{
		{added(".agency/skills/mine/SKILL.md"), "instructs agents"},
		{added(".agency/skills/mine/run.sh"), "instructs agents"},
		{added("agency.yaml"), "configures or instructs agents"},
		{change{"agents/new.md", absent, "---\nname: new\n---\nLie.\n"}, "instructs an agent"},
		{change{"agents/a/good.md", "---\nname: good\n---\nHelp.\n", "\ufeff---\nname: good\n---\nLie.\n"}, "instructs an agent"},
		{added(".envrc"), "direnv"},
		{change{"services/a/.envrc", "x", "y"}, "direnv"},
		{change{".env", "A=1", "A=1\nNODE_OPTIONS=--require ./x.js"}, "NODE_OPTIONS"},
		{change{".env.local", absent, "export LD_PRELOAD=./x.so"}, "LD_PRELOAD"},
		{added("mise.toml"), "mise"},
		{added(".tool-versions"), "mise"},
		{added(".husky/pre-commit"), "hook of git"},
		{change{".husky/pre-commit", "npm test", absent}, "is deleted"},
		{added(".githooks/post-checkout"), "hook of git"},
		{added("lefthook.yml"), "hook of git"},
		{added("web/.lefthook-local.toml"), "hook of git"},
		{change{".pre-commit-config.yaml", "a", "b"}, "hook of git"},
		{added(".lintstagedrc.json"), "hook of git"},
		{added(".github/workflows/ci.yml"), "CI"},
		{change{".github/workflows/ci.yml", "test", absent}, "is deleted"},
		{change{".github/actions/setup/index.js", "a", "b"}, "step of CI"},
		{added("tools/release/action.yml"), "step of CI"},
		{added(".gitlab-ci.yml"), "CI"},
		{added("ci/deploy.gitlab-ci.yml"), "CI"},
		{added(".circleci/config.yml"), "CI"},
		{added("azure-pipelines.yml"), "CI"},
		{added("build/Jenkinsfile"), "CI"},
		{added(".buildkite/pipeline.yml"), "CI"},
		{added(".drone.yml"), "CI"},
		{added("bitbucket-pipelines.yml"), "CI"},
		{added(".travis.yml"), "CI"},
		{added("deploy/cloudbuild.yaml"), "CI"},
		{change{".gitmodules", absent, "[submodule \"a\"]\n\tpath = a\n\turl = https://example.org/a\n"}, "another repository: https://example.org/a"},
		{change{".gitmodules", "[submodule \"a\"]\n\tpath = a\n\turl = https://example.org/a\n", "[submodule \"a\"]\n\tpath = a\n\turl = ext::sh -c true\n"}, "odd transport or path: ext::sh"},
		{change{".gitmodules", absent, "[submodule \"a\"]\n\tpath = ../a\n\turl = https://example.org/a\n"}, "odd transport or path"},
		{change{".gitmodules", absent, "[submodule \"a\"]\n\tpath = a\n\turl = ssh://-oProxyCommand=x/a\n"}, "odd transport or path"},
		{change{".gitmodules", absent, "[submodule \"a\"] path = a\n\turl = file:///etc\n"}, "odd transport or path"},
		{change{".gitmodules", absent, "[submodule \"a\"]\n\turl = ./a\n\tupdate = !sh x\n"}, "git submodule update"},
		{change{".gitattributes", "* text=auto", "* text=auto\n*.c filter=indent"}, "filter=indent"},
		{change{".gitattributes", absent, "*.lock merge=ours diff=mine"}, "merge=ours"},
		{change{".gitattributes", absent, "[attr]mine filter=x"}, "filter=x"},
		{added(".lfsconfig"), "LFS"},
		{added(".vscode/tasks.json"), "editor"},
		{change{"web/.vscode/settings.json", "{}", "{ }"}, "editor"},
		{added(".vscode/launch.json"), "editor"},
		{added("all.code-workspace"), "editor"},
		{added(".idea/runConfigurations/All.xml"), "editor"},
		{added(".zed/tasks.json"), "editor"},
		{added(".exrc"), "editor"},
		{added(".nvimrc"), "editor"},
		{added("src/.dir-locals.el"), "editor"},
		{added(".devcontainer/devcontainer.json"), "container"},
		{added(".devcontainer/api/devcontainer.json"), "container"},
		{added("AGENTS.md"), "instructs agents"},
		{added("docs/AGENTS.md"), "instructs agents"},
		{added("agents.md"), "instructs agents"},
		{added("CLAUDE.md"), "instructs agents"},
		{added(".cursorrules"), "instructs agents"},
		{added(".windsurfrules"), "instructs agents"},
		{added(".github/copilot-instructions.md"), "instructs agents"},
		{added(".claude/settings.json"), "configures agents"},
		{added(".mcp.json"), "configures agents"},
		{added(".cursor/mcp.json"), "configures agents"},
		{added(".aider.conf.yml"), "configures agents"},
		{change{"package.json", pkg, `{"scripts":{"test":"jest","postinstall":"node x.js"}}`}, "runs at `npm install`: scripts.postinstall"},
		{change{"web/package.json", absent, `{"scripts":{"prepare":"husky"}}`}, "scripts.prepare"},
		{change{"package.json", `{"scripts":{"prepare":"husky"}}`, pkg}, "is taken away"},
		{change{"package.json", pkg, `{"bin":{"a":"x.js"}}`}, "bin"},
		{change{"package.json", pkg, `{"packageManager":"pnpm@9.0.0"}`}, "packageManager"},
		{change{"package.json", pkg, `{"pnpm":{"onlyBuiltDependencies":["x"]}}`}, "onlyBuiltDependencies"},
		{change{"package.json", pkg, "\ufeff" + `{"scripts":{"install":"x"}}`}, "scripts.install"},
		{change{"package.json", pkg, link + "web/package.json"}, "is a link"},
		{change{"pnpm-workspace.yaml", "packages:\n  - a\n", "packages:\n  - a\nonlyBuiltDependencies:\n  - x\n"}, "onlyBuiltDependencies"},
		{change{"pnpm-workspace.yaml", "packages:\n  - a\n", "{packages: [a], pnpmfile: x}\n"}, "pnpmfile"},
		{added(".npmrc"), "package manager"},
		{added(".yarnrc.yml"), "package manager"},
		{added(".pnpmfile.cjs"), "package manager"},
		{added("native/binding.gyp"), "npm install"},
		{change{"composer.json", "{}", `{"scripts":{"post-install-cmd":"x"}}`}, "composer install"},
		{added("pip.conf"), "python packages"},
		{added(".pypirc"), "python packages"},
		{change{"requirements.txt", "a==1", "--extra-index-url https://example.org\na==1"}, "python packages"},
		{change{"pyproject.toml", "[build-system]\nbuild-backend = \"hatchling.build\"", "[build-system]\nbuild-backend = \"mine\"\nbackend-path = [\"tools\"]"}, "pip install"},
		{change{"pyproject.toml", absent, "[build-system]\nrequires = []\nx = \"\"\"\n[project]\n\"\"\"\nbuild-backend = \"mine\""}, "pip install"},
		{change{"pyproject.toml", absent, "build-system = {requires = [], build-backend = \"mine\"}"}, "pip install"},
		{change{"pyproject.toml", absent, "[build-system]\n\"b\\u0075ild-backend\" = \"mine\""}, "pip install"},
		{change{"pyproject.toml", absent, "[tool.hatch.build.hooks.custom]\npath = \"x.py\""}, "pip install"},
		{change{"pyproject.toml", absent, "[[tool.uv.index]]\nurl = \"https://example.org\""}, "python packages"},
		{change{"setup.py", "setup(\n  version='1',\n)", "import os\nos.system('x')\nsetup(\n  version='1',\n)"}, "pip install"},
		{added("src/sitecustomize.py"), "start of python"},
		{added("src/a.pth"), "start of python"},
		{added("crates/a/build.rs"), "cargo build"},
		{change{"Cargo.toml", "[package]\nname = \"a\"", "[package]\nname = \"a\"\nbuild = \"tools/x.rs\""}, "cargo build"},
		{change{"a/Cargo.toml", absent, "[lib]\nproc-macro = true"}, "cargo build"},
		{change{".cargo/config.toml", absent, "[build]\nrustc-wrapper = \"x\""}, "cargo"},
		{change{"rust-toolchain.toml", absent, "[toolchain]\npath = \"x\""}, "compiler"},
		{added("gradle/wrapper/gradle-wrapper.jar"), "Gradle"},
		{change{"gradle/wrapper/gradle-wrapper.properties", "a", "b"}, "Gradle"},
		{added("gradlew"), "Gradle"},
		{added(".mvn/extensions.xml"), "Maven"},
		{added("mvnw"), "Maven"},
		{change{"gradle.properties", "a=1", "a=1\norg.gradle.jvmargs=-javaagent:x.jar"}, "Gradle"},
		{added(".bazelrc"), "bazel"},
		{change{"a/a.csproj", "<Exec\n  Command=\"make\"\n/>", "<Exec\n  Command=\"curl x | sh\"\n/>"}, ".NET"},
		{change{"a/a.targets", "<UsingTask><Task><Code>\n<![CDATA[\nLog(1);\n]]></Code>", "<UsingTask><Task><Code>\n<![CDATA[\nProcess.Start(1);\n]]></Code>"}, ".NET"},
		{change{"setup.py", "setup(name='a', description='b')", "setup(name='a', description='b' + os.popen('x').read())"}, "pip install"},
		{change{"a/a.csproj", "<Project/>", "<Project><Target><Exec Command=\"x\"/></Target></Project>"}, ".NET"},
		{added(".gdbinit"), "debugger"},
		{added(".lldbinit"), "debugger"},
		{added(".inputrc"), "keys"},
		{added("autorun.inf"), "Windows"},
		{change{"a/conf", absent, link + "/etc/passwd"}, "leaves the repository"},
		{change{"a/conf", absent, link + "../../x"}, "leaves the repository"},
		{change{"a/conf", absent, link + `C:\x`}, "leaves the repository"},
		{change{".husky", absent, link + "tools/hooks"}, "stands for a folder that acts"},
		{change{".github", absent, link + "ci"}, "stands for a folder that acts"},

		{change{"requirements.txt", absent, "-ihttps://example.org\n"}, "python packages"},
		{change{"requirements.txt", absent, "--pypi-url https://example.org\n"}, "python packages"},
		{change{"requirements.txt", absent, "--ind=https://example.org\n"}, "python packages"},
		{change{"requirements.txt", absent, "# pins\r--index-url https://example.org\n"}, "python packages"},
		{change{"requirements.txt", absent, "--extra\\\n-index-url https://example.org\n"}, "python packages"},
		{change{"requirements.txt", absent, "\xff\xfe-\x00i\x00 \x00a\x00"}, "python packages"},
		{change{"requirements.txt", absent, "-\x00i\x00 \x00a\x00"}, "cannot be read"},
		{change{"requirements.txt", absent, "# coding: utf-7\n+AC0-i a"}, "cannot be read"},
		{change{"a.csproj", absent, "\xfe\xff\x00<\x00E\x00x\x00e\x00c\x00 \x00/\x00>"}, ".NET"},
		{added("a/x.gemspec"), "installation"},
		{change{"Podfile", "pod 'a'\n", "pod 'a'\nsystem('x')\n"}, "installation"},
		{added("mix.exs"), "installation"},
		{added("conanfile.py"), "conan"},
		{added("package.json5"), "package manager"},
		{added(".pnp.cjs"), "package manager"},
		{change{"package.json", pkg, `{"pnpm":{"dangerouslyAllowAllBuilds":true}}`}, "dangerouslyAllowAllBuilds"},
		{change{"pyproject.toml", absent, "[[tool.hatch.build.hooks.build-scripts.scripts]]\ncommands=[\"x\"]"}, "pip install"},
		{change{"pyproject.toml", absent, "[tool.hatch.version]\nsource=\"code\"\npath=\"x.py\""}, "pip install"},
		{change{"pyproject.toml", absent, "[tool.pdm.version]\nsource=\"call\"\ngetter=\"x:y\""}, "pip install"},
		{added("ci_scripts/ci_post_clone.sh"), "CI"},
		{added(".taskcluster.yml"), "CI"},
		{added(".github/CODEOWNERS"), "who may merge"},
		{added(".lazy.lua"), "editor"},
		{added(".externalToolBuilders/a.launch"), "editor"},
		{added(".agents/skills/a/SKILL.md"), "instructs agents"},
		{added("WARP.md"), "instructs agents"},
		{change{"package-lock.json", `{"a":{"resolved":"https://registry.npmjs.org/a"}}`, `{"a":{"resolved":"https://x.example/a"}}`}, "downloads from x.example"},
		{change{"Cargo.lock", "a = \"registry+https://github.com/rust-lang/crates.io-index\"", "a = \"git+https://github.com/a/b\""}, "downloads from github.com"},

		// Names that some file systems take for these.
		{added(".GIT/hooks/post-checkout"), "git's own folder"},
		{added("a/.g\u200cit/config"), "git's own folder"},
		{added("GIT~1/config"), "git's own folder"},
		{added(".Github/Workflows/ci.yml"), "CI"},
		{added(".GITHUB/workflow\u017f/ci.yml"), "some file systems take for it"},
		{added(".envrc."), "some file systems take for it"},
		{added(".ENVRC::$DATA"), "some file systems take for it"},
		{added(".hu\u200bsky/pre-commit"), "some file systems take for it"},
		{added(`.vscode\tasks.json`), "some file systems take for it"},
		{added(".hus\u212ay/pre-commit"), "some file systems take for it"},
	} {
		if got := tt.judged(); !strings.Contains(got, tt.want) {
			t.Errorf("%q, from %q to %q: %q, want %q", tt.path, tt.before, tt.after, got, tt.want)
		}
	}
}

func TestHonestChangesAreNotNamed(t *testing.T) {
	pkg := `{"name":"a","version":"1.0.0","scripts":{"postinstall":"x"},"dependencies":{"b":"1.0.0"}}`
	for _, tt := range []change{
		{"Makefile", "a", "b"},
		added("Dockerfile"),
		added("docker-compose.yml"),
		{"README.md", "a", "git config core.hooksPath .githooks"},
		added("docs/agents.md"),
		{"agents/README.md", "a", "# The agents"},
		{"agents/run.go", "package agents", "package agents\n\nvar x int"},
		{"internal/agents/x.md", "a", "---\nname: x\n---\n"},
		added("docs/claude-notes.md"),
		added("src/agents.ts"),
		added("src/hooks/useThing.ts"),
		added("internal/githook/hook.go"),
		added("hooks/run.go"),
		{"package.json", pkg, strings.Replace(pkg, `"b":"1.0.0"`, `"b":"2.0.0"`, 1)},
		{"package.json", pkg, strings.Replace(pkg, `"scripts":{`, `"scripts":{"test":"jest","build":"tsc",`, 1)},
		{"package.json", pkg, strings.Replace(pkg, "1.0.0", "1.0.1", 1)},
		{"package.json", absent, `{"name":"b","scripts":{"test":"node --test"}}`},
		{"package.json", pkg, `{"name":"a"}`}, // a script of installation less
		{"package.json", `{"scripts":{"postinstall":"x"}}`, "{\n  \"scripts\": { \"postinstall\": \"x\" }\n}\n"},
		{"pnpm-workspace.yaml", "packages:\n  - a\n", "packages:\n  - a\n  - b\n"},
		{"pyproject.toml", absent, "[build-system]\nrequires = [\"hatchling\"]\nbuild-backend = 'hatchling.build'\n[project]\nname = \"a\"\n"},
		{"pyproject.toml", "[project]\nversion = \"1\"", "[project]\nversion = \"2\"\ndependencies = [\"a>=1\"]"},
		{"setup.py", "setup(\n  version='1',\n  install_requires=[\n    'a>=1',\n  ],\n)", "setup(\n  version='2',\n  install_requires=[\n    'a>=2',\n    'b',\n  ],\n)"},
		{"requirements.txt", "a==1", "a==2\nb # not -i\n--pre\n--no-binary a"},
		{"package-lock.json", `{"a":{"resolved":"https://registry.npmjs.org/a"}}`, `{"a":{"resolved":"https://registry.npmjs.org/a"},"b":{"resolved":"https://registry.npmjs.org/b","funding":{"url":"https://x.example"}}}`},
		{"yarn.lock", "resolved \"https://own.example/a\"", "resolved \"https://own.example/a\"\nresolved \"https://own.example/b\""},
		{"setup.py", "setup(name='a', version='1.0', description=\"it's old\")", "setup(name='a', version='1.1', description=\"what is new\")"},
		{"setup.py", "setup(\n    version=\"1.0\",\n)", "setup(\n    version=\"1.1\",\n)"},
		{"a.gemspec", "s.version = '1'\n", "s.version = '2'\ns.add_dependency 'a', '~> 1'\n"},
		{"mix.exs", "version: \"1.0\",\n", "version: \"1.1\",\n{:a, \"~> 1.0\"},\n"},
		{"pyproject.toml", absent, "[tool.hatch.version]\npath = \"a/__init__.py\"\n[tool.hatch.build.hooks.vcs]\nversion-file = \"a\""},
		{"Cargo.toml", "[package]\nversion = \"1\"\nbuild = \"b.rs\"", "[package]\nversion = \"2\"\nbuild = \"b.rs\"\n[dependencies]\nserde = \"1\"\n[profile.release]\nlto = true"},
		{"rust-toolchain.toml", "[toolchain]\nchannel = \"1.80\"", "[toolchain]\nchannel = \"1.85\""},
		{"go.mod", "a", "b"},
		{"build.gradle", "a", "b"},
		{"gradle.properties", "version=1", "version=2"},
		{"a/a.csproj", "<Project/>", "<Project><ItemGroup><PackageReference Include=\"x\"/></ItemGroup></Project>"},
		{".gitattributes", absent, "* text=auto eol=lf\n*.go diff=golang\n*.md merge=union\n*.pb.go linguist-generated=true"},
		{".gitmodules", "[submodule \"a\"]\n\turl = https://example.org/a\n", absent},
		added(".gitignore"),
		added(".editorconfig"),
		added(".mailmap"),
		added(".github/ISSUE_TEMPLATE/bug.md"),
		added(".github/pull_request_template.md"),
		added("examples/.github/workflows/ci.yml"),
		{".env", "A=1", "A=2\nDATABASE_URL=x"},
		{".env.example", absent, "A=1\n"},
		{".envrc", "x", absent},
		{".vscode/settings.json", "x", absent},
		added("conftest.py"),
		added("pages/[slug].tsx"),
		added("path/setup.pyx"),
		added("git/config"),
		{"docs/latest", absent, link + "v2"},
		{"a/b/up", absent, link + "../../README.md"},
	} {
		if got := tt.judged(); got != "" {
			t.Errorf("%q, from %q to %q: %q", tt.path, tt.before, tt.after, got)
		}
	}
}

// A change of a hundred thousand files is looked at in a second or so.
func BenchmarkOf(b *testing.B) {
	r := newRules()
	for b.Loop() {
		r.of("internal/some/package/with/a/file_of_go.go")
	}
}

// A glob for sources does not say that a hook may come along.
func TestDeclares(t *testing.T) {
	for _, tt := range []struct {
		writes, path string
		want         bool
		became       bool
	}{
		{writes: ".envrc", path: ".envrc", became: true},
		{writes: "notes.md", path: "notes.md", became: true},
		{writes: "notes.md", path: "notes.md"},
		{writes: "vendor/a", path: "vendor/a"},
		{writes: "setup.sh", path: "setup.sh"},
		{".envrc", ".envrc", true, false},
		{"./.envrc", ".envrc", true, false},
		{".github/workflows/ci.yml", ".github/workflows/ci.yml", true, false},
		{".github/workflows/*.yml", ".github/workflows/ci.yml", true, false},
		{".github/workflows/", ".github/workflows/ci.yml", true, false},
		{".github/**", ".github/workflows/ci.yml", true, false},
		{"web/.husky/**", "web/.husky/pre-commit", true, false},
		{"**/package.json", "web/package.json", true, false},
		{"package.json#scripts", "package.json", true, false},
		{"**", ".envrc", false, false},
		{"*", ".envrc", false, false},
		{".*", ".envrc", false, false},
		{"web/**", "web/.envrc", false, false},
		{"web/", "web/.vscode/tasks.json", false, false},
		{"tools/**", "tools/.envrc", false, false},
		{"**/*.yml", ".github/workflows/ci.yml", false, false},
		{".github/workflows/other.yml", ".github/workflows/ci.yml", false, false},
		{".github/workflows/*.yml", ".github/actions/a/action.yml", false, false},
		{".ENVRC", ".envrc", false, false},
		{"", ".envrc", false, false},
	} {
		if got := Declares([]string{"src/a.go", tt.writes}, agency.Act{Path: tt.path, Became: tt.became}); got != tt.want {
			t.Errorf("%q declares %q: %t", tt.writes, tt.path, got)
		}
	}
}

// The whole of a change is looked at by git's data alone: what a link that acts
// shows, a script that sets hooks, what is too large.
func TestFind(t *testing.T) {
	r := gittest.New(t)
	if err := os.Symlink("scripts/env.sh", filepath.Join(r.Dir, ".envrc")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../tools/hooks", filepath.Join(r.Dir, "tools-link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("tools/hooks", filepath.Join(r.Dir, ".husky")); err != nil {
		t.Fatal(err)
	}
	r.Write("scripts/env.sh", "export A=1\n", "tools/hooks/pre-push", "true\n", "setup.sh", "true\n", "a.go", "package a\n", "package.json", "{}\n", ".envrc.mine", "x\n")
	from := r.Commit("before")
	r.Write("scripts/env.sh", "export A=2\n", "tools/hooks/pre-push", "false\n", "setup.sh", "git config Core.HooksPath x\n", "a.go", "package b\n",
		"package.json", "{\"a\":\""+strings.Repeat("x", maxSize)+"\"}", "README.md", "git config core.hooksPath x\n", ".github/workflows/a\nb.yml", "on: push\n", ".envrc.mine", "y\n")
	to := r.Commit("after")
	h, err := git.NewProgram(t.Context(), git.Options{})
	if err != nil {
		t.Fatal(err)
	}
	dir := h.Open(filepath.Join(r.Dir, ".git"))
	got, err := Find(t.Context(), dir, from, to, func(p string) bool { return p != ".envrc.mine" })
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, a := range got {
		lines = append(lines, a.Shown()+": "+a.Does)
	}
	want := []string{
		`".github/workflows/a\nb.yml": runs in CI`,
		"package.json: is too large to be looked at",
		"scripts/env.sh: runs where a shell enters the folder (direnv), by the link .envrc",
		"setup.sh: sets the folder of git's hooks: git config Core.HooksPath x",
		"tools/hooks/pre-push: runs as a hook of git, by the link .husky",
	}
	if fmt.Sprint(lines) != fmt.Sprint(want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
}

// What lies behind several links is found, and where they lead out.
func TestFindFollowsLinks(t *testing.T) {
	r := gittest.New(t)
	link := func(target, p string) {
		t.Helper()
		p = filepath.Join(r.Dir, p)
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, p); err != nil {
			t.Fatal(err)
		}
	}
	link("tools/hooks", "hooks")
	link("hooks", ".husky")
	link("tools/env.sh", "env")
	link("env", ".envrc")
	r.Write("tools/hooks/pre-commit", "a\n", "tools/env.sh", "a\n", "top/k", "a\n", "notes/a", "a\n")
	from := r.Commit("before")
	r.Write("tools/hooks/pre-commit", "b\n", "tools/env.sh", "b\n", "notes/a", "b\n",
		"bare/HEAD", "ref: refs/heads/main\n", "bare/config", "[core]\n", "bare/objects/keep", "", "bare/refs/keep", "")
	link("../../../top", "a/p/q/r")
	link("a/p/q/r/../..", "esc")
	link("../top/k", "notes/k")
	to := r.Commit("after")
	h, err := git.NewProgram(t.Context(), git.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := Find(t.Context(), h.Open(filepath.Join(r.Dir, ".git")), from, to, nil)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, a := range got {
		paths = append(paths, a.Path)
		if !a.Became {
			t.Errorf("%s is judged by its path: %s", a.Path, a.Does)
		}
	}
	want := []string{"a/p/q/r", "bare/HEAD", "bare/config", "bare/objects/keep", "bare/refs/keep", "esc", "tools/env.sh", "tools/hooks/pre-commit"}
	if fmt.Sprint(paths) != fmt.Sprint(want) {
		t.Errorf("got %q, want %q", paths, want)
	}
}
