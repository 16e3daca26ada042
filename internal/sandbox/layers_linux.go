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
	layers map[string]layer // by where the overlay appears
	locks  []*os.File
}

// layer is the host side of one overlay: a folder name in base.
type layer struct{ base, name string }

func upperOf(base, name string) string { return filepath.Join(base, name, "upper") }
func workOf(base, name string) string  { return filepath.Join(base, name, "work") }

// ownOf is the cache to use where the overlay is refused.
func ownOf(base string) string { return filepath.Join(base, "own") }

// takeLayers takes the first free layer of each overlay. A layer is held by a
// lock on an open file, so that the kernel frees it when the host dies.
func takeLayers(dir string, overlays []Overlay) (*layerSet, error) {
	set := &layerSet{layers: map[string]layer{}}
	for _, o := range overlays {
		l, lock, err := takeLayer(filepath.Join(dir, o.Name))
		if err != nil {
			set.release()
			return nil, err
		}
		set.layers[o.At] = l
		set.locks = append(set.locks, lock)
	}
	return set, nil
}

func (s *layerSet) release() {
	for _, l := range s.layers {
		_ = removeWork(workOf(l.base, l.name)) // else whoever takes the layer next does it
	}
	for _, l := range s.locks {
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
			l, err := openLayer(base, strconv.Itoa(n))
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
func openLayer(base, name string) (layer, error) {
	if err := removeWork(workOf(base, name)); err != nil {
		return layer{}, err
	}
	for _, d := range []string{upperOf(base, name), workOf(base, name), ownOf(base)} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return layer{}, err
		}
	}
	return layer{base, name}, nil
}

// removeWork removes a folder in which the kernel, or a command, has left folders
// that nobody may enter, not even their owner. No command is in it any more.
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
