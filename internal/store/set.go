package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"

	"agency/internal/agency"

	"github.com/pressly/goose/v3"
)

// Set is the migrations of one owner: goose SQL files NNNN_name.sql in the
// root of FS or in its folder "migrations". Its versions are kept in the table
// schema_NAME, so that owners number theirs independently.
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

var setNameForm = regexp.MustCompile(`^[a-z][a-z0-9_]{0,31}$`)

func (s Set) table() string { return "schema_" + s.Name }

// files is the folder that holds the set's SQL files.
func (s Set) files() (fs.FS, error) {
	if !setNameForm.MatchString(s.Name) {
		return nil, fmt.Errorf("migration set %q: want a lower-case word", s.Name)
	}
	if info, err := fs.Stat(s.FS, "migrations"); err == nil && info.IsDir() {
		return fs.Sub(s.FS, "migrations")
	}
	return s.FS, nil
}

// newest is the highest version that this binary knows.
func (s Set) newest() (int64, error) {
	files, err := s.files()
	if err != nil {
		return 0, err
	}
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return 0, err
	}
	var top int64
	for _, name := range names {
		digits, _, _ := strings.Cut(path.Base(name), "_")
		v, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("migration set %s: file %s: want NNNN_name.sql", s.Name, name)
		}
		top = max(top, v)
	}
	if top == 0 {
		return 0, fmt.Errorf("migration set %s: no migrations", s.Name)
	}
	return top, nil
}

// schema is the versions found in the file, by table name.
type schema map[string]int64

// readSchema looks which sets the file has and how far each has come.
func readSchema(ctx context.Context, db *sql.DB) (schema, error) {
	rows, err := db.QueryContext(ctx, selectSets)
	if err != nil {
		return nil, err
	}
	found := schema{}
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		found[name] = 0
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	for name := range found {
		var v sql.NullInt64
		if err := db.QueryRowContext(ctx, selectNewest(name)).Scan(&v); err != nil {
			return nil, err
		}
		found[name] = v.Int64
	}
	return found, nil
}

// behind lists the sets that need migrating; a set that is ahead of this
// binary, or that it does not know, is an error: an older binary must not
// write rows whose meaning has changed.
func (found schema) behind(sets []Set) ([]Set, error) {
	known := map[string]bool{}
	var todo []Set
	for _, s := range sets {
		top, err := s.newest()
		if err != nil {
			return nil, err
		}
		known[s.table()] = true
		switch v := found[s.table()]; {
		case v > top:
			return nil, newerSchema(s.Name, v, top)
		case v < top:
			todo = append(todo, s)
		}
	}
	for name, v := range found {
		if !known[name] && v > 0 {
			return nil, newerSchema(strings.TrimPrefix(name, "schema_"), v, 0)
		}
	}
	return todo, nil
}

func newerSchema(set string, has, knows int64) error {
	return agency.Errorf(agency.KindInvalid,
		"the store was written by a newer version of agency: schema %s is at %d, this version knows %d", set, has, knows).
		WithMend("install the newer agency again; a store is never taken back to an older schema")
}

// migrate brings the sets up to date, each migration in a transaction with
// its version row.
func migrate(ctx context.Context, db *sql.DB, sets []Set) error {
	for _, s := range sets {
		files, err := s.files()
		if err != nil {
			return err
		}
		p, err := goose.NewProvider(goose.DialectSQLite3, db, files,
			goose.WithTableName(s.table()), goose.WithDisableGlobalRegistry(true))
		if err != nil {
			return fmt.Errorf("migration set %s: %w", s.Name, err)
		}
		if _, err := p.Up(ctx); err != nil {
			return fmt.Errorf("migration set %s: %w", s.Name, err)
		}
	}
	return nil
}
