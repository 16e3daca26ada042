package text

// Tail is a writer that keeps the end of what is written: at most Most bytes of it.
type Tail struct {
	Most int
	kept []byte
	cut  bool
}

// Write is for io.Writer; it never fails.
func (t *Tail) Write(p []byte) (int, error) {
	n := len(p)
	if over := len(p) - t.Most; over > 0 {
		p, t.cut = p[over:], true
	}
	if over := len(t.kept) + len(p) - t.Most; over > 0 && len(t.kept) > 0 {
		t.kept, t.cut = append(t.kept[:0], t.kept[over:]...), true
	}
	t.kept = append(t.kept, p...)
	return n, nil
}

// End is what is kept, and whether it is all that was written.
func (t *Tail) End() (end string, whole bool) { return string(t.kept), !t.cut }
