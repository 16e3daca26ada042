// Package torture kills the built binary at random instants and holds what is
// left against what must never be broken: no acknowledged message lost, no
// stored answer asked for again, no step done twice, no orphan, and in the end
// the tree of an undisturbed run. It contains tests only; the long form is
//
//	go test ./internal/torture -storm 200 -timeout 2h
//
// and every failure prints the seed that repeats it (-seed).
package torture
