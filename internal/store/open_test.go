package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"agency/internal/agency"
)

// noCanary looks at the bytes of the file and its log.
func noCanary(t *testing.T, path, canary string) {
	t.Helper()
	for _, suffix := range []string{"", "-wal"} {
		b, err := os.ReadFile(path + suffix)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if bytes.Contains(b, []byte(canary)) {
			t.Fatalf("a secret stands in %s", path+suffix)
		}
	}
}

func refused(t *testing.T, o Options, kind agency.Kind) {
	t.Helper()
	db, err := Open(t.Context(), o)
	if err == nil {
		_ = db.Close()
		t.Fatal("opened")
	}
	wantKind(t, err, kind)
	if agency.MendOf(err) == "" {
		t.Fatalf("%v does not say how to mend it", err)
	}
}

func TestRefusals(t *testing.T) {
	tests := []struct {
		name  string
		kind  agency.Kind
		spoil func(*testing.T, *Options)
	}{
		{"network file system", agency.KindTransient, func(_ *testing.T, o *Options) {
			o.seams.fsType = func(string) (string, bool, error) { return "nfs", true, nil }
		}},
		{"no folder", agency.KindNotFound, func(_ *testing.T, o *Options) { o.Path = filepath.Join(o.Path, "none", "s.db") }},
		{"newer schema", agency.KindInvalid, func(t *testing.T, o *Options) {
			alter(t, o.Path, "UPDATE store_schema SET version = 9 WHERE name = 'notes'")
		}},
		{"unknown set", agency.KindInvalid, func(_ *testing.T, o *Options) { o.Sets = nil }},
		{"older schema, looking", agency.KindConflict, func(_ *testing.T, o *Options) {
			o.ReadOnly = true
			o.Sets = append(o.Sets, Set{Name: "more", FS: fstest.MapFS{"0001_x.sql": {Data: []byte("CREATE TABLE m (i INTEGER);\n")}}})
		}},
		{"nothing there, looking", agency.KindNotFound, func(_ *testing.T, o *Options) {
			o.ReadOnly = true
			o.Path += "x"
		}},
		{"not a database", agency.KindTransient, func(t *testing.T, o *Options) {
			overwrite(t, o.Path, 0, bytes.Repeat([]byte("no database "), 1000))
		}},
		{"damaged after an unclean end", agency.KindTransient, func(t *testing.T, o *Options) {
			overwrite(t, o.Path, 4096, bytes.Repeat([]byte{0xa5}, 3*4096))
			overwrite(t, o.Path+"-wal", 0, []byte("a log that ends in the middle"))
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := at(t)
			db := open(t, o)
			mustWrite(t, db, put("a"))
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			tt.spoil(t, &o)
			refused(t, o, tt.kind)
		})
	}
}

