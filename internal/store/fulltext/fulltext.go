// Package fulltext keeps an index of texts in a SQLite file of its own: passages by words,
// ranked by BM25 after stemming, and their titles by parts of words. What it holds can be
// made again from what was indexed, so a file that is damaged, of another version or too
// large is thrown away, and it is not synced to the disk.
//
// Beside them it keeps vectors of passages, where somebody makes them.
//
// It knows nothing of code: what a passage is and which words it has say those who add it.
package fulltext

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// Passage is a part of a source.
type Passage struct {
	Label string // what whoever searches gets back
	Same  string // what passages of one text share, and so their vector; "": has none
	Title string // words that say what it is about, such as those of its name
	About string // words of who explains it
	Words string // all of its words
}

// Source is what is indexed as one: it never changes under its key.
type Source struct {
	Key      string
	Passages []Passage
}

// Hit is a passage that was found, the better the sooner.
type Hit struct {
	Key, Label string
}

// Index is safe for concurrent use, also of several processes.
type Index struct {
	path string
	most int64 // bytes

	mu      sync.Mutex
	db      *sql.DB
	have    map[string]bool // keys of all sources, as of what others had written; nil: not read
	written int64
}

// maxBytes is how large an index may be on the disk.
const maxBytes = 1 << 30

// New makes one that is kept in a file; it does no I/O.
func New(path string) *Index { return &Index{path: path, most: maxBytes} }

// Close closes the file. The index may be used again.
func (i *Index) Close() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.db == nil {
		return nil
	}
	err := i.db.Close()
	i.db, i.have = nil, nil
	return err
}

// open gives the database, made anew where it cannot be used.
func (i *Index) open(ctx context.Context) (*sql.DB, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.db != nil {
		return i.db, nil
	}
	if err := os.MkdirAll(filepath.Dir(i.path), 0o700); err != nil {
		return nil, err
	}
	if info, err := os.Stat(i.path); err == nil && info.Size() > i.most {
		i.remove()
	}
	db, err := i.connect(ctx)
	if err != nil && ctx.Err() == nil {
		i.remove()
		db, err = i.connect(ctx)
	}
	i.db = db
	return db, err
}

func (i *Index) remove() {
	for _, end := range []string{"", "-wal", "-shm", "-journal"} {
		_ = os.Remove(i.path + end) // what cannot be removed fails when it is opened
	}
}

func (i *Index) connect(ctx context.Context) (*sql.DB, error) {
	f, err := os.OpenFile(i.path, os.O_CREATE|os.O_RDWR, 0o600) // SQLite gives the mode to the files beside it
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	q := url.Values{"_pragma": {"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(OFF)"}, "_txlock": {"immediate"}}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", OmitHost: true, Path: i.path, RawQuery: q.Encode()}).String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if err := prepare(ctx, db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// version is that of the tables and of how words are made.
const version = 2

func prepare(ctx context.Context, db *sql.DB) error {
	var have int
	if err := db.QueryRowContext(ctx, selectVersion).Scan(&have); err != nil {
		return err
	}
	if have == version {
		return nil
	}
	if have != 0 {
		return fmt.Errorf("an index of version %d", have)
	}
	for _, s := range createTables {
		if _, err := db.ExecContext(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// do runs something on the database, and once more on a new one where that one is damaged.
func (i *Index) do(ctx context.Context, run func(*sql.DB) error) error {
	db, err := i.open(ctx)
	if err != nil {
		return err
	}
	if err = run(db); err == nil || ctx.Err() != nil || !damaged(err) {
		return err
	}
	_ = i.Close()
	i.mu.Lock()
	i.remove()
	i.mu.Unlock()
	if db, err = i.open(ctx); err != nil {
		return err
	}
	return run(db)
}

// damaged tells whether an error is that of a file which holds no index.
func damaged(err error) bool {
	for _, s := range []string{"malformed", "not a database", "disk image", "no such table", "corrupt"} {
		if strings.Contains(err.Error(), s) {
			return true
		}
	}
	return false
}

// Missing are those of the keys that are not indexed.
func (i *Index) Missing(ctx context.Context, keys []string) (out []string, err error) {
	err = i.do(ctx, func(db *sql.DB) error {
		out = nil
		have, err := i.keys(ctx, db)
		if err != nil {
			return err
		}
		i.mu.Lock()
		defer i.mu.Unlock()
		for _, k := range keys {
			if !have[k] {
				out = append(out, k)
			}
		}
		return nil
	})
	return out, err
}

// keys are those of all sources. They are read anew where another has written since: a
// search of many files must not read them all each time.
func (i *Index) keys(ctx context.Context, db *sql.DB) (map[string]bool, error) {
	var written int64
	if err := db.QueryRowContext(ctx, selectWritten).Scan(&written); err != nil {
		return nil, err
	}
	i.mu.Lock()
	have := i.have
	if i.written != written {
		have = nil
	}
	i.mu.Unlock()
	if have != nil {
		return have, nil
	}
	rows, err := db.QueryContext(ctx, selectKeys)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	have = map[string]bool{}
	for rows.Next() {
		var k string
		if err := rows.Scan(&k); err != nil {
			return nil, err
		}
		have[k] = true
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.have, i.written = have, written
	return have, nil
}

// Add indexes sources, all of them or none; those that are indexed already stay as they are.
func (i *Index) Add(ctx context.Context, sources []Source) error {
	return i.do(ctx, func(db *sql.DB) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }() // after a commit it does nothing
		for _, s := range sources {
			if err := add(ctx, tx, s); err != nil {
				return err
			}
		}
		if err := tx.Commit(); err != nil {
			return err
		}
		i.mu.Lock()
		defer i.mu.Unlock()
		for _, s := range sources {
			if i.have != nil {
				i.have[s.Key] = true
			}
		}
		return nil
	})
}

func add(ctx context.Context, tx *sql.Tx, s Source) error {
	res, err := tx.ExecContext(ctx, insertSource, s.Key)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return err
	}
	for _, p := range s.Passages {
		res, err := tx.ExecContext(ctx, insertPassage, s.Key, p.Label, p.Same)
		if err != nil {
			return err
		}
		id, err := res.LastInsertId()
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, insertWords, id, p.Title, p.About, p.Words); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, insertParts, id, p.Title); err != nil {
			return err
		}
	}
	return nil
}

