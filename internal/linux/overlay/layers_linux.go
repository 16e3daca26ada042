// Package overlay keeps the folders of the host that overlays are made of: for each
// cache the layers with what was changed, of which every command holds one alone; what
// trusted commands have built, sealed, below the layers of all; and a cache that stands
// in where the kernel makes no overlay, which begins with a part of what it stands in
// for. It mounts nothing.
package overlay

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"agency/internal/beneath"
)

// maxLayers bounds the search for a free layer: more commands than this do not
// run at the same time on one machine.
const maxLayers = 4096

// Set holds the layers of one command while it runs; the zero value none.
type Set struct {
	Layers map[string]Layer // by where the overlay appears
	locks  []*os.File
}

// Layer is the host side of one overlay: a folder name in base.
type Layer struct{ base, Name string }

// Upper is the folder with what was changed in a layer, Work the one that the
// kernel needs beside it.
func Upper(base, name string) string { return filepath.Join(base, name, "upper") }
func Work(base, name string) string  { return filepath.Join(base, name, "work") }

// Own is the cache to use where the overlay is refused.
func Own(base string) string { return filepath.Join(base, "own") }

// Take takes the first free layer below base for the overlay at a path. A layer is
// held by a lock on an open file, so that the kernel frees it when the host dies.
func (s *Set) Take(at, base string) error {
	l, lock, err := takeLayer(base)
	if err != nil {
		return err
	}
	if s.Layers == nil {
		s.Layers = map[string]Layer{}
	}
	s.Layers[at] = l
	s.locks = append(s.locks, lock)
	return nil
}

// Release gives all layers back.
func (s *Set) Release() {
	for _, l := range s.Layers {
		_ = beneath.Remove(Work(l.base, l.Name)) // else whoever takes the layer next does it
	}
	for _, l := range s.locks {
		_ = l.Close()
	}
}

func takeLayer(base string) (Layer, *os.File, error) {
	if err := os.MkdirAll(base, 0o700); err != nil {
		return Layer{}, nil, err
	}
	for n := range maxLayers {
		dir := filepath.Join(base, strconv.Itoa(n))
		lock, err := os.OpenFile(dir+".lock", os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return Layer{}, nil, err
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
			return Layer{}, nil, err
		}
	}
	return Layer{}, nil, errors.New("no free cache layer below " + base)
}

// openLayer makes the folders of a layer. The work folder is new each time: a
// volatile overlay marks it, and the mark would refuse the next mount. The kernel has
// left folders in it that nobody may enter, not even their owner.
func openLayer(base, name string) (Layer, error) {
	if err := beneath.Remove(Work(base, name)); err != nil {
		return Layer{}, err
	}
	for _, d := range []string{Upper(base, name), Work(base, name), Own(base)} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return Layer{}, err
		}
	}
	return Layer{base, name}, nil
}
