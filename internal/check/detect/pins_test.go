package detect

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agency/internal/check"
	"agency/internal/ecosystem"
)

// TestOtherVersions notes what a repository asks for and does not get.
func TestOtherVersions(t *testing.T) {
	const found = "go1.26.1 linux/amd64, node v20.20.2, python 3.11.7, rustc 1.80.1 (3f5fd8dd4 2024-08-06), java java-17 17.0.9"
	for name, tt := range map[string]struct {
		files map[string]string
		want  []string // one a note
	}{
		"what is there":      {map[string]string{".nvmrc": "v20\n", ".python-version": "3.11\n", ".tool-versions": "nodejs 20.20.2\ngolang 1.26\njava temurin-17.0.9\n"}, nil},
		"no version":         {map[string]string{".nvmrc": "lts/*\n", ".python-version": "my-venv\n", "rust-toolchain": "stable\n"}, nil},
		"another node":       {map[string]string{".nvmrc": "18.4\n"}, []string{".nvmrc asks for node 18.4, and commands run with 20.20.2; mend: nvm install 18.4"}},
		"2 is not 20":        {map[string]string{".node-version": "v2\n"}, []string{".node-version asks for node 2, "}},
		"another python":     {map[string]string{".python-version": "3.12.1\n3.11.7\n"}, []string{"pyenv install 3.12.1"}},
		"another rust":       {map[string]string{"rust-toolchain.toml": "[toolchain]\nchannel = \"1.70.0\"\n"}, []string{"rustup toolchain install 1.70.0"}},
		"of volta":           {map[string]string{"package.json": `{"volta": {"node": "22.1.0"}}`}, []string{"volta of package.json asks for node 22.1.0"}},
		"of asdf":            {map[string]string{".tool-versions": "golang 1.21.0\n# node 1\nerlang 2\njava temurin-21.0.1\n"}, []string{"go 1.21.0", "java 21.0.1"}},
		"a toolchain line":   {map[string]string{"go.mod": "module a\n\ngo 1.21\n\ntoolchain go1.99.1\n"}, []string{"go.mod names the toolchain go1.99.1, and commands run with go1.26.1"}},
		"an older toolchain": {map[string]string{"go.mod": "module a\n\ngo 1.21\n\ntoolchain go1.22.1\n"}, nil},
	} {
		got := OtherVersions(tree(tt.files), found)
		ok := len(got) == len(tt.want)
		for i := range tt.want {
			ok = ok && strings.Contains(got[i], tt.want[i])
		}
		if !ok {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestPinnedManager tells of a package manager that would have to be downloaded.
func TestPinnedManager(t *testing.T) {
	for name, tt := range map[string]struct {
		manifest, program string
		corepack          bool // the program is corepack's
		store, version    string
		script            string // the program, where it is no package
		files             map[string]string
		setup, what, mend string
		note              string // where it runs all the same
	}{
		"corepack has it":      {manifest: `{"packageManager": "pnpm@9.1.0+sha512.abc"}`, program: "pnpm", corepack: true, store: "v1/pnpm/9.1.0"},
		"corepack has another": {manifest: `{"packageManager": "pnpm@9.1.0+sha512.abc"}`, program: "pnpm", corepack: true, store: "v1/pnpm/8.0.0", what: "package.json asks for pnpm@9.1.0, which corepack would download", mend: "corepack prepare pnpm@9.1.0"},
		"corepack has none":    {manifest: `{}`, program: "yarn", corepack: true, what: "is corepack's, which would download it", mend: "corepack prepare yarn@latest"},
		"any of corepack's":    {manifest: `{}`, program: "yarn", corepack: true, store: "v1/yarn/1.22.0"},
		"setup fetches it":     {manifest: `{"packageManager": "pnpm@9.1.0"}`, program: "pnpm", corepack: true, setup: "pnpm install"},
		"yarn 1 for yarn 4":    {manifest: `{"packageManager": "yarn@4.0.0"}`, program: "yarn", version: "1.22.0", what: "asks for yarn@4.0.0, and ", mend: "corepack enable && corepack prepare yarn@4.0.0"},
		"yarn of the tree":     {manifest: `{"packageManager": "yarn@4.0.0"}`, program: "yarn", version: "1.22.0", files: map[string]string{".yarnrc.yml": "yarnPath: .yarn/yarn.cjs\n"}},
		"pnpm by itself":       {manifest: `{"packageManager": "pnpm@9.1.0"}`, program: "pnpm", version: "8.0.0", note: "package.json asks for pnpm@9.1.0, and commands run with 8.0.0; mend: npm install -g pnpm@9.1.0"},
		"as it is asked":       {manifest: `{"packageManager": "pnpm@9.1.0+sha512.abc"}`, program: "pnpm", version: "9.1.0"},
		"pnpm that manages":    {manifest: `{"packageManager": "pnpm@9.1.0"}`, program: "pnpm", version: "10.2.0", what: "asks for pnpm@9.1.0, which pnpm 10.2.0 would download", mend: "pnpm install, in the repository"},
		"pnpm that may not":    {manifest: `{"packageManager": "pnpm@9.1.0"}`, program: "pnpm", version: "10.2.0", files: map[string]string{".npmrc": "manage-package-manager-versions=false\n"}, note: "commands run with 10.2.0"},
		"pnpm that says so":    {manifest: `{"packageManager": "pnpm@9.12.0"}`, program: "pnpm", script: "#!/bin/sh\necho 8.6.0\n", note: "commands run with 8.6.0"},
		"another npm":          {manifest: `{"packageManager": "npm@6.1.0"}`, program: "npm", version: "10.8.2", note: "asks for npm@6.1.0, and commands run with 10.8.2"},
		"npm for pnpm's":       {manifest: `{"packageManager": "pnpm@6.1.0"}`, program: "npm", version: "10.8.2"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, user := t.TempDir(), t.TempDir()
			lib := filepath.Join(user, "lib", tt.program)
			if tt.corepack {
				lib = filepath.Join(user, "lib", "corepack")
			}
			put := func(at, text string) {
				t.Helper()
				if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(at, []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			put(filepath.Join(dir, "package.json"), tt.manifest)
			for n, text := range tt.files {
				put(filepath.Join(dir, n), text)
			}
			put(filepath.Join(lib, "dist", tt.program+".js"), cmp.Or(tt.script, "#!/usr/bin/env node\n"))
			if tt.script == "" {
				put(filepath.Join(lib, "package.json"), `{"version": "`+tt.version+`"}`)
			}
			if tt.store != "" {
				put(filepath.Join(user, ".cache/node/corepack", tt.store, "x"), "")
			}
			if err := os.MkdirAll(filepath.Join(user, "bin"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(filepath.Join(lib, "dist", tt.program+".js"), filepath.Join(user, "bin", tt.program)); err != nil {
				t.Fatal(err)
			}
			root, err := os.OpenRoot(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = root.Close() }() // only read
			b := Base{Root: root, Repo: dir, Commands: check.Commands{Setup: tt.setup}, Env: func(name string) (string, bool) {
				v, ok := map[string]string{"HOME": user, "PATH": filepath.Join(user, "bin")}[name]
				return v, ok
			}}
			var what, mend, note string
			for _, of := range programs() {
				if of.Fetches != nil && what == "" {
					what, mend = of.Fetches(t.Context(), b.machine(), ecosystem.Need{Name: tt.program, Dir: "."})
				}
				if of.Other != nil {
					note += of.Other(t.Context(), b.machine(), ecosystem.Need{Name: tt.program, Dir: "."})
				}
			}
			if !strings.Contains(note, tt.note) || tt.note == "" && note != "" && tt.what == "" {
				t.Errorf("note %q", note)
			}
			if !strings.Contains(what, tt.what) || tt.what == "" && what != "" || !strings.Contains(mend, tt.mend) {
				t.Errorf("%q, mend %q", what, mend)
			}
		})
	}
}
