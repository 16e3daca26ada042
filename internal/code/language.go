package code

import (
	"path"
	"strings"
)

// Language is a programming language whose files can be read.
type Language string

// The languages. JSX is read as JavaScript.
const (
	Go         Language = "go"
	Python     Language = "python"
	JavaScript Language = "javascript"
	TypeScript Language = "typescript"
	TSX        Language = "tsx"
	Rust       Language = "rust"
	Java       Language = "java"
)

// The languages of which there is a tree and no more: nothing here tells their tests from
// the rest, nor takes bodies out of their functions.
const (
	C      Language = "c"
	CPP    Language = "cpp"
	CSharp Language = "c_sharp"
	Ruby   Language = "ruby"
	PHP    Language = "php"
	Bash   Language = "bash"
	JSON   Language = "json"
	YAML   Language = "yaml"
)

// LanguageOf tells a file's language by its name; "" where it is not known, or has a tree
// and no more.
func LanguageOf(name string) Language { return byEnding[strings.ToLower(path.Ext(name))] }

// SyntaxOf tells a file's language by its name, of those that have a tree and no more,
// too; "" where it is not known.
func SyntaxOf(name string) Language {
	if l := LanguageOf(name); l != "" {
		return l
	}
	return treesOnly[strings.ToLower(path.Ext(name))]
}

var treesOnly = map[string]Language{
	".c": C, ".h": C, ".cc": CPP, ".cpp": CPP, ".cxx": CPP, ".hh": CPP, ".hpp": CPP, ".hxx": CPP,
	".cs": CSharp, ".rb": Ruby, ".rake": Ruby, ".php": PHP, ".sh": Bash, ".bash": Bash,
	".json": JSON, ".yaml": YAML, ".yml": YAML,
}

var byEnding = map[string]Language{
	".go": Go, ".py": Python, ".rs": Rust, ".java": Java,
	".js": JavaScript, ".jsx": JavaScript, ".mjs": JavaScript, ".cjs": JavaScript,
	".ts": TypeScript, ".mts": TypeScript, ".cts": TypeScript, ".tsx": TSX,
}

// dialect is what is known of a language that tree-sitter reads.
type dialect struct {
	functions func(*tree) []found // the outer before the inner, in order
	switches  func(*tree, []request, switchNames) (edits []edit, skipped []Skipped)
	tests     func(*tree) (all, top []Span) // nil: none
	comment   func(Node) bool               // also counts as one, as a docstring does; nil: none
	atoms     []string                      // kinds of nodes that are one token, with the blanks in them
}

var dialects = map[Language]dialect{
	Python:     {functions: pythonFunctions, switches: pythonSwitches, comment: isDocstring, atoms: []string{"string_content"}},
	JavaScript: {functions: scriptFunctions, switches: scriptSwitches, atoms: []string{"string"}},
	TypeScript: {functions: scriptFunctions, switches: scriptSwitches, atoms: []string{"string"}},
	TSX:        {functions: scriptFunctions, switches: scriptSwitches, atoms: []string{"string"}},
	Rust:       {functions: rustFunctions, switches: rustSwitches, tests: rustTests, atoms: []string{"string_literal", "raw_string_literal", "char_literal"}},
	Java:       {functions: javaFunctions, switches: javaSwitches, atoms: []string{"string_literal", "character_literal"}},
}
