package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strings"

	"agency/internal/agency"
	"agency/internal/regexp"
)

// Set is the migrations of one owner: SQL files in the order of their names
// (NNNN_name.sql), in the root of FS or in its folder "migrations". How many of
// them a file has is kept by the set's name, so that owners number theirs
// independently.
//
// They are plain SQL; the store adds what its database wants. Every table checks
// the types of its columns: INTEGER has 64 bits, and is 1 or 0 for a bool, REAL is
// a float64, TEXT is ordered by its bytes. A key INTEGER PRIMARY KEY that is left out of an
// INSERT is one more than the highest that is there; where it is GENERATED ALWAYS
// AS IDENTITY none is given again after its row is gone, which costs a page more
// for every commit.
type Set struct {
	Name string
	FS   fs.FS
	// Blobs are queries of one column that give the hashes of all blobs that
	// the set's rows name. What no set names is swept.
	Blobs []string
	// Hooks run in the transactions in which other owners tell of facts.
	Hooks []Hook
}

//go:embed migrations/*.sql
var ownFiles embed.FS

func ownSet() Set { return Set{Name: "store", FS: ownFiles} }

// files are the names of the set's migrations, in order.
func (s Set) files() ([]string, error) {
	for _, form := range []string{"migrations/*.sql", "*.sql"} {
		if names, err := fs.Glob(s.FS, form); err != nil || len(names) > 0 {
			return names, err
		}
	}
	return nil, fmt.Errorf("migration set %s: no migrations", s.Name)
}

// asked is a database or a transaction of it.
type asked interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// schema is how many migrations of each set the file has.
type schema map[string]int

func readSchema(ctx context.Context, db asked) (schema, error) {
	found := schema{}
	var known bool
	if err := db.QueryRowContext(ctx, hasSchema).Scan(&known); err != nil || !known {
		return found, err
	}
	rows, err := db.QueryContext(ctx, selectSchema)
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		var name string
		var version int
		if err := rows.Scan(&name, &version); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		found[name] = version
	}
	return found, rows.Err()
}

// behind lists the sets that need migrating; a set that is ahead of this
// binary, or that it does not know, is an error: an older binary must not
// write rows whose meaning has changed.
func (found schema) behind(sets []Set) ([]Set, error) {
	left := maps.Clone(found)
	var todo []Set
	for _, s := range sets {
		files, err := s.files()
		if err != nil {
			return nil, err
		}
		delete(left, s.Name)
		switch v := found[s.Name]; {
		case v > len(files):
			return nil, newerSchema(s.Name, v, len(files))
		case v < len(files):
			todo = append(todo, s)
		}
	}
	for name, v := range left {
		return nil, newerSchema(name, v, 0)
	}
	return todo, nil
}

func newerSchema(set string, has, knows int) error {
	return agency.Errorf(agency.KindInvalid,
		"the store was written by a newer version of agency: schema %s is at %d, this version knows %d", set, has, knows).
		WithMend("install the newer agency again; a store is never taken back to an older schema")
}

// migrate brings a file up to date with the sets, all in one transaction. What there is
// is read again in it: another process may have been first.
func migrate(ctx context.Context, db *sql.DB, all []Set) (err error) {
	found, err := readSchema(ctx, db)
	if err != nil {
		return err
	}
	if sets, err := found.behind(all); err != nil || len(sets) == 0 {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = tx.Rollback() // the error is what counts
		}
	}()
	if found, err = readSchema(ctx, tx); err != nil {
		return err
	}
	sets, err := found.behind(all)
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, createSchema); err != nil {
		return err
	}
	for _, s := range sets {
		files, err := s.files()
		if err != nil {
			return err
		}
		for _, name := range files[found[s.Name]:] {
			text, err := fs.ReadFile(s.FS, name)
			if err == nil {
				_, err = tx.ExecContext(ctx, dialect(string(text)))
			}
			if err != nil {
				return fmt.Errorf("migration set %s: %s: %w", s.Name, name, err)
			}
		}
		if _, err := tx.ExecContext(ctx, putSchema, s.Name, len(files)); err != nil {
			return err
		}
	}
	return tx.Commit()
}

var (
	table     = regexp.MustCompile(`(?ms)^CREATE TABLE .*?\);$`)
	numbered  = regexp.MustCompile(`INTEGER (?:NOT NULL )?PRIMARY KEY`)
	nonReused = strings.NewReplacer("GENERATED ALWAYS AS IDENTITY", "AUTOINCREMENT")
)

// dialect makes SQLite's SQL of plain SQL (see Set). A table whose key is no
// number is kept in the order of its key, without numbers for its rows.
func dialect(plain string) string {
	return nonReused.Replace(table.ReplaceAllStringFunc(plain, func(t string) string {
		kind := " STRICT;"
		if strings.Contains(t, "PRIMARY KEY") && !numbered.MatchString(t) {
			kind = " STRICT, WITHOUT ROWID;"
		}
		return strings.TrimSuffix(t, ";") + kind
	}))
}
