// Package awareness finds in sources by what a product can know of its tests: who
// calls it, what process, command line and environment it runs in, and by what it
// can end or decide them without doing its work.
//
// Its sub-packages hold two ways to follow that. Package dataflow follows values
// through conditions, variables and calls of languages whose sources are read into
// one form: Go, Rust, Java. Package symbols follows what names stand for in those
// whose objects are open to everybody: Python, JavaScript. What is known of one
// language alone, its reader and its origins, stands in its ecosystem. Nothing here
// judges: which findings are new, and what follows, is the verifier's.
package awareness

// Finding is one way in which a source knows of its tests or can decide their
// results.
type Finding struct {
	Word string // what it does, such as "looks at who calls it"
	What string // with what, such as "sys._getframe"; may be ""
	Key  string // by what a finding of the other side is the same; the word where it is ""
	Line int    // from 1; 0 is the file itself
	Code string // the line, without the blanks around it; "" where it was not kept
}

// ID is by what two findings are the same.
func (f Finding) ID() string {
	if f.Key != "" {
		return f.Key
	}
	return f.Word
}
