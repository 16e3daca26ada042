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
	if _, err := fs.Stat(s.FS, path.Clean(s.Dir)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("%s: there is no such folder", shownPath(path.Join(s.Name, s.Dir)))
	}
	l := newLoader()
	l.lenient, l.raws = true, map[string][]byte{}
	if err := l.source(s); err != nil {
		return nil, nil, err
	}
	for _, name := range l.lib.names() {
		found = append(found, Found{l.lib.files[name].file, l.raws[name]})
	}
	return found, l.lib.notes, nil
}
