package node

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"agency/internal/ecosystem"
)

func tree(m map[string]string) *ecosystem.Checkout {
	out := fstest.MapFS{}
	for name, text := range m {
		out[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return ecosystem.NewCheckout(out)
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
		"yarn 4": {"yarn.lock": "__metadata:\n  version: 8\n\n\"@s/b@npm:2\":\n  version: 2.0.0\n\n\"a@npm:^1.0.0, a@npm:^1.2.0\":\n  version: 1.2.3\n\n\"f@file:f.tgz::locator=r%40workspace%3A.\":\n  version: 0.1.0\n\n\"l@workspace:*\":\n  version: 0.0.0-use.local\n"},
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

// A lockfile that is nothing but levels would end the host, for the library
// calls itself for each: such a text is not handed to it.
func TestDeepYAMLIsNotRead(t *testing.T) {
	for name, text := range map[string]string{
		"brackets":      strings.Repeat("[", 1<<19),
		"brackets down": strings.Repeat("[\n", 1<<18),
		"braces":        strings.Repeat("{a: ", 1<<17),
		"lists":         strings.Repeat("- ", 1<<18),
		"indents":       "a:\n" + strings.Repeat(" ", 300) + "b: 1\n",
		"aliases":       "a: &a [x]\nb: [*a, *a]\n",
	} {
		if modest(text) {
			t.Errorf("%s are handed on", name)
		}
		if got := lockedByPNPM(text); len(got) != 0 {
			t.Errorf("%s give %v", name, got)
		}
	}
	lock := "lockfileVersion: '9.0'\nimporters:\n  .:\n    dependencies:\n      a:\n        specifier: ^1.0.0\n        version: 1.2.3\npackages:\n  a@1.2.3:\n    engines: {node: '>=18'}\n"
	if got := lockedByPNPM(lock); got["a"] != "1.2.3" {
		t.Errorf("an honest one gives %v", got)
	}
}

// TestSilentTypes takes another command for a script of the compiler alone whose
// output git would see.
func TestSilentTypes(t *testing.T) {
	for name, tt := range map[string]struct {
		script, config, ignore string
		want                   string
	}{
		"beside the sources":         {"tsc", `{}`, "", "npx tsc --noEmit"},
		"of a project":               {"tsc -p tsconfig.json", `{}`, "", "npx tsc --noEmit -p tsconfig.json"},
		"beside, and ignored":        {"tsc", `{}`, "*.js\n", ""},
		"into a folder":              {"tsc", `{"compilerOptions": {"outDir": "./lib"}}`, "node_modules\n", "npx tsc --noEmit"},
		"into a folder that is not":  {"tsc", `{"compilerOptions": {"outDir": "./lib"}}`, "/lib/\n", ""},
		"writes nothing":             {"tsc", `{"compilerOptions": {"noEmit": true}}`, "", ""},
		"says so itself":             {"tsc --noEmit", `{}`, "", ""},
		"does more":                  {"tsc && cp a b", `{}`, "", ""},
		"another compiler of a name": {"tsc-alias", `{}`, "", ""},
	} {
		root := tree(map[string]string{"web/tsconfig.json": tt.config, ".gitignore": tt.ignore})
		if got := silentTypes(root, "web", tt.script); got != tt.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
