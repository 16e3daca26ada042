package daemon

// selfPath names the running program itself, also where its file has been
// deleted or replaced meanwhile (`go run` deletes it).
func selfPath() (string, error) { return "/proc/self/exe", nil }
