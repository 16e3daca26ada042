package agentfile

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
)

// Found is an agent of a folder as it is written.
type Found struct {
	File
	Raw []byte
}

// Gather reads the agents of a folder that somebody else keeps: what is no agent, has a
// fault, or has the name of an agent before it, is a note that says why, and hinders
// nothing. Found are in the order of their names. Errors are those of the folder itself.
func Gather(s Source) (found []Found, notes []string, err error) {
	l := &loader{lib: Library{files: map[string]*reading{}}, byLayer: map[Layer]map[string]*reading{}}
	raws := map[string][]byte{}
	l.each = func(r *reading, raw []byte) {
		if faults := r.doc.Faults(); len(faults) > 0 {
			first := faults[0]
			l.note(r.file.Path, "not taken: line %d: %s%s", first.Line, first.What, more(len(faults)-1))
			return
		}
		if first, twice := l.lib.files[r.file.Name]; twice {
			l.note(r.file.Path, "not taken: %s has the same name, %s", shownPath(first.file.Path), r.file.Name)
			return
		}
		l.lib.files[r.file.Name] = r
		raws[r.file.Name] = raw
		for _, n := range r.file.Notes {
			l.note(r.file.Path, "%s", n)
		}
	}
	if _, err := fs.Stat(s.FS, path.Clean(s.Dir)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("%s: there is no such folder", shownPath(path.Join(s.Name, s.Dir)))
	}
	if err := l.source(s); err != nil {
		return nil, nil, err
	}
	for _, name := range l.lib.names() {
		found = append(found, Found{l.lib.files[name].file, raws[name]})
	}
	return found, l.lib.notes, nil
}

func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" (and %d more)", n)
}
