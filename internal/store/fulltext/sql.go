package fulltext

const (
	selectVersion = `PRAGMA user_version`
	selectWritten = `PRAGMA data_version` // moves on with what others write

	selectKeys    = `SELECT key FROM source`
	insertSource  = `INSERT INTO source (key) VALUES (?) ON CONFLICT DO NOTHING`
	insertPassage = `INSERT INTO passage (key, label, same) VALUES (?, ?, ?)`
	insertWords   = `INSERT INTO words (rowid, title, about, body) VALUES (?, ?, ?, ?)`
	insertParts   = `INSERT INTO parts (rowid, title) VALUES (?, ?)`

	// searchWords weighs what a passage is about above what it holds.
	searchWords = `SELECT p.key, p.label FROM words JOIN passage p ON p.id = words.rowid WHERE words MATCH ? ORDER BY bm25(words, 4.0, 3.0, 1.0) LIMIT ?`
	searchParts = `SELECT p.key, p.label FROM parts JOIN passage p ON p.id = parts.rowid WHERE parts MATCH ? ORDER BY bm25(parts) LIMIT ?`

	vacuum = `VACUUM`

	selectModel   = `SELECT name FROM model`
	deleteModel   = `DELETE FROM model`
	insertModel   = `INSERT INTO model (name) VALUES (?)`
	deleteVectors = `DELETE FROM vector`
	insertVector  = `INSERT INTO vector (same, data) VALUES (?, ?) ON CONFLICT DO NOTHING`
	selectVectors = `SELECT same, data FROM vector`
	sizeVectors   = `SELECT count(*), COALESCE(max(length(data)), 0) FROM vector`
	selectBare    = `SELECT p.key, p.label, p.same FROM passage p WHERE p.same <> '' AND NOT EXISTS (SELECT 1 FROM vector v WHERE v.same = p.same)`
	selectSame    = `SELECT key, label FROM passage WHERE same = ?`
	forgetVectors = `DELETE FROM vector WHERE same NOT IN (SELECT same FROM passage)`
)

// createTables makes what an empty file lacks. The two indexes hold no texts: what they find
// is told by passage.
var createTables = []string{
	`CREATE TABLE IF NOT EXISTS source (key TEXT PRIMARY KEY) STRICT, WITHOUT ROWID`,
	`CREATE TABLE IF NOT EXISTS passage (id INTEGER PRIMARY KEY, key TEXT NOT NULL, label TEXT NOT NULL, same TEXT NOT NULL) STRICT`,
	`CREATE INDEX IF NOT EXISTS passage_key ON passage (key)`,
	`CREATE INDEX IF NOT EXISTS passage_same ON passage (same)`,
	`CREATE TABLE IF NOT EXISTS model (name TEXT NOT NULL) STRICT`,
	`CREATE TABLE IF NOT EXISTS vector (same TEXT PRIMARY KEY, data BLOB NOT NULL) STRICT`,
	`CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(title, about, body, content='', contentless_delete=1, tokenize='porter unicode61')`,
	`CREATE VIRTUAL TABLE IF NOT EXISTS parts USING fts5(title, content='', contentless_delete=1, tokenize='trigram')`,
	`PRAGMA user_version = 2`,
}

// forget removes a source.
var forget = []string{
	`DELETE FROM words WHERE rowid IN (SELECT id FROM passage WHERE key = ?)`,
	`DELETE FROM parts WHERE rowid IN (SELECT id FROM passage WHERE key = ?)`,
	`DELETE FROM passage WHERE key = ?`,
	`DELETE FROM source WHERE key = ?`,
}
