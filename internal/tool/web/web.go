// Package web is what an agent reads of the hosts that its run may reach.
package web

import (
	"embed"

	"agency/internal/tool"
)

//go:embed *.md
var texts embed.FS

// Tools are those of this package.
func Tools() []tool.Tool { return []tool.Tool{fetchPage()} }
