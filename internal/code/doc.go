// Package code reads the syntax of source files: which functions a file has,
// which lines of it are code, what in it is a test. And it puts switches into
// functions, by which verification takes their bodies out to see whether a test
// depends on them: a test that passes without the code proves nothing about it.
//
// Go is read by go/parser. Python, JavaScript, TypeScript, TSX, Rust and Java
// are read by tree-sitter, compiled to WebAssembly and run by wazero, so that
// the binary needs no C (folder grammar). Nothing of it is loaded before a file
// of such a language is read; then it takes some 0.1 s a language, less with a
// folder to keep compiled modules in.
//
// # What the reader cannot do
//
// There are no types and no names resolved: a function is known by how it is
// written. Functions made by macros (Rust), lambdas (Python, Java) and function
// literals (Go) are not listed; they belong to the function around them, if one
// is. The files are anybody's: larger ones than MaxSize are refused, the work
// and memory spent on one are bounded, and a module cannot reach anything but
// its own memory.
//
// # Switches
//
// The body stays in the text, behind the switch, so that imports and variables
// stay used. What a switch decides by is read once in a process, and before its
// tests in most languages, as tests set and clear their environment. With the
// variable unset the file does what it did, only later by a few nanoseconds a
// call.
//
// Line numbers stay, but in Python: a conditional return needs a line of its
// own there. It is taken from a blank line or a comment: between the head and
// the first statement, else right above the function, which then begins a line
// earlier, else the next one that follows, so that the lines up to it shift; all
// that follow, where no such line is left. What PEP 8 has formatted keeps the
// lines of its bodies, but those of a method right below its class.
//
// A cut that a function's declaration does not allow panics instead: see the
// files of the languages. A function that cannot hold a switch is skipped, and
// Switch says why.
package code
