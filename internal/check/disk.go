package check

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"agency/internal/agency"
	"agency/internal/sandbox"
	"agency/internal/store"
)

// scarce is the free room in bytes below which a command that complains of a
// full disk is believed: its own /tmp has a limit of its own, and what it
// deletes as it ends gives room back.
const scarce = 256 << 20

// outOfRoom tells whether a command failed because the disk of its checkout or
// of its caches is full. That is no result of the tree: it would cost an
// attempt that the agent is not to blame for.
func (c *Checker) outOfRoom(s Subject, res sandbox.Result, stdout *spill) error {
	if res.ExitCode == 0 {
		return nil
	}
	complains := sync.OnceValue(func() bool {
		for line := range lines(io.MultiReader(bytes.NewReader(res.Output), stdout.read())) {
			if bytes.Contains(bytes.ToLower(line), []byte("no space left on device")) {
				return true
			}
		}
		return false
	})
	for _, dir := range []string{s.Place.Root, c.o.LayerDir} {
		if dir == "" {
			continue
		}
		free, err := store.Room(dir)
		if store.Full(dir) || err == nil && free < scarce && complains() {
			return agency.Errorf(agency.KindTransient, "%w: %s", store.ErrDiskFull, dir).WithMend("free space on the disk of %s", dir)
		}
	}
	return nil
}

// Sweep removes from a folder of layers what a check makes for itself and
// removes again, which a host that was killed leaves behind, and what commands
// wrote over packages that were replaced long before now. No check may be at
// work there.
func Sweep(layers string, now time.Time) error {
	errs := []error{os.RemoveAll(filepath.Join(layers, scratchDir)), os.RemoveAll(filepath.Join(layers, reportsDir))}
	written, err := filepath.Glob(filepath.Join(layers, "*", "deps", "*-*"))
	errs = append(errs, err)
	for _, dir := range written {
		if info, err := os.Stat(dir); err == nil && now.Sub(info.ModTime()) > keepLayer {
			errs = append(errs, os.RemoveAll(dir))
		}
	}
	return errors.Join(errs...)
}

// keepLayer is how long what was written over packages stays.
const keepLayer = 14 * 24 * time.Hour
