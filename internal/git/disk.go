package git

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"agency/internal/agency"
)

// WriteFile replaces a file in one step: a reader, or a process that was
// killed, sees the old or the new content, never a part. Errors have a kind.
func WriteFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return Disk(err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".tmp-*")
	if err != nil {
		return Disk(err)
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return Disk(err)
}

// Disk gives an error of the file system its kind: a full disk and missing
// rights lie outside of the program. The path stands in the error's text.
func Disk(err error) error {
	switch {
	case err == nil:
		return nil
	case isFull(err):
		return agency.Errorf(agency.KindTransient, "disk full: %w", err).WithMend("free space on that disk")
	case errors.Is(err, fs.ErrPermission), isReadOnly(err):
		return agency.Errorf(agency.KindTransient, "no right to write: %w", err).WithMend("give your user the right to write there")
	}
	return err
}
