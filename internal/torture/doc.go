// Package torture runs the built binary through every accident it must
// survive, and holds what is left against what must never be broken: no
// acknowledged message lost, no stored answer asked for again, no step done
// twice, no orphan, nothing of the user's touched that did not land, and in the
// end the tree of an undisturbed run. It contains tests only.
//
// Storms kill at random instants, runs of one agent and, with -team N, of six
// beside each other; failpoints, which only a build of these tests has, kill at
// each named point and at both sides of each commit; faults of repositories and
// of models are tables; the order of writing, syncing and acknowledging is read
// from a trace of system calls; bugs are planted into builds of their own, and
// the suite must turn red. The whole programme, with what other packages prove
// in their long form and ten seconds of each fuzz target, is one command:
//
//	go test ./internal/torture -long -v -timeout 6h
//
// What is chosen at random prints its seed; -seed repeats it.
package torture