// Large tells whether the index has grown beyond half of its bound: it is time to Keep.
func (i *Index) Large() bool {
	info, err := os.Stat(i.path)
	return err == nil && info.Size() >= i.most/2
}

// Keep forgets all sources but these where the index is large.
func (i *Index) Keep(ctx context.Context, keys map[string]bool) error {
	if !i.Large() {
		return nil
	}
	all := make([]string, 0, len(keys))
	for k := range keys {
		all = append(all, k)
	}
	missing, err := i.Missing(ctx, all)
	if err != nil || len(missing) > 0 {
		return err // they are being indexed
	}
	return i.do(ctx, func(db *sql.DB) error {
		rows, err := db.QueryContext(ctx, selectKeys)
		if err != nil {
			return err
		}
		var old []string
		for rows.Next() {
			var k string
			if err := rows.Scan(&k); err != nil {
				return errors.Join(err, rows.Close())
			}
			if !keys[k] {
				old = append(old, k)
			}
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return err
		}
		if len(old) == 0 {
			return nil
		}
		for _, k := range old {
			for _, s := range forget {
				if _, err := db.ExecContext(ctx, s, k); err != nil {
					return err
				}
			}
		}
		if _, err := db.ExecContext(ctx, forgetVectors); err != nil {
			return err
		}
		i.mu.Lock()
		i.have = nil
		i.mu.Unlock()
		_, err = db.ExecContext(ctx, vacuum)
		return err
	})
}

// Search finds passages with any of some words, by what they hold and by parts of what they
// are about: two lists, each the better the sooner.
func (i *Index) Search(ctx context.Context, words []string, most int) (byWords, byParts []Hit, err error) {
	err = i.do(ctx, func(db *sql.DB) (err error) {
		if byWords, err = hits(ctx, db, searchWords, words, most); err != nil {
			return err
		}
		long := make([]string, 0, len(words))
		for _, w := range words {
			if len(w) >= 3 { // a trigram has three
				long = append(long, w)
			}
		}
		byParts, err = hits(ctx, db, searchParts, long, most)
		return err
	})
	return byWords, byParts, err
}

func hits(ctx context.Context, db *sql.DB, query string, words []string, most int) (out []Hit, err error) {
	if len(words) == 0 {
		return nil, nil
	}
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = `"` + strings.ReplaceAll(w, `"`, `""`) + `"`
	}
	rows, err := db.QueryContext(ctx, query, strings.Join(quoted, " OR "), most)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var h Hit
		if err := rows.Scan(&h.Key, &h.Label); err != nil {
			return nil, err
		}
		out = append(out, h)
	}
	return out, rows.Err()
}
