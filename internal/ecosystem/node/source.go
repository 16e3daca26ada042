package node

import (
	"bytes"
	"encoding/json"
	"path"
	"strings"
	"sync"

	"agency/internal/bounded"
	"agency/internal/ecosystem"
	"agency/internal/regexp"
)

func source() ecosystem.Source {
	return ecosystem.Source{
		Endings: []string{".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".vue", ".svelte"},
		Tests: ecosystem.Tests{
			IsFile:    isTestFile,
			SetUps:    []string{"setup-tests.js", "setup-tests.ts", "test-setup.js", "test-setup.ts"},
			Framework: ecosystem.Compile(`(?:\brequire\(\s*|\bfrom\s*|\bimport\(?\s*)['"](?:node:test|vitest|mocha|jest|@jest/globals|chai|ava|tape|tap|expect|sinon|supertest|cypress|@playwright/test|@testing-library/[\w-]+)['"]`),
			Units: ecosystem.UnitForms{
				Unit: ecosystem.Compile("\\b(?:it|test|specify|bench)(?:\\.\\w+)*(?:\\([^()\\n]*\\))?\\s*\\(\\s*(?:'([^'\\n]*)'|\"([^\"\\n]*)\"|`([^`]*)`)" +
					`|(?m)^(?:export\s+(?:default\s+)?)?(?:async\s+)?function\s*\*?\s*(\w+)\s*\(` +
					`|(?m)^(?:export\s+)?(?:(?:const|let|var)\s+|(?:module\.)?exports\.)(\w+)\s*=\s*(?:async\s*)?(?:function\b|\([^()\n]*\)\s*(?::[^=\n]+)?=>|\w+\s*=>)`),
				Test:   ecosystem.Compile(`^(?:it|test|specify|bench)\b`),
				Assert: ecosystem.Compile(`\bexpect(?:\.\w+)*\s*\(|\bassert(?:\.\w+)*\s*\(|\bt\.(?:is|not|deepEqual|true|false|truthy|falsy|throws\w*|equal|same|ok|match|snapshot|assert)\w*\s*\(|\.should\b|\bsinon\.assert\b`),
				Skip:   ecosystem.Compile(`\b(?:it|test|describe|context|suite)\.(?:skip|only|todo|fails|failing|fixme|skipIf|runIf)\b|\bx(?:it|test|describe|context)\b|\bf(?:it|describe)\s*\(|\bskip\s*:\s*(?:true|['"])|\b(?:t|this)\.skip\(|\bonly\s*:\s*true|\btodo\s*:\s*true`),
				Extent: titled,
			}.Units,
		},
		Forms: ecosystem.Forms{
			Defines:  ecosystem.Compile(`\bfunction\s*\*?\s*(\w+)|\b(?:const|let|var)\s+(\w+)\s*=\s*(?:async\s*)?(?:function\b|\(|\w+\s*=>|(?:jest|vi|sinon)\.\w+)`),
			Declares: ecosystem.Compile(`(?m)\b(?:function\*?|class|const|let|var)\s+(\w+)|\bthis\.(\w+)\s*=[^=]|^\s*(?:async\s+|static\s+|get\s+|set\s+)*(\w+)\s*\([^)\n]*\)\s*\{`),
			Yields:   ecosystem.Compile(`\b(?:return|yield)\b[ \t]*[^\s;}]`),
			Does:     ecosystem.Compile(`\bfunction\b|=>|\bclass\b|\)\s*\{`),
			Untyped:  true,
			Silences: ecosystem.Compile(`//\s*(?:@ts-(?:ignore|expect-error|nocheck)|(?:eslint|tslint|oxlint)[-:]disable|biome-ignore|deno-lint-ignore|nosemgrep)[^\n]*|/\*\s*(?:@ts-(?:ignore|expect-error|nocheck)|(?:eslint|tslint|oxlint)[-:]disable|biome-ignore|eslint\s+[\w@/-]+\s*:)(?:[^*]|\*[^/])*\*/`),
			Warns:    true,
			Marks:    textMarks,
		},
		Names: ecosystem.Names{Loads: loads},
		Files: ecosystem.Files{
			Manifests: []string{"package.json"},
			Locks:     []string{"package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock"},
			Settings: []string{
				"jest.config.*", "jest.setup.*", "vitest.config.*", "vitest.setup.*", "vitest.workspace.*", "vitest.projects.*", "jest-preset.*", "jest.preset.*", ".taprc", "bunfig.toml", ".env.test", "vite.config.*", ".mocharc*",
				"mocha.opts", "ava.config.*", "karma.conf.*", "playwright.config.*", "cypress.config.*", ".nycrc*", ".c8rc*", "babel.config.*", ".babelrc*",
				"tsconfig*.json", ".eslintrc*", "eslint.config.*", ".eslintignore", "biome.json*", ".npmrc", ".yarnrc*", ".pnpmfile.cjs", "setupTests.*",
				".nvmrc", ".node-version", "__mocks__/", // which stand in for a package without being asked to
			},
			Recipes: []string{"turbo.json", "nx.json", "lerna.json"},
			Parts:   []ecosystem.SettingsFile{{Glob: "package.json", Parts: keys}, {Glob: "deno.json", Parts: keys}, {Glob: "deno.jsonc", Parts: keys}},
			Litter:  map[string]string{"node_modules": "installed packages", ".nyc_output": "a report of coverage"},
			Remains: map[string]string{"lcov.info": "a report of coverage"},
		},
	}
}

func isTestFile(p string) bool {
	stem := ecosystem.Stem(p)
	return strings.HasSuffix(stem, ".test") || strings.HasSuffix(stem, ".spec") || strings.HasSuffix(stem, "-test") ||
		strings.HasSuffix(stem, "_test") || stem == "test" || ecosystem.UnderFolder(p, "__tests__", "test", "tests", "spec")
}

// titled is the extent of a function by its braces, of what has a title by the
// call that it is handed to.
func titled(bare string, from, head, limit int) int {
	if strings.IndexByte("'\"`", bare[head-1]) >= 0 {
		return ecosystem.Closed(bare, "()", 1, head, limit)
	}
	return ecosystem.Braces(bare, from, head, limit)
}

var loadForm = ecosystem.Compile(`(?:\bfrom\s*|\bimport\s*\(?\s*|\brequire(?:\.resolve)?\s*\(\s*|\b(?:do)?[mM]ock\s*\(\s*)["'` + "`" + `]([^"'` + "`" + `\n]+)["'` + "`" + `]`)

// loads are the modules that a source loads.
func loads(from, text string, bare func(string) string) (out []ecosystem.ImportedModule) {
	for _, spec := range loadForm.Names(text) {
		if spec = bare(spec); strings.HasPrefix(spec, ".") {
			out = append(out, ecosystem.ImportedModule{Path: path.Join(path.Dir(from), spec), Exact: true})
		} else {
			out = append(out, ecosystem.ImportedModule{Path: strings.TrimLeft(spec, "@~#/")})
		}
	}
	return out
}

// textMarks are ways to know of tests that the text shows; the tree shows the others
// (package awareness/symbols).
var textMarks = sync.OnceValue(func() []ecosystem.Mark {
	re := regexp.MustCompile
	return []ecosystem.Mark{
		{Form: re(`\bimport\.meta\.vitest\b`), Word: "reads the test runner's environment"},
		{Form: re(`\bglobalThis\.(?:expect|it|test|describe)\b|\btypeof\s+(?:jest|describe|it|expect)\b|\bexpect\.extend\b`), Word: "reaches into the test runner", Tests: true},
		{Form: re(`NODE_ENV\b[^\n]{0,20}['"]test['"]|['"]test['"][^\n]{0,20}NODE_ENV\b`), Word: "asks whether it is tested"},
		{Form: re(`\b(?:const|let|var)\s+(?:expect|assert)\s*=[^\n;]*|\bfunction\s+(?:expect|assert)\s*\(`), Word: "redefines an assertion", Only: true, Unless: re(`\brequire\(|\bimport\(|\b(?:chai|assert|jest|vi|sinon|strict)\b\s*[.;]|\bchai\b`)},
		{Form: re(`\b(?:jest|vi)\.(?:mock|doMock|unstable_mockModule)\(\s*['"](?:(?:node:)?assert[^'"]*|(?:node:)?test|@jest/globals|vitest|chai|expect)['"]`), Word: "mocks the test runner", Tests: true},
		{Form: re(`\bif\s*\(\s*(?:false|0)\s*\)|\bwhile\s*\(\s*(?:false|0)\s*\)`), Word: "holds code that never runs", Only: true},
		{Form: re(`\bcatch\s*(?:\([^)]*\))?\s*\{\s*\}|\.catch\(\s*\(\w*\)\s*=>\s*\{\s*\}\s*\)`), Word: "swallows failures", Only: true},
	}
})

// deciding are the keys of a package file that decide how tests run.
var deciding = []string{"scripts", "tasks", "jest", "vitest", "mocha", "ava", "nyc", "c8", "tap", "babel", "eslintConfig", "imports", "type", "resolutions", "overrides", "pnpm", "test", "lint", "compilerOptions"}

// maxJSON bounds the keys and values of a package file that is taken apart.
const maxJSON = 100_000

// keys are the values of these in a package file.
func keys(src []byte) map[string]string {
	var doc map[string]json.RawMessage
	if bounded.JSON(bytes.NewReader(src), maxJSON, func([]string, json.Token) error { return nil }) != nil || json.Unmarshal(src, &doc) != nil {
		return map[string]string{ecosystem.TheWholeFile: string(src)}
	}
	out := map[string]string{}
	for _, k := range deciding {
		var v any
		if json.Unmarshal(doc[k], &v) != nil {
			continue
		}
		if b, err := json.Marshal(v); err == nil { // in one form
			out[k] = string(b)
		}
	}
	return out
}
