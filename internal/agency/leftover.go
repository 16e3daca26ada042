package agency

import "strconv"

// Leftover is a new file of a claim that its contract does not name: no declared
// write, expected output or criterion does.
type Leftover struct {
	Path string `json:"path"` // or a folder, with a trailing slash
	// Why says as what it looks left behind, such as "a backup"; empty for a
	// file that may well belong to the work.
	Why string `json:"why,omitempty"`
}

// String is the line that people and agents read.
func (l Leftover) String() string {
	s := l.Path
	if q := strconv.Quote(s); q != `"`+s+`"` {
		s = q
	}
	if l.Why != "" {
		s += " (" + l.Why + ")"
	}
	return s
}
