package detect

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func tree(m map[string]string) fstest.MapFS {
	out := fstest.MapFS{}
	for name, text := range m {
		out[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

func TestSetup(t *testing.T) {
	for name, tt := range map[string]struct {
		files       map[string]string
		want, loose string
	}{
		"npm":           {map[string]string{"package.json": "{}", "package-lock.json": "{}"}, "npm ci", "npm install"},
		"npm, unlocked": {map[string]string{"package.json": "{}"}, "npm install --no-package-lock", "npm install --no-package-lock"},
		"npm workspace": {map[string]string{"package.json": "{}", "package-lock.json": "{}", "packages/a/package.json": "{}"}, "npm ci", "npm install"},
		"pnpm in a part": {
			map[string]string{"web/package.json": "{}", "web/pnpm-lock.yaml": "x"},
			"(cd web && pnpm install --frozen-lockfile)", "(cd web && pnpm install --no-frozen-lockfile)",
		},
		"yarn 1":       {map[string]string{"package.json": "{}", "yarn.lock": "# yarn lockfile v1\n"}, "yarn install --frozen-lockfile", "yarn install"},
		"yarn 4":       {map[string]string{"package.json": "{}", "yarn.lock": "__metadata:\n  version: 8\n"}, "yarn install --immutable", "yarn install --no-immutable"},
		"uv":           {map[string]string{"pyproject.toml": "", "uv.lock": ""}, "uv sync --locked", "uv sync"},
		"requirements": {map[string]string{"requirements.txt": "x"}, "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt", "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt"},
		"own venv":     {map[string]string{"requirements.txt": "x", "venv/pyvenv.cfg": ""}, "python3 -m venv venv && venv/bin/pip install -r requirements.txt", "python3 -m venv venv && venv/bin/pip install -r requirements.txt"},
		"cargo":        {map[string]string{"Cargo.toml": "", "Cargo.lock": ""}, "cargo fetch --locked", "cargo fetch"},
		"maven":        {map[string]string{"pom.xml": "", "mvnw": ""}, "./mvnw -B dependency:go-offline", "./mvnw -B dependency:go-offline"},
		"gradle":       {map[string]string{"settings.gradle": ""}, "gradle dependencies", "gradle dependencies"},
		"go and go":    {map[string]string{"go.mod": "module m\n", "sub/go.mod": "module s\n"}, "go mod download && (cd sub && go mod download)", "go mod download && (cd sub && go mod download)"},
		"go, npm and pip": {
			map[string]string{"go.mod": "module m\n", "web/package.json": "{}", "web/package-lock.json": "{}", "svc/requirements.txt": ""},
			"go mod download && (cd svc && python3 -m venv .venv && .venv/bin/pip install -r requirements.txt) && (cd web && npm ci)",
			"go mod download && (cd svc && python3 -m venv .venv && .venv/bin/pip install -r requirements.txt) && (cd web && npm install)",
		},
		"nothing": {map[string]string{"README.md": ""}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			root := tree(tt.files)
			units := Finder{}.Units(root)
			if diff := cmp.Diff([]string{tt.want, tt.loose}, []string{Setup(root, units, false), Setup(root, units, true)}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPackages(t *testing.T) {
	for name, tt := range map[string]struct{ file, from, to string }{
		"npm": {
			"package-lock.json",
			`{"packages": {"": {"version": "1.0.0"}, "node_modules/same": {"version": "1.0.0"}, "node_modules/gone": {"version": "3.0.0"}, "node_modules/a/node_modules/kept": {"version": "1.1.0"}}}`,
			`{"packages": {"": {"version": "2.0.0"}, "node_modules/same": {"version": "2.0.0"}, "node_modules/new": {"version": "0.1.0"}, "node_modules/a/node_modules/kept": {"version": "1.1.0"}}}`,
		},
		"npm 6":      {"package-lock.json", `{"dependencies": {"same": {"version": "1.0.0"}, "gone": {"version": "3.0.0"}}}`, `{"dependencies": {"same": {"version": "2.0.0", "dependencies": {"new": {"version": "0.1.0"}}}}}`},
		"pnpm 9":     {"web/pnpm-lock.yaml", "packages:\n\n  same@1.0.0:\n    resolution: {}\n\n  gone@3.0.0:\n", "packages:\n\n  same@2.0.0:\n    resolution: {}\n\n  'new@0.1.0':\n"},
		"pnpm 6":     {"pnpm-lock.yaml", "packages:\n  /same/1.0.0:\n  /gone/3.0.0:\n", "packages:\n  /same/2.0.0:\n  /new/0.1.0:\n"},
		"yarn":       {"yarn.lock", "same@^1.0.0:\n  version \"1.0.0\"\n\ngone@3:\n  version \"3.0.0\"\n", "same@^1.0.0, same@^2.0.0:\n  version \"2.0.0\"\n\nnew@*:\n  version \"0.1.0\"\n"},
		"yarn 4":     {"yarn.lock", "\"same@npm:^1.0.0\":\n  version: 1.0.0\n\n\"gone@npm:3\":\n  version: 3.0.0\n", "\"same@npm:^2.0.0\":\n  version: 2.0.0\n\n\"new@npm:*\":\n  version: 0.1.0\n"},
		"uv":         {"uv.lock", "[[package]]\nname = \"same\"\nversion = \"1.0.0\"\n\n[[package]]\nname = \"gone\"\nversion = \"3.0.0\"\n", "[[package]]\nname = \"same\"\nversion = \"2.0.0\"\n[[package]]\nname = \"new\"\nversion = \"0.1.0\"\n"},
		"gems":       {"Gemfile.lock", "GEM\n  specs:\n    same (1.0.0)\n    gone (3.0.0)\n", "GEM\n  specs:\n    same (2.0.0)\n    new (0.1.0)\n"},
		"pipfile":    {"Pipfile.lock", `{"default": {"same": {"version": "==1.0.0"}}, "develop": {"gone": {"version": "==3.0.0"}}}`, `{"default": {"same": {"version": "==2.0.0"}, "new": {"version": "==0.1.0"}}}`},
		"composer":   {"composer.lock", `{"packages": [{"name": "same", "version": "1.0.0"}], "packages-dev": [{"name": "gone", "version": "3.0.0"}]}`, `{"packages": [{"name": "same", "version": "2.0.0"}, {"name": "new", "version": "0.1.0"}]}`},
		"cargo.toml": {"Cargo.toml", "[dependencies]\nsame = \"1.0.0\"\n[dev-dependencies]\ngone = { version = \"3.0.0\" }\n", "[package]\nname = \"x\"\n\n[dependencies]\nsame = { version = \"2.0.0\", features = [] }\nnew = \"0.1.0\"\n"},
	} {
		t.Run(name, func(t *testing.T) {
			want := []Package{{"gone", "3.0.0", ""}, {"new", "", "0.1.0"}, {"same", "1.0.0", "2.0.0"}}
			if diff := cmp.Diff(want, Packages(tt.file, []byte(tt.from), []byte(tt.to))); diff != "" {
				t.Error(diff)
			}
			if !Decides(tt.file) {
				t.Errorf("%s does not count", tt.file)
			}
		})
	}
}

func TestPackagesOfManifests(t *testing.T) {
	for name, tt := range map[string]struct {
		file, to string
		want     []Package
	}{
		"requirements": {
			"dev/requirements-test.txt", "# tests\nPyTest>=7 ; python_version > '3'\nFoo_Bar==1.2 --hash=sha256:x\n-r other.txt\n",
			[]Package{{"foo-bar", "", "==1.2"}, {"pytest", "", ">=7"}},
		},
		"pyproject": {
			"pyproject.toml", "[project]\nname = \"x\"\nclassifiers = [\"Framework :: Pytest\"]\ndependencies = [\n  \"requests[socks]>=2\",\n]\n[project.optional-dependencies]\ntest = [\"pytest\"]\n",
			[]Package{{"pytest", "", "*"}, {"requests", "", ">=2"}},
		},
		"go.mod": {
			"go.mod", "module ex.com/m\n\ngo 1.22\n\nrequire rsc.io/quote v1.5.2\n\nrequire (\n\tgolang.org/x/text v0.3.0 // indirect\n)\n",
			[]Package{{"golang.org/x/text", "", "v0.3.0"}, {"rsc.io/quote", "", "v1.5.2"}},
		},
		"go.sum": {"go.sum", "rsc.io/quote v1.5.2 h1:x=\nrsc.io/quote v1.5.2/go.mod h1:y=\n", []Package{{"rsc.io/quote", "", "v1.5.2"}}},
		"pom": {
			"pom.xml", "<project><properties><junit.v>5.9</junit.v></properties><dependencies><dependency><groupId>g</groupId><artifactId>a</artifactId><version>${junit.v}</version></dependency></dependencies></project>",
			[]Package{{"g:a", "", "5.9"}},
		},
		"gradle": {"build.gradle.kts", "dependencies {\n  testImplementation(\"org.junit:junit:5.9\")\n}\n", []Package{{"org.junit:junit", "", "5.9"}}},
		"broken": {"package-lock.json", "<<<<<<< ours", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Packages(tt.file, nil, []byte(tt.to))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestHostsIn(t *testing.T) {
	for name, tt := range map[string]struct {
		file, text, want string
	}{
		"npm":          {"package-lock.json", `{"resolved": "https://registry.example/a/-/a.tgz", "funding": {"url": "https://sponsors.example/x"}}`, "registry.example"},
		"npmrc":        {".npmrc", "registry=https://npm.corp.example/repo/\n", "npm.corp.example"},
		"uv":           {"uv.lock", `source = { registry = "https://pypi.example/simple" }` + "\n" + `url = "https://files.example/x.whl"`, "pypi.example files.example"},
		"a manifest":   {"package.json", `{"homepage": "https://home.example"}`, ""},
		"pom":          {"pom.xml", "<project xmlns=\"https://maven.example/POM\"><url>https://home.example</url><repositories><repository><url>https://repo.example/m2</url></repository></repositories></project>", "repo.example"},
		"requirements": {"requirements.txt", "--index-url https://user:pass@pypi.corp.example/simple\nx\n", "pypi.corp.example"},
		"cargo":        {"Cargo.lock", "source = \"registry+https://git.example/index\"\nsource = \"sparse+https://crates.example/index/\"\n", "crates.example"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := strings.Join(HostsIn(tt.file, []byte(tt.text)), " "); got != tt.want {
				t.Errorf("hosts %q, want %q", got, tt.want)
			}
		})
	}
}

// What a lockfile names for the packages of its own folder; what is not certain
// is left out.
func TestLockedAt(t *testing.T) {
	manifest := `{"dependencies": {"a": "^1.0.0", "@s/b": "2", "l": "workspace:*"}, "devDependencies": {"f": "file:f.tgz"}}`
	want := map[string]string{"a": "1.2.3", "@s/b": "2.0.0", "f": "0.1.0"}
	for name, files := range map[string]map[string]string{
		"npm":    {"package-lock.json": `{"packages": {"": {"version": "9.9.9"}, "node_modules/a": {"version": "1.2.3"}, "node_modules/@s/b": {"version": "2.0.0"}, "node_modules/f": {"version": "0.1.0"}, "node_modules/l": {"link": true}, "node_modules/a/node_modules/f": {"version": "7.0.0"}}}`},
		"pnpm 5": {"pnpm-lock.yaml": "lockfileVersion: 5.4\nspecifiers:\n  a: ^1.0.0\ndependencies:\n  a: 1.2.3_c@1.0.0\n  '@s/b': 2.0.0\n  l: link:../l\ndevDependencies:\n  f: 0.1.0\n"},
		"pnpm 9": {"pnpm-lock.yaml": "lockfileVersion: '9.0'\nimporters:\n  .:\n    dependencies:\n      a:\n        specifier: ^1.0.0\n        version: 1.2.3(c@1.0.0)\n      '@s/b':\n        specifier: '2'\n        version: 2.0.0\n      l:\n        specifier: workspace:*\n        version: link:../l\n    devDependencies:\n      f:\n        specifier: file:f.tgz\n        version: file:f.tgz\n  web:\n    dependencies:\n      a:\n        specifier: '7'\n        version: 7.0.0\npackages:\n  a@1.2.3:\n    resolution: {integrity: x}\n  f@file:f.tgz:\n    resolution: {integrity: x, tarball: file:f.tgz}\n    version: 0.1.0\n"},
		"yarn 1": {"yarn.lock": "# yarn lockfile v1\n\n\n\"@s/b@2\":\n  version \"2.0.0\"\n\na@^1.0.0, a@^1.2.0:\n  version \"1.2.3\"\n\na@7:\n  version \"7.0.0\"\n\n\"f@file:f.tgz\":\n  version \"0.1.0\"\n"},
		"yarn 4": {"yarn.lock": "__metadata:\n  version: 8\n\n\"@s/b@npm:2\":\n  version: 2.0.0\n\n\"a@npm:^1.0.0, a@npm:^1.2.0\":\n  version: 1.2.3\n\n\"f@file:f.tgz\":\n  version: 0.1.0\n\n\"l@workspace:*\":\n  version: 0.0.0-use.local\n"},
	} {
		t.Run(name, func(t *testing.T) {
			files["package.json"] = manifest
			root := tree(files)
			if diff := cmp.Diff(want, lockedAt(root, ".", readManifestJS(root, "."))); diff != "" {
				t.Error(diff)
			}
		})
	}
	if got := lockedByPNPM("importers: [\n"); len(got) != 0 {
		t.Errorf("a broken lockfile names %v", got)
	}
}
