package beneath

// Fence is what a piece of work may touch. Files are judged by where they
// really are, whatever path or link led to them. Paths of a fence are followed
// as they stand, so none may lead through what others can write; one that does
// not exist is passed over.
type Fence struct {
	Programs []string // to read and execute below
	Read     []string
	Write    []string // to read, write, make and delete below
}

// Run does the work on a thread of its own inside the fence, and waits. Programs
// that it starts are inside, too; goroutines that it starts are not. The error
// is the work's, or why there is no fence. A kernel without Landlock has none to
// give (Fenced): the work is then done without.
func (f Fence) Run(do func() error) error { return f.run(do) }

// Fenced tells whether this kernel can fence.
func Fenced() bool { return fenced() }
