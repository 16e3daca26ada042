package store

import "strings"

// What other packages need of the dialect: their statements are in standard SQL,
// with parameters as ?1 or as ?, whose number is one above the highest before it,
// their tables as Set says.

// InsertRows begins an INSERT of several rows that stand or fall with their
// closure. A row that is refused may leave those before it, so that SQLite need not
// remember how to undo the statement alone.
const InsertRows = `INSERT OR FAIL INTO `

// PrefixEnd bounds the texts that begin with a prefix: they are not less than
// the prefix, and less than this.
func PrefixEnd(prefix string) string { return prefix + "\U0010FFFF" }

// The statements of this package; those that begin and end transactions stand
// with the writer.
const (
	// hasBlob tells whether there is a blob.
	hasBlob = `SELECT 1 FROM store_blob WHERE hash = ?`

	// insertBlob adds a blob.
	insertBlob = `INSERT INTO store_blob (hash, size, codec, data) VALUES (?, ?, ?, ?)`

	// selectBlob reads a blob.
	selectBlob = `SELECT codec, data FROM store_blob WHERE hash = ?`

	// selectEpoch reads the store's epoch, raiseEpoch begins the next.
	selectEpoch = `SELECT epoch FROM store_epoch`
	raiseEpoch  = `UPDATE store_epoch SET epoch = epoch + 1 RETURNING epoch`

	// checkAll and checkQuickly look through the file, selectBrokenKey through
	// foreign keys.
	checkAll        = `PRAGMA integrity_check(20)`
	checkQuickly    = `PRAGMA quick_check(10)`
	selectBrokenKey = `SELECT "table" FROM pragma_foreign_key_check LIMIT 1`

	// hasSchema tells whether the file has any migrations, selectSchema reads how
	// many of each set, createSchema and putSchema keep it.
	hasSchema    = `SELECT count(*) > 0 FROM sqlite_schema WHERE name = 'store_schema'`
	selectSchema = `SELECT name, version FROM store_schema`
	createSchema = `CREATE TABLE IF NOT EXISTS store_schema (name TEXT PRIMARY KEY, version INTEGER NOT NULL) STRICT, WITHOUT ROWID`
	putSchema    = `INSERT INTO store_schema (name, version) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET version = excluded.version`

	// vacuum copies the file without what is free in it.
	vacuum = `VACUUM`
)

// deleteUnnamed removes the blobs that no row of any owner names.
func deleteUnnamed(named []string) string {
	return `WITH named (hash) AS (` + strings.Join(named, ` UNION `) + `)
DELETE FROM store_blob WHERE hash NOT IN (SELECT hash FROM named WHERE hash IS NOT NULL)`
}
