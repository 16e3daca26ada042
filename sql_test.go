package agency_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// isSQL finds a statement, or a part of one.
	isSQL = regexp.MustCompile(`\b(?:SELECT\s|INSERT (?:OR \w+ )?INTO\s|REPLACE INTO\s|UPDATE \w+ SET\s|DELETE FROM\s|PRAGMA \w|(?:WHERE|AND) [\w.]+ (?:[<>=]|IN )|ORDER BY\s)`)
	// isDialect finds what SQLite alone understands, or understands so.
	isDialect = regexp.MustCompile(`(?i)\bpragma\b|sqlite|\bINSERT OR\b|\bREPLACE INTO\b|\bjson_?\w*\(|->|\brandom\(|\browid\b|\bAUTOINCREMENT\b|\bchanges\(|` +
		`\blast_insert_rowid\b|\bGLOB\b|\bchar\(|\bifnull\(|\biif\(|\bstrftime\(|\bdatetime\(|\bgroup_concat\(|\binstr\(|\bprintf\(|\btotal\(|\bLIMIT -1|` +
		`\bSTRICT\b|\bCREATE TRIGGER\b|\bON CONFLICT DO UPDATE\b|\bNOT INDEXED\b|\btypeof\(|\bunixepoch\(|\bjulianday\(|\bquote\(|\bhex\(|\bzeroblob\(|\bx'|\bLIKE\b|\bCOLLATE\b|\bIS (?:NOT )?\?|\bUPDATE OR\b|` +
		`\bDO UPDATE SET [^;]*= \w+ [-+*/]|\bINDEXED BY\b|\b(?:max|min)\([^()]*,|\b(?:AND|NOT|WHERE) (?:wants|copied)\b(?: AND| OR| ORDER|$)|==`)
)

// A package's statements stand in its sql.go and its tables in its migrations, and
// only the store knows the database behind them (docs/ARCHITECTURE.md, Row 1).
func TestSQLStandsByItself(t *testing.T) {
	found, tables := 0, 0
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		p = filepath.ToSlash(p)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || p == "bench" || p == "tools" || strings.HasPrefix(d.Name(), ".") && p != "."):
			return fs.SkipDir
		case strings.HasSuffix(p, ".sql") && !strings.HasPrefix(p, "internal/store/"):
			tables++
			b, err := os.ReadFile(p)
			if word := isDialect.FindString(string(b)); word != "" {
				t.Errorf("%s says %q to the database, which is SQLite's", p, word)
			}
			return err
		case d.IsDir() || !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), p, nil, 0)
		if err != nil {
			return err
		}
		inStore := strings.HasPrefix(p, "internal/store/")
		for _, imp := range f.Imports {
			if strings.Contains(imp.Path.Value, "sqlite") && !inStore {
				t.Errorf("%s imports %s, which internal/store alone knows", p, imp.Path.Value)
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && id.Name == "LastInsertId" && !inStore {
				t.Errorf("%s asks the driver for the number of a row, which Tx.Insert knows", p)
			}
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			switch sql := path.Base(p) == "sql.go"; {
			case sql && !inStore:
				found++
				if word := isDialect.FindString(lit.Value); word != "" {
					t.Errorf("%s says %q to the database, which is SQLite's: %s", p, word, lit.Value)
				}
			case !sql && !inStore && isSQL.MatchString(lit.Value), !sql && inStore && isStatement(lit.Value):
				t.Errorf("%s has a statement outside of sql.go: %s", p, lit.Value)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 200 {
		t.Errorf("only %d statements were looked at", found)
	}
	if tables < 10 {
		t.Errorf("only %d files of tables were looked at", tables)
	}
}

// isStatement leaves the words with which the store begins and ends transactions
// beside the writer.
func isStatement(lit string) bool {
	return isSQL.MatchString(lit) && !strings.Contains(lit, "PRAGMA ")
}

func TestSQLIsRecognised(t *testing.T) {
	for _, s := range []string{
		"`SELECT a FROM t`", "`INSERT OR REPLACE INTO t VALUES (1)`", "`UPDATE t SET a = 1`", "`DELETE FROM t`", "` WHERE a = ?`", "`AND m.id IN (?)`", "`x ORDER BY y`",
	} {
		if !isSQL.MatchString(s) {
			t.Errorf("%s is no SQL", s)
		}
	}
	for _, s := range []string{
		"INSERT OR IGNORE INTO t", "doc ->> 'a'", "json_set(doc, '$.a', 1)", "ORDER BY rowid", "max(a, ?)", "char(0x10FFFF)", "LIMIT -1",
		"CREATE TABLE t (a INTEGER) STRICT;", "a INTEGER PRIMARY KEY AUTOINCREMENT", ") WITHOUT ROWID;", "CREATE TRIGGER x AFTER DELETE ON t",
		"typeof(a)", "a = x'00'", "a LIKE 'b%'", "a IS ?", "ON CONFLICT (a) DO UPDATE SET b = excluded.b, n = n + 1",
	} {
		if !isDialect.MatchString(s) {
			t.Errorf("%s is taken for standard SQL", s)
		}
	}
	for _, s := range []string{"SELECT max(n), min(at) FROM t", "INSERT INTO t VALUES (?1) ON CONFLICT DO NOTHING", "n INTEGER PRIMARY KEY GENERATED ALWAYS AS IDENTITY", "ON CONFLICT (a, b) DO UPDATE SET c = 1", "DO UPDATE SET n = t.n + 1", "a IS NOT NULL", "random text", "character"} {
		if isDialect.MatchString(s) {
			t.Errorf("%s is taken for SQLite's own", s)
		}
	}
}
