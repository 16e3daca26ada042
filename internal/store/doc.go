// Package store keeps what must survive: one SQLite file in WAL mode, written
// by one goroutine and read by many.
//
// A write is a closure over a Tx. Closures of concurrent callers share one
// transaction (group commit), each inside its own savepoint, so that the
// failure of one does not undo its neighbours; Write returns after the
// transaction is durable (synchronous=FULL). A read is a closure over a
// Snapshot from a pool of read-only connections. Large values are blobs, named
// by the SHA-256 of their content and compressed.
//
// Each owner of tables brings its own SQL and its own migrations (a Set). The
// package knows no table but its own two: it does not decide who may write
// what beyond the host's epoch, keeps no cache of rows, and opens no other
// database.
//
// Conventions for owners: times are INTEGER microseconds since 1970 UTC (see
// Micros), hashes are TEXT, JSON is TEXT. Closures do no I/O, run no Write or
// Read of their own (that would wait for itself), and keep no Tx, Snapshot,
// Rows or Row after they return.
package store
