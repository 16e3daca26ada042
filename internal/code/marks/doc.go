// Package marks finds in a source of Python, JavaScript or TypeScript by what code
// can know of its tests or decide their results without doing its work: it looks
// at who calls or runs it or reads its output, asks whether its clock is the real
// one, reaches into what asserts or loads, ends the process,
// equals whatever it is compared with, or reads what a test hands it aside.
//
// Names are followed through the file, whatever way they were imported, renamed,
// taken apart or put together of texts, without regard to scope: a name stands
// for all that it is given anywhere. What is honest is told by where it stands:
// a program may read its arguments and end itself where it starts, and a module
// may ask whether it is the program.
//
// # What the reader cannot tell
//
// Values are not followed through parameters, containers and results of calls;
// the whole of a module that is handed on there is a mark by itself, instead. And
// nothing tells what is meant by something that a test hands in openly: an
// argument of its own, a function that does the work. Whether that is the work
// that was asked for, only a person can say.
package marks
