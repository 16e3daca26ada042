// Package shell is what an agent has run: a line of shell, the repository's own
// checks, what git tells of its change, checkpoints of its files, and the plan that it
// keeps meanwhile.
package shell

import (
	"embed"

	"agency/internal/tool"
)

//go:embed *.md
var texts embed.FS

// Tools are those of this package.
func Tools() []tool.Tool {
	return []tool.Tool{
		commandOutput(), createCheckpoint(), getCoverageReport(), gitDiff(), gitLog(), listUncoveredLines(), rollbackCheckpoint(),
		runCommand(), runLint(), runTests(), runTestsWithCoverage(), runTypeCheck(), stopCommand(), todo(),
	}
}
