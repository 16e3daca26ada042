// Package testreport reads what test runners report: JUnit XML, TAP, the lines of
// our own reporters, coverage in lcov and Cobertura, and JSON as a stream. What one
// runner alone writes its ecosystem reads, with the parts that are here.
//
// Whoever wrote a report may be hostile, and it may have any size. So each is read as
// a stream and nothing of it is held but what is kept: of texts head and tail
// (Excerpt, Room), of results so many names (Tally), of coverage so many lines
// (Profile). An Allowance bounds the bytes and the time of the processor that all
// reports of a command may take.
//
// Names are unique in a repository: Go's begin with the import path, those of files
// with the file's path, all others with the folder of their part.
package testreport
