package acts

import (
	"strings"
	"testing"
)

// Each class of files that act by a part of them: what somebody wrote to get by,
// and what the same file is changed by every day.
func TestFormsHideNothing(t *testing.T) {
	const npm = `{"lockfileVersion":3,"packages":{"node_modules/left":{"version":"1.0.0","resolved":"https://registry.npmjs.org/left/-/left-1.0.0.tgz"}}}`
	lock := func(resolved string) string { return strings.Replace(npm, "https://registry.npmjs.org/", resolved, 1) }
	pnpm := func(resolution string) string {
		return "lockfileVersion: '9.0'\npackages:\n  left@1.0.0:\n    resolution: " + resolution + "\n"
	}
	hatched := "[build-system]\nrequires=[\"hatchling\"]\nbuild-backend=\"hatchling.build\"\n"
	for _, tt := range []struct {
		change
		want string
	}{
		// TOML as its grammar has it.
		{change{"Cargo.toml", absent, "# \"\"\"\n[package]\nbuild = \"evil.rs\"\n"}, "package.build"},
		{change{"Cargo.toml", absent, "a = '\"\"\"'\n[package]\nbuild = \"evil.rs\"\n"}, "package.build"},
		{change{"Cargo.toml", absent, "a = '''\\'''\n[package]\nbuild = \"evil.rs\"\n"}, "package.build"},
		{change{"Cargo.toml", absent, "a = \"\"\"x\"\"\"\"\"\n[package]\nbuild = \"evil.rs\"\n"}, "package.build"},
		{change{"Cargo.toml", absent, "[ \"pack\\u0061ge\" ]\n\"build\" = \"evil.rs\"\n"}, "package.build"},
		{change{"Cargo.toml", absent, "package.build = \"evil.rs\"\n"}, "package.build"},
		{change{"Cargo.toml", absent, "package = {name = \"a\", build = \"evil.rs\"}\n"}, "package.build"},
		{change{"Cargo.toml", absent, "[project]\nbuild = \"evil.rs\"\n"}, "project.build"},
		{change{"Cargo.toml", absent, "[lib]\ncrate-type = [\"proc-macro\"]\n"}, "crate-type"},
		{change{"Cargo.toml", absent, "[dependencies]\na = {git = \"https://x.example/a\"}\n"}, "x.example"},
		{change{"Cargo.toml", absent, "[profile.dev]\nrustflags = [\"-Clinker=./x\"]\n"}, "compiler"},
		{change{"Cargo.toml", absent, "[package]\n# \rbuild = 1\n"}, "cannot be read"},
		{change{"Cargo.toml", absent, "[package\nbuild = \"evil.rs\"\n"}, "cannot be read"},
		{change{"Cargo.toml", absent, "[package]\nname = \"\"\"a\n"}, "cannot be read"},
		{change{"pyproject.toml", absent, "# '''\n" + hatched + "[tool.hatch.version]\nsource=\"c\\u006fde\"\npath=\"x.py\"\n"}, "pip install"},
		{change{"pyproject.toml", absent, "[build-system]\nrequires=[\"a @ https://x.example/a.tgz\"]\n"}, "x.example"},
		{change{"pyproject.toml", absent, hatched + "[tool.hatch.version.raw-options]\ngit_describe_command=\"x\"\n"}, "describe_command"},
		{change{"pyproject.toml", absent, "[tool.setuptools_scm]\ngit_describe_command=\"x\"\n"}, "describe_command"},
		{change{"pyproject.toml", absent, "[tool.pdm.scripts]\npost_install=\"x\"\n"}, "pdm install"},
		{change{"pyproject.toml", absent, "[tool.uv.sources]\na={url=\"https:x.example\"}\n"}, "x.example"},
		{change{"hatch.toml", absent, "[build.hooks.custom]\npath=\"x.py\"\n"}, "pip install"},
		{change{"Pipfile", absent, "[[source]]\nurl=\"https://x.example/simple\"\n"}, "x.example"},

		// Python's other files.
		{change{"setup.cfg", absent, "[options]\ncmdclass =\n  build_py = evil.Build\n"}, "cmdclass"},
		{change{"setup.cfg", "[options]\ncmdclass =\n  build_py = a.Build\n", "[options]\ncmdclass =\n  build_py = evil.Build\n"}, "cmdclass"},
		{change{"setup.cfg", absent, "[DEFAULT]\n# x\r  CmdClass: evil.B\n"}, "cmdclass"},
		{change{"setup.cfg", absent, "[metadata]\nversion = attr: evil.V\n"}, "version"},
		{change{"requirements.txt", absent, "-r other/base.lst\n"}, "from elsewhere"},
		{change{"requirements.txt", absent, "--requirem=base.txt\n"}, "from elsewhere"},
		{change{"requirements.txt", absent, "a @ HTTPS:\\x.example\n"}, "x.example"},
		{change{"requirements.txt", absent, "-e git+ssh://me@x.example/a\n"}, "x.example"},
		{change{"dev-requirements.txt", absent, "--index-url x\n"}, "python packages"},
		{change{"environment.yml", absent, "channels: [evil]\n"}, "evil"},
		{change{"environment.yml", absent, "dependencies:\n- pip:\n  - --index-url x\n"}, "python packages"},
		{added("pdm_build.py"), "pip install"},
		{added("sitecustomize/__init__.py"), "start of python"},

		// YAML as its readers have it.
		{change{"pnpm-workspace.yaml", absent, " packages:\n  - a\n dangerouslyAllowAllBuilds: true\n"}, "AllowAllBuilds"},
		{change{"pnpm-workspace.yaml", absent, "packages: [a] # x\rdangerouslyAllowAllBuilds: true\n"}, "cannot be read"},
		{change{"pnpm-workspace.yaml", absent, "a: &a {hooks: 1}\n<<: *a\n"}, "hooks"},
		{change{"pnpm-workspace.yaml", absent, "packages: []\n---\nhooks: x\n"}, "hooks"},
		{change{"pnpm-workspace.yaml", absent, "? hooks\n: x\n"}, "hooks"},
		{change{"pnpm-workspace.yaml", absent, "\"dangerouslyAllow\\x41llBuilds\": true\n"}, "AllowAllBuilds"},
		{change{"pnpm-workspace.yaml", absent, "packages: [a\n"}, "cannot be read"},
		{change{"pnpm-lock.yaml", absent, pnpm("{tarball: \"https:/\\\n      /x.example/x.tgz\"}")}, "x.example"},
		{change{"pnpm-lock.yaml", absent, pnpm("{type: git, repo: \"root@x.example:x/y\", commit: \"0\"}")}, "x.example"},
		{change{"pnpm-lock.yaml", absent, "packages:\n  deprecated@1.0.0: {resolution: {tarball: https://x.example/x.tgz}}\n"}, "x.example"},
		{change{"pnpm-lock.yaml", absent, "packages:\n  deprecated: {resolution: {tarball: https://x.example/x.tgz}}\n"}, "x.example"},
		{change{"pnpm-lock.yaml", absent, "packages:\n  left@1:\n# x\r    resolution: {tarball: https://x.example}\n"}, "cannot be read"},

		// Addresses as resolvers take them.
		{change{"package-lock.json", npm, lock("https:/x.example/")}, "x.example"},
		{change{"package-lock.json", npm, lock("HTTPS:x.example/")}, "x.example"},
		{change{"package-lock.json", npm, lock(`https:\\\\x.example\\`)}, "x.example"},
		{change{"package-lock.json", npm, lock(`ht\ntps://x.example/`)}, "x.example"},
		{change{"package-lock.json", npm, lock("https://registry.npmjs.org@x.example/")}, "x.example"},
		{change{"package-lock.json", npm, lock(`https://registry.npmjs.org\\@x.example/`)}, "downloads"},
		{change{"package-lock.json", npm, lock("https://registry.npmjs.org.x.example/")}, "x.example"},
		{change{"package-lock.json", npm, lock("http://registry.npmjs.org/")}, "downloads"},
		{change{"package-lock.json", npm, lock("//x.example/")}, "x.example"},
		{change{"package-lock.json", npm, lock("x.example:a/b")}, "x.example"},
		{change{"package-lock.json", npm, lock("https://api.github.com/repos/evil/x/tarball/")}, "api.github.com/evil"},
		{change{"package-lock.json", absent, `{"dependencies":{"license":{"version":"1","resolved":"https://x.example/x"}}}`}, "x.example"},
		{change{"package-lock.json", absent, `{"dependencies":{"left":{"version":"github:evil/left#0"}}}`}, "github:evil"},
		{change{"package-lock.json", absent, `{"dependencies":{"left":{"version":"evil/left#0"}}}`}, "github:evil"},
		{change{"package.json", "{}", `{"dependencies":{"left":"evil/left"}}`}, "github:evil"},
		{change{"package.json", "{}", `{"overrides":{"left":"https://x.example/left.tgz"}}`}, "x.example"},
		{change{"package.json", "{}", `{"pnpm":{"neverBuiltDependencies":[]}}`}, "neverBuilt"},
		{change{"package.json", "{}", `{"directories":{"bin":"./b"}}`}, "directories.bin"},
		{change{"bun.lock", absent, "{\"packages\":{\"left\":[\"left@https://x.example/l.tgz\",{},],},}"}, "x.example"},
		{change{"uv.lock", absent, "[[package]]\nsource={git=\"ssh://x.example/a\"}\n"}, "x.example"},
		{change{"pdm.lock", absent, "[[package]]\nurl=\"https://x.example/a\"\n"}, "x.example"},
		{change{"Pipfile.lock", absent, `{"_meta":{"sources":[{"url":"https://x.example"}]}}`}, "x.example"},
		{change{"deno.lock", absent, `{"remote":{"https://x.example/x.ts":"a"}}`}, "x.example"},
		{change{"yarn.lock", absent, "left@^1:\r  resolved \"https:/x.example/a\"\n"}, "x.example"},
		{change{"Gemfile.lock", absent, "GIT\n  remote: me@x.example:a/b\n"}, "x.example"},
		{change{"Podfile.lock", absent, "EXTERNAL SOURCES:\n  a:\n    :git: https://x.example/a\n"}, "x.example"},

		// Programs that say what a package is, and builds.
		{change{"Gemfile", "gem 'a'\n", "gem 'a'\nsystem('x')\n"}, "installation"},
		{change{"Gemfile", "gem 'a'\n", "gem \"a#{`x`}\"\n"}, "installation"},
		{change{"Gemfile", "gem 'a'\n", "gem 'a' --system('x')\n"}, "installation"},
		{change{"Gemfile", "gem 'a'\n", "gem 'a', git: 'https://x.example'\n"}, "installation"},
		{added("gems.rb"), "installation"},
		{added("a.podspec"), "installation"},
		{change{"Package.swift", absent, "import Foundation\n"}, "installation"},
		{change{"shard.yml", absent, "scripts: {postinstall: x}\n"}, "shards"},
		{change{"dub.json", absent, `{"configurations":[{"preBuildCommands":["x"]}]}`}, "dub build"},
		{change{"composer.json", "{}", `{"extra":{"hooks":{"pre-commit":"x"}}}`}, "hook of git"},
		{change{"a.csproj", absent, `<Project><Import Project="x.inc" Label='Project="a.props"'/></Project>`}, ".NET"},
		{change{"a.csproj", absent, `<Project Sdk="Evil.Sdk/1.0"></Project>`}, ".NET"},
		{change{"a.csproj.user", absent, `<Exec Command="x"/>`}, ".NET"},
		{change{"a.csproj", absent, `<PropertyGroup><CscToolPath>x</CscToolPath></PropertyGroup>`}, ".NET"},
		{change{"x.xcodeproj/project.pbxproj", absent, `{ "shellScript" = "x"; }`}, "Xcode"},
		{change{"gradle.properties", absent, "org.gradle.jv\\\n  margs=x\n"}, "Gradle"},
		{change{"gradle.properties", absent, "org.gradle.jvm\\args=x\n"}, "Gradle"},

		// Shells, and names.
		{change{".env", "A=1", "A=$(x)"}, "shell reads"},
		{change{".env", "A=1", "A=\"`x`\""}, "shell reads"},
		{change{".env", "A=1", "A=1 x"}, "shell reads"},
		{change{".env", "A=1", "A=1&./x"}, "shell reads"},
		{change{".env", "A=1", "A='1\n2'\n. ./x"}, "shell reads"},
		{change{".env", "A=1", "A=1\rNODE_OPTIONS=x"}, "NODE_OPTIONS"},
		{change{".nvmrc", "20", "../x"}, "picks"},
		{added(".autoenv_leave.zsh"), "direnv"},
		{added("lib/.hg/hgrc"), "system of versions"},
		{added(".pre-commit-con\ufb01g.yaml"), "some file systems take for it"},
		{added("Pod\ufb01le"), "some file systems take for it"},
		{added("a/.envrc\u180e"), "some file systems take for it"},
		{added("HUSKY~1/pre-commit"), "some file systems take for it"},
		{added("PRE-CO~1.YAM"), "some file systems take for it"},
	} {
		if got := tt.judged(); !strings.Contains(got, tt.want) {
			t.Errorf("%q, from %q to %q: %q, want %q", tt.path, tt.before, tt.after, got, tt.want)
		}
	}
}

