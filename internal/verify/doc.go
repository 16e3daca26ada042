// Package verify judges a claim by what the harness itself finds out: on a
// clean checkout of the claimed tree it runs the commands of the run's own copy
// of the configuration, compares with what the base did, and says for each
// criterion what proves it (DESIGN 8).
//
// A claim fails when a check that the base passed fails now, when a test is new
// and red, when a criterion's own check does not pass, when evidence that it
// names is false, when it changes nothing, and, once, when it made the checks
// weaker. What the base already got wrong does not fail it; it is named.
//
// The package runs commands only through package check, keeps verdicts, and
// changes nothing of the work. It does not review code, and it does not decide
// what happens after a verdict: that is the mode's.
package verify
