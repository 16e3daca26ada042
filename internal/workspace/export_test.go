package workspace

// Settle makes the memo of a checkout trust what it saw, as it does by itself
// when the clock of the file system has moved on.
func Settle(w *Workspace) {
	if w.memo == nil {
		return
	}
	for i := range w.memo.dirs {
		d := &w.memo.dirs[i]
		d.look.fresh = false
		for j := range d.files {
			d.files[j].look.fresh = false
		}
	}
}

// Remembers tells whether the checkout has a memo.
func Remembers(w *Workspace) bool { return w.memo != nil }

// IndexOf is the path of the checkout's index.
func IndexOf(w *Workspace) string { return w.index }

// Forgetful is the same checkout seen for the first time, with an index of its
// own.
func Forgetful(w *Workspace) *Workspace {
	f := &Workspace{run: w.run, kind: w.kind, name: w.name, root: w.root, index: w.index + ".2", synthetic: w.synthetic, ready: w.ready, unknown: true}
	f.dir = w.run.dir.WithWorkTree(f.root, f.index)
	return f
}
