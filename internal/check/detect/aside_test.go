package detect

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agency/internal/check"
)

const gone = "require example.com/gone v1.2.3\n"

// TestDetect leaves out parts beside the project that lack what they need, and
// nothing else.
func TestDetect(t *testing.T) {
	importer := "package x\n\nimport _ \"example.com/gone\"\n"
	pkg := `{"scripts": {"test": "jest", "build": "vite build"}, "devDependencies": {"jest": "1", "vite": "1"}}`
	for name, tt := range map[string]struct {
		files map[string]string
		test  string // the command
		left  string // manifests, and what they lack
		mend  string
	}{
		"go with examples": {files: map[string]string{
			"go.mod": "module a\n\ngo 1.21\n", "a.go": "package a\n",
			"examples/web/go.mod": "module w\n\ngo 1.21\n\n" + gone, "examples/web/w.go": importer,
			"docs/go.mod": "module d\n\ngo 1.21\n\nrequire (\n\texample.com/gone v1.2.3\n)\n", "docs/d_test.go": importer,
			"examples/plain/go.mod": "module p\n\ngo 1.21\n\nrequire a v0.0.0\n\nreplace a => ../..\n", "examples/plain/p.go": "package p\n\nimport _ \"a\"\n",
		}, test: "go test ./... && (cd examples/plain && go test ./...)", left: "docs/go.mod: example.com/gone@v1.2.3 is not in the module cache, examples/web/go.mod: example.com/gone@v1.2.3 is not in the module cache", mend: "(cd docs && go mod download)"},
		"go of another system": {files: map[string]string{
			"go.mod": "module a\n\ngo 1.21\n", "a.go": "package a\n",
			"tools/go.mod": "module w\n\ngo 1.21\n\n" + gone, "tools/w_plan9.go": importer,
		}, test: "go test ./... && (cd tools && go test ./...)"},
		"what the root replaces": {files: map[string]string{
			"go.mod": "module a\n\ngo 1.21\n\nrequire b v0.0.0\n\nreplace b => ./b\n", "a.go": "package a\n", "b/go.mod": "module b\n\ngo 1.21\n\n" + gone, "b/b.go": importer,
		}, test: "go test ./... && (cd b && go test ./...)"},
		"modules side by side": {files: map[string]string{
			"api/go.mod": "module api\n\ngo 1.21\n\n" + gone, "api/a.go": importer, "docs/go.mod": "module d\n\ngo 1.21\n\n" + gone, "docs/d.go": importer,
		}, test: "(cd api && go test ./...)", left: "docs/go.mod: example.com/gone@v1.2.3 is not in the module cache"},
		"a site with no usual name": {files: map[string]string{
			"api/go.mod": "module api\n\ngo 1.21\n", "api/a.go": "package a\n", "api/a_test.go": "package a\n", "web/package.json": pkg, "web/node_modules/jest/package.json": "{}", "web/node_modules/vite/package.json": "{}",
			"docs-site/package.json": `{"scripts": {"build": "docusaurus build"}, "dependencies": {"docusaurus": "3"}}`, "manual/go.mod": "module m\n\ngo 1.21\n\n" + gone, "manual/m.go": importer,
		}, test: "(cd api && go test ./...) && (cd web && npm test)", left: "docs-site/package.json: docusaurus is not installed, manual/go.mod: example.com/gone@v1.2.3 is not in the module cache"},
		"an app with tests": {files: map[string]string{
			"api/go.mod": "module api\n\ngo 1.21\n", "api/a_test.go": "package a\n", "web/package.json": pkg,
		}, test: "(cd api && go test ./...) && (cd web && npm test)"},
		"only examples": {files: map[string]string{"examples/a/go.mod": "module a\n\ngo 1.21\n\n" + gone, "examples/a/a.go": importer}, test: "(cd examples/a && go test ./...)"},
		"a site beside go": {files: map[string]string{
			"go.mod": "module a\n\ngo 1.21\n", "a.go": "package a\n", "website/package.json": pkg, "website/package-lock.json": "{}",
		}, test: "go test ./...", left: "website/package.json: jest is not installed", mend: "echo /website/node_modules/ >>.git/info/exclude && (cd website && npm ci)"},
		"a site that is installed": {files: map[string]string{
			"go.mod": "module a\n\ngo 1.21\n", "website/package.json": pkg, "website/node_modules/jest/package.json": "{}", "website/node_modules/vite/package.json": "{}",
		}, test: "go test ./... && (cd website && npm test)"},
		"a site that the root builds": {files: map[string]string{
			"package.json": `{"scripts": {"build": "cd website && npm run build"}}`, "website/package.json": pkg,
		}, test: "(cd website && npm test)"},
		"members of a workspace": {files: map[string]string{
			"package.json": `{"workspaces": ["packages/*", "docs"]}`, "yarn.lock": "", "packages/a/package.json": pkg, "docs/package.json": pkg, "bench/package.json": pkg,
		}, test: "(cd docs && yarn test) && (cd packages/a && yarn test)", left: "bench/package.json: jest is not installed"},
		"members of pnpm's": {files: map[string]string{
			"package.json": "{}", "pnpm-workspace.yaml": "packages:\n  - 'packages/**'\n  - '!**/bench'\n", "pnpm-lock.yaml": "", "packages/a/b/package.json": pkg, "site/package.json": pkg,
		}, test: "(cd packages/a/b && pnpm test)", left: "site/package.json: jest is not installed"},
		"python with benchmarks": {files: map[string]string{
			"go.mod": "module a\n\ngo 1.21\n", "benchmarks/requirements.txt": "no-such-dist==1\n", "benchmarks/test_b.py": "import pytest\n", "docs/requirements.txt": "no-such-sphinx\n",
		}, test: "go test ./...", left: "benchmarks/requirements.txt: no-such-dist is not installed, docs/requirements.txt: no-such-sphinx is not installed", mend: "pip install -r requirements.txt"},
		"rust with a benchmark": {files: map[string]string{
			"pyproject.toml": "[project]\n", "test_a.py": "", "bench/Cargo.toml": "[package]\n", "bench/Cargo.lock": "[[package]]\nname = \"none\"\nversion = \"1.0.0\"\nsource = \"registry+https://x\"\n",
		}, test: "python3 -m unittest", left: "bench/Cargo.toml: none 1.0.0 is not downloaded", mend: "cargo fetch --locked"},
		"crates that are excluded": {files: map[string]string{
			"Cargo.toml": "[workspace]\nmembers = [\"a\"]\nexclude = [\"fuzz\"]\n", "a/Cargo.toml": "[package]\n", "fuzz/Cargo.toml": "[package]\n", "fuzz/Cargo.lock": "[[package]]\nname = \"none\"\nversion = \"1.0.0\"\nsource = \"registry+https://x\"\n",
		}, test: "cargo test --workspace"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, bin := t.TempDir(), t.TempDir()
			for n, text := range tt.files {
				at := filepath.Join(dir, n)
				if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			for _, program := range []string{"node", "npm", "yarn", "pnpm", "cargo", "python3"} { // that they are there is all that is asked
				if err := os.WriteFile(filepath.Join(bin, program), nil, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			got := Detect(Input{Repo: os.DirFS(dir), Dir: dir, Env: func(name string) (string, bool) {
				v, ok := map[string]string{"HOME": bin, "PATH": bin}[name]
				return v, ok
			}})
			var left, mends []string
			for _, a := range got.Left {
				left, mends = append(left, a.Manifest+": "+a.Lacks), append(mends, a.Mend)
			}
			slices.Sort(left)
			if got.Commands.Test != tt.test || strings.Join(left, ", ") != tt.left || !strings.Contains(strings.Join(mends, "\n"), tt.mend) {
				t.Errorf("test %q\nleft %q\nmends %q", got.Commands.Test, left, mends)
			}
		})
	}
}

// TestNotEntered names the parts that no command starts, where that is certain.
func TestNotEntered(t *testing.T) {
	root := tree(map[string]string{
		"go.mod": "module a\n", "tools/go.mod": "module t\n", "web/package.json": `{"workspaces": ["a"], "scripts": {"test": "jest"}}`,
		"web/a/package.json": `{"scripts": {"test": "jest"}}`, "site/package.json": `{"scripts": {"test": "jest"}}`, "site/x.js": "",
	})
	for line, want := range map[string]string{
		"go test ./...": "tools site web",
		"go test ./... && (cd tools && go vet ./...)":       "site web",
		"go test ./... && npm --prefix web test":            "tools site",
		"go test ./... && go -C tools test ./... && cd web": "site web",
		"make test":  "",
		"./test.sh":  "",
		"cd $X && y": "",
	} {
		var got []string
		for _, a := range NotEntered(root, check.Commands{Test: line}) {
			got = append(got, a.Dir)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
