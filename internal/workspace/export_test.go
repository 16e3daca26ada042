package workspace

// Settle makes the memo of a checkout trust what it saw, as it does by itself
// when the clock of the file system has moved on.
func Settle(w *Workspace) {
	if w.staging.memo == nil {
		return
	}
	for i := range w.staging.memo.dirs {
		d := &w.staging.memo.dirs[i]
		d.look.fresh = false
		for j := range d.files {
			d.files[j].look.fresh = false
		}
	}
}

// Remembers tells whether the checkout has a memo.
func Remembers(w *Workspace) bool { return w.staging.memo != nil }

// IndexOf is the path of the checkout's index.
func IndexOf(w *Workspace) string { return w.index }

// Forgetful is the same checkout seen for the first time, with an index of its
// own.
func Forgetful(w *Workspace) *Workspace {
	c := *w.checkout
	c.index += ".2"
	f := newWorkspace(&c)
	f.audit.suspect = false
	return f
}
