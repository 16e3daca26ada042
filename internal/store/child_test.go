package store

// runChild is the process that the crash tests kill.
func runChild() bool { return false }
