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
