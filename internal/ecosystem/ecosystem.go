// Package ecosystem says what the harness has to know of a language and its tools,
// and each sub-package knows it of one: golang, node (JavaScript and TypeScript),
// python, rust, jvm (Java and Kotlin). What asks for it (check, detect, verify)
// knows capabilities and no language; package languages lists all that there are. A new
// language is a folder here, a line there, and a grammar in package code where it
// is read as a tree.
//
// A capability is made of values and functions, and what a language has not is
// empty. They read text, trees and the file systems that they are handed; none runs
// a program by itself (Machine.Ask is handed, too), and none judges.
package ecosystem

// Name names an ecosystem.
type Name string

// The ecosystems that are known.
const (
	Go     Name = "go"
	Node   Name = "javascript"
	Python Name = "python"
	Rust   Name = "rust"
	JVM    Name = "java"
)

// Ecosystem is all that is known of a language and its tools.
type Ecosystem struct {
	Name      Name
	Source    Source
	Runners   []Runner
	Launchers Launchers
	Project   Project
	Awareness Awareness
}
