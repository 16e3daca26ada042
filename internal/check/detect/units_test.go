package detect

import (
	"strings"
	"testing"
	"testing/fstest"

	"agency/internal/ecosystem"

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
			want := []ecosystem.Package{{Name: "gone", From: "3.0.0", To: ""}, {Name: "new", From: "", To: "0.1.0"}, {Name: "same", From: "1.0.0", To: "2.0.0"}}
			if diff := cmp.Diff(want, packages(t, tt.file, tt.from, tt.to)); diff != "" {
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
		want     []ecosystem.Package
	}{
		"requirements": {
			"dev/requirements-test.txt", "# tests\nPyTest>=7 ; python_version > '3'\nFoo_Bar==1.2 --hash=sha256:x\n-r other.txt\n",
			[]ecosystem.Package{{Name: "foo-bar", From: "", To: "==1.2"}, {Name: "pytest", From: "", To: ">=7"}},
		},
		"pyproject": {
			"pyproject.toml", "[project]\nname = \"x\"\nclassifiers = [\"Framework :: Pytest\"]\ndependencies = [\n  \"requests[socks]>=2\",\n]\n[project.optional-dependencies]\ntest = [\"pytest\"]\n",
			[]ecosystem.Package{{Name: "pytest", From: "", To: "*"}, {Name: "requests", From: "", To: ">=2"}},
		},
		"go.mod": {
			"go.mod", "module ex.com/m\n\ngo 1.22\n\nrequire rsc.io/quote v1.5.2\n\nrequire (\n\tgolang.org/x/text v0.3.0 // indirect\n)\n",
			[]ecosystem.Package{{Name: "golang.org/x/text", From: "", To: "v0.3.0"}, {Name: "rsc.io/quote", From: "", To: "v1.5.2"}},
		},
		"go.sum": {"go.sum", "rsc.io/quote v1.5.2 h1:x=\nrsc.io/quote v1.5.2/go.mod h1:y=\n", []ecosystem.Package{{Name: "rsc.io/quote", From: "", To: "v1.5.2"}}},
		"pom": {
			"pom.xml", "<project><properties><junit.v>5.9</junit.v></properties><dependencies><dependency><groupId>g</groupId><artifactId>a</artifactId><version>${junit.v}</version></dependency></dependencies></project>",
			[]ecosystem.Package{{Name: "g:a", From: "", To: "5.9"}},
		},
		"gradle": {"build.gradle.kts", "dependencies {\n  testImplementation(\"org.junit:junit:5.9\")\n}\n", []ecosystem.Package{{Name: "org.junit:junit", From: "", To: "5.9"}}},
		"broken": {"package-lock.json", "<<<<<<< ours", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, packages(t, tt.file, "", tt.to)); diff != "" {
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