func TestEverydayFormsAreNotNamed(t *testing.T) {
	const npm = `{"lockfileVersion":3,"packages":{"node_modules/left":{"version":"1.0.0","resolved":"https://registry.npmjs.org/left/-/left-1.0.0.tgz"}}}`
	swift := "let package = Package(\n    name: \"a\",\n    dependencies: [\n    ]\n)\n"
	for _, tt := range []change{
		{"Cargo.toml", absent, "# \"\"\" a comment\n[package]\nname = \"a\"\ndescription = \"\"\"\nbuild = 1\n\"\"\"\nversion = \"1.0.0\"\nedition = \"2024\"\n[lib]\ncrate-type = [\"cdylib\", \"rlib\"]\n[dependencies]\na = \"1\"\nb = { version = \"1\", features = [\"x\"], path = \"../b\" }\n[[bin]]\nname = \"x\"\n"},
		{"pyproject.toml", absent, "[build-system]\nrequires = [\"setuptools>=61\", \"wheel\"]\nbuild-backend = \"setuptools.build_meta\"\n[project]\nname = \"a\"\ndependencies = [\"b>=1 ; python_version < '3.9'\"]\n[project.urls]\nHomepage = \"https://x.example\"\n[tool.ruff]\nline-length = 100\n[tool.hatch.envs.test]\ndependencies = [\"pytest\"]\n[tool.hatch.envs.test.scripts]\nrun = \"pytest\"\n[tool.pdm.scripts]\ntest = \"pytest\"\n"},
		{"hatch.toml", absent, "[version]\npath = \"a/__about__.py\"\n[envs.default]\ndependencies = [\"pytest\"]\n"},
		{"Pipfile", absent, "[[source]]\nurl = \"https://pypi.org/simple\"\nverify_ssl = true\nname = \"pypi\"\n[packages]\nrequests = \"*\"\n"},
		{"setup.cfg", "[metadata]\nversion = 1.0\n", "[metadata]\nversion = 1.1\nurl = https://x.example\n[options]\ninstall_requires =\n  a>=1\npackages = find:\n[flake8]\nmax-line-length = 100\n[tool:pytest]\naddopts = -q\n[testenv]\ncommands = pytest\n"},
		{"requirements.txt", "a==1", "-r requirements/base.txt\n-c constraints.txt\na==2 --hash=sha256:ab\nb[c]>=1; python_version < \"3.9\"\n# see https://x.example\n-e .\n"},
		{"requirements/dev.txt", "a==1", "-r base.txt\na==2\n"},
		{"environment.yml", absent, "name: a\nchannels:\n  - conda-forge\ndependencies:\n  - python=3.12\n  - pip:\n    - a==1\n"},
		{"environment.yaml", absent, "apiVersion: v1\nurl: https://x.example\n"},
		{"pnpm-workspace.yaml", "packages:\n  - a\n", "# all of them\npackages: ['a', \"b/*\"]\ncatalog:\n  react: ^18.0.0\noverrides:\n  a: npm:b@1\n"},
		{"pnpm-lock.yaml", absent, "lockfileVersion: '9.0'\nimporters:\n  .:\n    dependencies:\n      left:\n        specifier: ^1.0.0\n        version: 1.0.0\n      own:\n        specifier: workspace:*\n        version: link:../own\npackages:\n  left@1.0.0:\n    resolution: {integrity: sha512-AA==}\n    engines: {node: '>=10'}\n    deprecated: see https://x.example for more\nsnapshots:\n  left@1.0.0(react@18.0.0): {}\n"},
		{"package-lock.json", npm, `{"packages":{"":{"license":"MIT"},"node_modules/left":{"version":"1.1.0","resolved":"https://registry.npmjs.org/left/-/left-1.1.0.tgz","funding":{"url":"https://x.example"},"engines":{"node":"^18 || >=20"}},"node_modules/own":{"resolved":"packages/own","link":true}}}`},
		{"package.json", "{}", `{"dependencies":{"left":"^1.0.0","own":"workspace:*","own2":"file:../own","other":"npm:left@1"},"homepage":"https://x.example","repository":"me/a"}`},
		{"bun.lock", absent, "{\n  \"packages\": {\n    \"left\": [\"left@1.0.0\", \"\", {}, \"sha512-A\"], // one\n  },\n}\n"},
		{"uv.lock", absent, "version = 1\n[[package]]\nname = \"a\"\nsource = { registry = \"https://pypi.org/simple\" }\nsdist = { url = \"https://files.pythonhosted.org/a\", hash = \"sha256:a\", upload-time = \"2024-01-01T00:00:00Z\" }\n"},
		{"poetry.lock", absent, "[[package]]\nname = \"a\"\ndescription = \"see https://x.example\"\nfiles = [\n    {file = \"a.whl\", hash = \"sha256:a\"},\n]\n"},
		{"Pipfile.lock", absent, `{"_meta":{"sources":[{"url":"https://pypi.org/simple"}]},"default":{"a":{"hashes":["sha256:a"],"version":"==1"}}}`},
		{"composer.lock", absent, `{"packages":[{"name":"a/b","source":{"type":"git","url":"https://github.com/a/b.git"},"dist":{"url":"https://api.github.com/repos/a/b/zipball/1"},"notification-url":"https://packagist.org/downloads/","time":"2024-01-01T00:00:00+00:00","autoload":{"psr-4":{"A\\B\\":"src/"}},"support":{"issues":"https://x.example"}}]}`},
		{"yarn.lock", absent, "# yarn lockfile v1\n\n\"@a/left@^1.0.0\", left@^1.1.0:\n  version \"1.0.0\"\n  resolved \"https://registry.yarnpkg.com/left/-/left-1.0.0.tgz#ab\"\n  integrity sha512-A==\n"},
		{"yarn.lock", absent, "__metadata:\n  version: 8\n\n\"left@npm:^1.0.0\":\n  version: 1.0.0\n  resolution: \"left@npm:1.0.0\"\n  checksum: 10/ab\n"},
		{"Cargo.lock", absent, "[[package]]\nname = \"a\"\nsource = \"registry+https://github.com/rust-lang/crates.io-index\"\n"},
		{"Gemfile.lock", absent, "GEM\n  remote: https://rubygems.org/\n  specs:\n    a (1.0)\n\nPLATFORMS\n  ruby\n"},
		{"Gemfile", "source 'https://rubygems.org'\n", "source 'https://rubygems.org'\ngem 'a', '~> 1.0', require: false\ngroup :test do\n  gem \"b\", \">= 1\", platforms: [:mri, :mingw] # why\nend\n"},
		{"Package.swift", swift, strings.Replace(swift, "[\n", "[\n        .package(url: \"https://github.com/a/b.git\", from: \"1.0.0\"),\n", 1)},
		{"dub.json", absent, `{"name":"a","dependencies":{"b":"~>1"}}`},
		{"shard.yml", absent, "name: a\nversion: 1.0.0\n"},
		{"composer.json", "{}", `{"require":{"a/b":"^1"},"scripts":{"test":"phpunit"},"autoload":{"psr-4":{"A\\":"src/"}}}`},
		{"a.csproj", absent, "<Project Sdk=\"Microsoft.NET.Sdk.Web\">\n<Import Project=\"..\\a.props\" />\n<PropertyGroup><TargetFramework>net9.0</TargetFramework><ImplicitUsings>enable</ImplicitUsings></PropertyGroup>\n<ItemGroup><ProjectReference Include=\"..\\b\\b.csproj\" /></ItemGroup></Project>\n"},
		{"a.vcxproj", absent, "<?xml version=\"1.0\"?>\n<Project DefaultTargets=\"Build\" ToolsVersion=\"17.0\" xmlns=\"http://schemas.microsoft.com/developer/msbuild/2003\">\n<Import Project=\"$(VCTargetsPath)\\Microsoft.Cpp.props\" />\n<ImportGroup Label=\"PropertySheets\" />\n</Project>\n"},
		{"project.pbxproj", absent, "{ isa = PBXFileReference; path = a.swift; sourceTree = \"<group>\"; };\n"},
		{"gradle.properties", "version=1", "version=2\norg.gradle.caching=true\npath=C:\\\\x\n"},
		{".env", "A=1", "# see $(x)\nexport A=2\nB='a b; $(c)'\nC=\"a ${A} b\"\nURL=postgres://u:p@h:5432/db?a=1&b=2 # why\nEMPTY=\n"},
		{".env", "A=\"$(x)\"\nB=1", "A=\"$(x)\"\nB=2"},
		{".nvmrc", "v20.1.0", "lts/iron"},
		{"app.json", absent, `{"expo":{"name":"a"}}`},
		{"global.json", absent, `{"sdk":{"version":"9.0.100"}}`},
		{"deno.json", absent, `{"imports":{"a":"jsr:@a/b@1","c":"npm:c"},"tasks":{"x":"deno run x"}}`},
		added("src/environment.ts"),
		added("docs/venv.md"),
		added("a/husky~1.txt"),
		added("r\u00e9sum\u00e9/\ufb01le.txt"),
	} {
		if got := tt.judged(); got != "" {
			t.Errorf("%q, from %q to %q: %q", tt.path, tt.before, tt.after, got)
		}
	}
}
