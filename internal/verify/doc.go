// Package verify judges a claim by what the harness itself finds out: on a
// clean checkout of the claimed tree it runs the commands of the run's own copy
// of the configuration, compares with what the base did, and says for each
// criterion what proves it (docs/design.md, Verification).
//
// A claim fails when a check that the base passed fails now, when one that was
// red before complains of more, when a test is new and red, when a criterion's
// own check does not pass, when evidence that it names is false, when it changes
// nothing, and, once, when it made the checks weaker. What the base already got
// wrong does not fail it; it is named.
//
// One run of a suite is not yet a fact. What is newly red is run again before it
// is a regression, and what was red on the base before it proves a claim that
// passes it (flaky, testrun): only what whole suites gave both ways is flaky, and
// that proves nothing on either side. A name that differs from run to run is
// judged through what holds it (package suite).
//
// What a passing test proves is found out by two axes (worth): whose tests, on
// whose product. The base's test matter on the claim's product shows what the
// change really mended; the claim's on the base's product, and on the claim with
// the changed functions taken out (cutting), whether a test of the run needs the
// change.
//
// What belongs to tests is told by its path, or by those that use it on the
// base (usage). A command that the plan set is worth what it reads (criteria); a
// new file by which another is not loaded any more (shadowing) and a comment by
// which a check keeps quiet (silenced) prove nothing and are named.
//
// Results come from a process that the claim's code shares, so that code can know
// of its tests and decide them. What a change adds of that is named with its place
// and makes its criteria asserted (testAwareness, handedIn). Whether an option that only
// its own test sets, or a function that a test hands in, is the work that was
// asked for, no reader of the source can tell: that is a person's.
//
// A job is one verification: it reads the change (package changeset), runs commands
// on checkouts of both sides (package checkout), gathers facts, and judges them. The
// package changes nothing of the work, does not review code, and does not decide
// what happens after a verdict: that is contractrun's.
package verify
