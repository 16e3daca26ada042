package agentfile

import "embed"

// talents are specialists for the domains of software work, a file each.
//
//go:embed talents/*.md
var talents embed.FS

// Talents is the source of the agents that come with the program.
func Talents() Source { return Source{Layer: BuiltIn, Name: "built-in", FS: talents, Dir: "talents"} }
