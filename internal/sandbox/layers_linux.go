package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// maxLayers bounds the search for a free layer: more commands than this do not
// run at the same time on one machine.
const maxLayers = 4096

// layerSet holds the layers of one command while it runs.
type layerSet struct {
	layers []layer
	locks  []*os.File
}

// takeLayers takes the first free layer of each overlay. A layer is held by a
// lock on an open file, so that the kernel frees it when the host dies.
func takeLayers(dir string, overlays []Overlay) (*layerSet, error) {
	set := &layerSet{}
	for _, o := range overlays {
		l, lock, err := takeLayer(filepath.Join(dir, o.Name))
		if err != nil {
			set.release()
			return nil, err
		}
		set.layers = append(set.layers, l)
		set.locks = append(set.locks, lock)
	}
	return set, nil
}

func (s *layerSet) release() {
	for i, l := range s.locks {
		_ = removeWork(s.layers[i].Work) // else whoever takes the layer next does it
		_ = l.Close()
	}
}

func takeLayer(base string) (layer, *os.File, error) {
	if err := os.MkdirAll(base, 0o700); err != nil {
		return layer{}, nil, err
	}
	for n := range maxLayers {
		dir := filepath.Join(base, strconv.Itoa(n))
		lock, err := os.OpenFile(dir+".lock", os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return layer{}, nil, err
		}
		err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			l, err := openLayer(base, dir)
			if err != nil {
				_ = lock.Close()
			}
			return l, lock, err
		}
		_ = lock.Close()
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return layer{}, nil, err
		}
	}
	return layer{}, nil, errors.New("no free cache layer below " + base)
}

// openLayer makes the folders of a layer. The work folder is new each time: a
// volatile overlay marks it, and the mark would refuse the next mount.
func openLayer(base, dir string) (layer, error) {
	l := layer{
		Upper: filepath.Join(dir, "upper"), Work: filepath.Join(dir, "work"),
		Own: filepath.Join(base, "own"),
	}
	if err := removeWork(l.Work); err != nil {
		return layer{}, err
	}
	for _, d := range []string{l.Upper, l.Work, l.Own} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return layer{}, err
		}
	}
	return l, nil
}

// removeWork removes a work folder, in which the kernel leaves folders that
// nobody may enter, not even their owner. Nothing of it is ever seen inside.
func removeWork(work string) error {
	err := filepath.WalkDir(work, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = os.Chmod(path, 0o700)
		}
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	return os.RemoveAll(work)
}
