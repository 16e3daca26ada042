// Package land moves branches of the user's repository, and nothing else does
// (DESIGN 8): it creates the run's branch, lands verified work on it, and at
// the end merges it into the target, even where that is checked out.
//
// Each move is a compare-and-swap with an intent row before it and the step's
// key in the commit, so that a process killed at any point neither loses nor
// repeats one. A merge into a checked-out branch touches no file that the user
// has changed; what stands in its way is named, with nothing touched.
//
// The package does not judge whether work is good: a Verifier is handed in.
package land
