package sandbox

// Child is the first statement of main and of every TestMain whose package
// runs commands. Where this process was started to be a sandbox it never
// returns; everywhere else it does nothing.
func Child() {}