func alter(t *testing.T, path, query string) {
	t.Helper()
	db := raw(t, path)
	if _, err := db.Exec(query); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func overwrite(t *testing.T, path string, at int64, b []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err == nil {
		_, err = f.WriteAt(b, at)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestLocalDisksAreAllowed(t *testing.T) {
	if name, network, err := fsType(t.TempDir()); err != nil || network {
		t.Skipf("the temporary folder is on %s, %v", name, err)
	}
}

// TestSQLiteKeepsItsLog refuses a build with a SQLite whose reset of the
// write-ahead log loses committed pages, as before 3.51.3.
func TestSQLiteKeepsItsLog(t *testing.T) {
	var version string
	if err := raw(t, at(t).Path).QueryRow("SELECT sqlite_version()").Scan(&version); err != nil {
		t.Fatal(err)
	}
	var major, minor, patch int
	if _, err := fmt.Sscanf(version, "%d.%d.%d", &major, &minor, &patch); err != nil {
		t.Fatal(err)
	}
	if slices.Compare([]int{major, minor, patch}, []int{3, 51, 3}) < 0 {
		t.Errorf("SQLite %s can damage a database: use a newer modernc.org/sqlite", version)
	}
}

// TestDialect looks at what the store makes of an owner's plain SQL.
func TestDialect(t *testing.T) {
	for plain, want := range map[string]string{
		"CREATE TABLE t (n INTEGER PRIMARY KEY);":                              "CREATE TABLE t (n INTEGER PRIMARY KEY) STRICT;",
		"CREATE TABLE t (n INTEGER NOT NULL PRIMARY KEY);":                     "CREATE TABLE t (n INTEGER NOT NULL PRIMARY KEY) STRICT;",
		"CREATE TABLE t (n INTEGER PRIMARY KEY GENERATED ALWAYS AS IDENTITY);": "CREATE TABLE t (n INTEGER PRIMARY KEY AUTOINCREMENT) STRICT;",
		"CREATE TABLE t (n INTEGER);":                                          "CREATE TABLE t (n INTEGER) STRICT;",
		"CREATE TABLE t (\n    a TEXT, -- one; or (two)\n    PRIMARY KEY (a)\n);\nINSERT INTO t VALUES ('x');\nCREATE INDEX i ON t (a);": "CREATE TABLE t (\n    a TEXT, -- one; or (two)\n    PRIMARY KEY (a)\n) STRICT, WITHOUT ROWID;\nINSERT INTO t VALUES ('x');\nCREATE INDEX i ON t (a);",
	} {
		if got := dialect(plain); got != want {
			t.Errorf("%s\nbecame %s", plain, got)
		}
	}
}

func TestFilesArePrivate(t *testing.T) {
	o := at(t)
	db := open(t, o)
	mustWrite(t, db, put("a"))
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(o.Path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %o", suffix, info.Mode().Perm())
		}
	}
}

func TestOddPaths(t *testing.T) {
	for _, name := range []string{"with space", "per%20cent", "quest?ion=1", "ha#sh", "ümlaut"} {
		o := at(t)
		o.Path = filepath.Join(filepath.Dir(o.Path), name+".db")
		mustWrite(t, open(t, o), put("a"))
		if fileSize(o.Path) == 0 {
			t.Errorf("%s was not written", o.Path)
		}
		o.ReadOnly = true
		if !tokens(t, open(t, o))["a"] {
			t.Errorf("%s is not read", o.Path)
		}
	}
}

func TestCloseIsIdempotent(t *testing.T) {
	o := at(t)
	db := open(t, o)
	for range 3 {
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Write(t.Context(), put("a")); !errors.Is(err, ErrClosed) {
		t.Fatalf("got %v", err)
	}
	if err := db.Read(t.Context(), func(*Snapshot) error { return nil }); !errors.Is(err, ErrClosed) {
		t.Fatalf("got %v", err)
	}
	if fileSize(o.Path+"-wal") != 0 {
		t.Fatal("a clean end leaves a log")
	}
}

// TestLookingBesideAndAfter opens for reading while a host writes, after it
// ended, and after it died.
func TestLookingBesideAndAfter(t *testing.T) {
	o := at(t)
	host := open(t, o)
	mustWrite(t, host, put("a"))
	look := o
	look.ReadOnly = true
	eye := open(t, look)
	if !tokens(t, eye)["a"] {
		t.Fatal("does not see what was committed")
	}
	mustWrite(t, host, put("b"))
	if !tokens(t, eye)["b"] {
		t.Fatal("does not see what is committed later")
	}
	if err := eye.Write(t.Context(), put("c")); agency.KindOf(err) != agency.KindDenied {
		t.Fatalf("wrote: %v", err)
	}
	dead := copyStore(t, o.Path, -1)
	if err := errors.Join(eye.Close(), host.Close()); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{o.Path, dead} {
		look.Path = path
		if have := tokens(t, open(t, look)); len(have) != 2 {
			t.Fatalf("%s: %v", path, have)
		}
	}
}

// copyStore copies the file and the first n bytes of its log, as a crash
// would leave them; n < 0 copies all.
func copyStore(t *testing.T, path string, n int) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "s.db")
	for _, suffix := range []string{"", "-wal"} {
		b, err := os.ReadFile(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if suffix != "" && n >= 0 {
			b = b[:n]
		}
		if err := os.WriteFile(to+suffix, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// framesEnd is where a log's frames end: behind them are zeros.
func framesEnd(t *testing.T, path string) int {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const head, frame = 32, 24 + 4096
	used := len(bytes.TrimRight(b, "\x00"))
	return head + (used-head+frame-1)/frame*frame
}

// TestLogCutAnywhere cuts a log as a crash may: what is behind the cut is
// missing, or has never been written.
func TestLogCutAnywhere(t *testing.T) {
	o := at(t)
	db := open(t, o)
	type write struct {
		token string
		end   int
	}
	var writes []write
	for i := range 80 {
		token := fmt.Sprint("w", i)
		mustWrite(t, db, put(token))
		writes = append(writes, write{token, framesEnd(t, o.Path+"-wal")})
	}
	size := writes[len(writes)-1].end
	random := rand.New(rand.NewPCG(7, 7))
	cuts := []int{0, size, size - 1, writes[40].end, writes[40].end - 1, writes[40].end + 1, 31, 32, 33}
	for len(cuts) < 200 {
		cuts = append(cuts, random.IntN(size))
	}
	slices.Sort(cuts)
	for _, cut := range cuts {
		for _, unwritten := range []bool{false, true} {
			o.Path = copyStore(t, db.path, cut)
			if unwritten {
				if err := os.Truncate(o.Path+"-wal", logRoom); err != nil {
					t.Fatal(err)
				}
			}
			after := open(t, o)
			if err := after.Check(t.Context()); err != nil {
				t.Fatalf("cut at %d: %v", cut, err)
			}
			have := tokens(t, after)
			for _, w := range writes {
				if w.end <= cut && !have[w.token] {
					t.Fatalf("cut at %d: %s, synced up to %d, is lost", cut, w.token, w.end)
				}
			}
			if err := after.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestTheLogIsLong: from the first write on, commits overwrite the log instead
// of lengthening it, after a checkpoint and after the file was made smaller too.
func TestTheLogIsLong(t *testing.T) {
	o := at(t)
	o.LongLog = true
	db := open(t, o)
	long := func(when string) {
		t.Helper()
		mustWrite(t, db, put(when))
		if size := fileSize(o.Path + "-wal"); size != logRoom {
			t.Errorf("%s the log has %d bytes, want %d", when, size, logRoom)
		}
	}
	long("at first")
	for i := range 20 {
		mustWrite(t, db, func(tx *Tx) error {
			_, err := tx.Exec("INSERT INTO note (token, body) VALUES (?, zeroblob(2000000))", i)
			return err
		})
	}
	long("after two checkpoints")
	mustWrite(t, db, func(tx *Tx) error { _, err := tx.Exec("DELETE FROM note"); return err })
	if freed, err := db.Shrink(t.Context()); err != nil || freed == 0 {
		t.Fatalf("%d, %v", freed, err)
	}
	long("after it was made smaller")
}

func TestClocks(t *testing.T) {
	o := at(t)
	wall := time.Date(2026, 3, 4, 5, 6, 7, 123456789, time.FixedZone("x", 3600))
	o.Now = func() time.Time { return wall }
	o.Mono = func() time.Duration { return 42 }
	db := open(t, o)
	mustWrite(t, db, func(tx *Tx) error {
		if tx.Mono != 42 || tx.Now.Location() != time.UTC || !Time(Micros(tx.Now)).Equal(tx.Now) || wall.Sub(tx.Now) >= time.Microsecond {
			t.Errorf("%v, %v", tx.Now, tx.Mono)
		}
		return nil
	})
}

func BenchmarkOpen(b *testing.B) {
	o := at(b)
	for b.Loop() {
		db, err := Open(context.Background(), o)
		if err != nil {
			b.Fatal(err)
		}
		if err := db.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// Several hosts may share a file: whoever is first makes its tables, and nobody's
// write is lost or refused.
func TestManyOpenOneFile(t *testing.T) {
	const hosts, each = 8, 20
	for range 5 {
		o := at(t)
		begin := make(chan struct{})
		var all sync.WaitGroup
		for h := range hosts {
			all.Go(func() {
				<-begin
				db, err := Open(context.Background(), o)
				if err != nil {
					t.Errorf("host %d: %v", h, err)
					return
				}
				for i := range each {
					if err := db.Write(context.Background(), put(fmt.Sprintf("%d-%d", h, i))); err != nil {
						t.Errorf("host %d: %v", h, err)
					}
				}
				if err := db.Close(); err != nil {
					t.Errorf("host %d: %v", h, err)
				}
			})
		}
		close(begin)
		all.Wait()
		if n := len(tokens(t, open(t, o))); n != hosts*each {
			t.Errorf("%d of %d writes", n, hosts*each)
		}
	}
}
