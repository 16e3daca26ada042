package check

import (
	"strings"
	"testing"

	"agency/internal/ecosystem"
)

// TestRunnersWithinScripts: most scripts do more than run tests, and in all
// orders; a runner that no argument reaches is told by what node loads.
func TestRunnersWithinScripts(t *testing.T) {
	const buried, behind = "NODE_OPTIONS=", " --json --outputFile=/out/report-0.json"
	for _, tt := range []struct{ scripts, line, want string }{
		{`"test": "eslint . && jest"`, "npm test", "npm test --" + behind},
		{`"test": "jest && npm run types", "types": "tsc"`, "npm test", buried},
		{`"test": "xo && jest --ci && tsd"`, "npm test", buried},
		{`"test": "npm run lint && npm run unit", "unit": "jest"`, "npm test", buried},
		{`"test": "npm run unit --", "unit": "jest"`, "npm test", "npm test --" + behind},
		{`"test": "pnpm lint && pnpm unit", "unit": "jest", "lint": "eslint ."`, "pnpm test", "pnpm test" + behind},
		{`"test": "pnpm lint && pnpm jest", "lint": "eslint ."`, "pnpm test", "pnpm test" + behind},
		{`"test": "jest", "unit": "jest"`, "yarn unit", "yarn unit" + behind},
		{`"test": "jest && vitest run"`, "npm test", "npm test"},
		{`"test": "jest | tee log"`, "npm test", "npm test"},
		{`"test": "tsc"`, "npm test", "npm test"},
	} {
		got := makePlan(tt.line, ecosystem.Repo{FS: repoOf(`package.json={"scripts": {` + tt.scripts + `}}`)}, "/out", ecosystem.Measure{}).line
		if tt.want == buried {
			if !strings.HasPrefix(got, `AGENCY_ARGS='["--json","--outputFile=/out/report-0.json"]' NODE_OPTIONS=`) || !strings.HasSuffix(got, "--require /out/lib/args.cjs' "+tt.line) {
				t.Errorf("%s: %s", tt.scripts, got)
			}
			continue
		}
		if got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.scripts, got, tt.want)
		}
	}
}
