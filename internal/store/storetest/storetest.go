// Package storetest opens stores for tests.
package storetest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"agency/internal/store"
)

var templates sync.Map // by the names of the sets, a func() ([]byte, error)

// Open is store.Open of a new file, or of one that is there, and closes it with
// the test.
func Open(t testing.TB, o store.Options) *store.DB {
	t.Helper()
	err := Prepare(o)
	var db *store.DB
	if err == nil {
		db, err = store.Open(context.Background(), o)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // the test may have closed it
	return db
}

// Prepare makes the file of a store, where there is none. Its schema is made once
// in a process and copied from then on: the migrations of all owners take longer
// than most tests.
func Prepare(o store.Options) error {
	if _, err := os.Stat(o.Path); err == nil {
		return nil
	}
	var names []string
	for _, s := range o.Sets {
		names = append(names, s.Name)
	}
	f, _ := templates.LoadOrStore(strings.Join(names, " "), sync.OnceValues(func() ([]byte, error) { return migrated(o.Sets) }))
	b, err := f.(func() ([]byte, error))() //nolint:errcheck // nothing else is stored
	if err != nil {
		return err
	}
	part := o.Path + ".part" // who is killed meanwhile has made nothing
	if err := os.WriteFile(part, b, 0o600); err != nil {
		return err
	}
	return os.Rename(part, o.Path)
}

// migrated is the file of a store in which nothing has happened yet.
func migrated(sets []store.Set) (b []byte, err error) {
	dir, err := os.MkdirTemp("", "agency-storetest-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "template.db")
	db, err := store.Open(context.Background(), store.Options{Path: path, Sets: sets})
	if err != nil {
		return nil, err
	}
	if err := db.Close(); err != nil { // the log goes into the file
		return nil, err
	}
	return os.ReadFile(path)
}
