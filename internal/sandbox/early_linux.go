package sandbox

// init becomes a sandbox before the packages of the program that a sandbox does
// not need prepare themselves: that was the half of what one costs. Which ones
// come before it follows from what this package imports: of the network, TLS and
// regular expressions it has nothing (TestEarly). Child stays the first statement
// of main all the same: it says what main is, and it is what is asked for where
// this file is not built.
func init() { Child() }
