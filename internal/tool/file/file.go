// Package file is what an agent does with the files of its checkout: reading,
// searching, listing, writing, editing and deleting them, and looking at what its
// change comes to.
package file

import (
	"embed"

	"agency/internal/tool"
)

//go:embed *.md
var texts embed.FS

// Tools are those of this package.
func Tools() []tool.Tool {
	return []tool.Tool{applyPatch(), checkFileSizes(), deleteFile(), editFile(), listDirectory(), readFile(), searchFiles(), useSkill(), writeFile()}
}
