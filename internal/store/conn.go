package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Querier is what Tx and Snapshot have in common, for reads that serve both.
type Querier interface {
	Query(query string, args ...any) (*Rows, error)
	QueryRow(query string, args ...any) *Row
}

// conn is one SQLite connection with its prepared statements. One
// goroutine uses it at a time.
type conn struct {
	sql   *sql.Conn
	path  string
	stmts map[string]*stmt    // of query
	execs map[string]execStmt // of exec
	args  []driver.NamedValue // of the exec at work
	open  []*Rows             // not yet closed by the closure at work
}

// execStmt is the driver's own statement: what database/sql does around it for
// connections that are shared costs as much as a row.
type execStmt interface {
	driver.Stmt
	driver.StmtExecContext
}

// stmt is a prepared statement; lent while rows of it are being read, since a
// second execution would reset them.
type stmt struct {
	sql  *sql.Stmt
	lent bool
}

// maxStmts bounds each cache: queries built with varying lists of parameters
// would fill it for ever.
const maxStmts = 512

func newConn(ctx context.Context, db *sql.DB, path string) (*conn, error) {
	c, err := db.Conn(ctx)
	if err != nil {
		return nil, explain(path, err)
	}
	return &conn{sql: c, path: path, stmts: map[string]*stmt{}, execs: map[string]execStmt{}}, nil
}

func (c *conn) close() error {
	c.closeRows()
	return errors.Join(c.dropStmts(), c.dropExecs(), c.sql.Close())
}

func (c *conn) dropExecs() error {
	var errs []error
	for _, st := range c.execs {
		errs = append(errs, st.Close())
	}
	clear(c.execs)
	return errors.Join(errs...)
}

func (c *conn) dropStmts() error {
	var errs []error
	for q, st := range c.stmts {
		if !st.lent {
			errs = append(errs, st.sql.Close())
			delete(c.stmts, q)
		}
	}
	return errors.Join(errs...)
}

// prepared gives a statement that no open rows depend on; transient ones are
// closed after use.
func (c *conn) prepared(query string) (st *stmt, transient bool, err error) {
	st = c.stmts[query]
	if st != nil && !st.lent {
		return st, false, nil
	}
	p, err := c.sql.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, false, err
	}
	fresh := &stmt{sql: p}
	if st != nil {
		return fresh, true, nil
	}
	if len(c.stmts) >= maxStmts {
		if err := c.dropStmts(); err != nil {
			return nil, false, errors.Join(err, p.Close())
		}
	}
	c.stmts[query] = fresh
	return fresh, false, nil
}

func (c *conn) exec(query string, args ...any) (res sql.Result, err error) {
	err = c.sql.Raw(func(driverConn any) error {
		st, err := c.executable(driverConn, query)
		if err != nil {
			return err
		}
		if err := c.bind(args); err != nil {
			return err
		}
		res, err = st.ExecContext(context.Background(), c.args)
		clear(c.args) // holds nobody's text
		return err
	})
	return res, err
}

// executable gives the driver's statement of a text.
func (c *conn) executable(driverConn any, query string) (execStmt, error) {
	if st := c.execs[query]; st != nil {
		return st, nil
	}
	preparer, ok := driverConn.(driver.ConnPrepareContext)
	if !ok {
		return nil, fmt.Errorf("%T prepares no statements", driverConn)
	}
	p, err := preparer.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, err
	}
	st, ok := p.(execStmt)
	if !ok {
		return nil, errors.Join(fmt.Errorf("%T executes nothing", p), p.Close())
	}
	if len(c.execs) >= maxStmts {
		if err := c.dropExecs(); err != nil {
			return nil, errors.Join(err, p.Close())
		}
	}
	c.execs[query] = st
	return st, nil
}

// bind makes arguments what the driver takes, as database/sql does.
func (c *conn) bind(args []any) error {
	c.args = slices.Grow(c.args[:0], len(args))[:len(args)]
	for i, a := range args {
		to := &c.args[i]
		*to = driver.NamedValue{Ordinal: i + 1}
		switch a.(type) {
		case string, int64: // most are
			to.Value = a
		default:
			var err error
			if to.Value, err = driver.DefaultParameterConverter.ConvertValue(a); err != nil {
				return fmt.Errorf("argument %d: %w", i+1, err)
			}
		}
	}
	return nil
}

func (c *conn) query(query string, args ...any) (*Rows, error) {
	st, transient, err := c.prepared(query)
	if err != nil {
		return nil, err
	}
	rows, err := st.sql.QueryContext(context.Background(), args...)
	if err != nil {
		if transient {
			err = errors.Join(err, st.sql.Close())
		}
		return nil, err
	}
	st.lent = true
	r := &Rows{rows: rows, conn: c, stmt: st, transient: transient}
	c.open = append(c.open, r)
	return r, nil
}

// closeRows closes what a closure has left open: open rows would keep the
// transaction's snapshot alive.
func (c *conn) closeRows() {
	for len(c.open) > 0 {
		_ = c.open[len(c.open)-1].Close() // the closure's own reading saw any error
	}
}

// controlWords begin the statements that would break out of the transaction
// of a closure, or change the connection behind the store's back.
var controlWords = []string{"BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT", "RELEASE", "ATTACH", "DETACH", "VACUUM", "PRAGMA"}

func checkQuery(query string) error {
	q := strings.TrimLeft(query, " \t\r\n")
	n := strings.IndexFunc(q, func(r rune) bool { return (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') })
	if n < 0 {
		n = len(q)
	}
	if n > 0 && n <= len("SAVEPOINT") && slices.Contains(controlWords, strings.ToUpper(q[:n])) {
		return fmt.Errorf("%s is not allowed inside a transaction of the store", strings.ToUpper(q[:n]))
	}
	return nil
}

// redactArgs passes every text that would be stored through redact. Values
// are converted first, so that named string types and Valuers are seen too.
func redactArgs(redact func([]byte) []byte, args []any) ([]any, error) {
	if redact == nil || len(args) == 0 {
		return args, nil
	}
	out := make([]any, len(args))
	for i, a := range args {
		v, err := driver.DefaultParameterConverter.ConvertValue(a)
		if err != nil {
			return nil, fmt.Errorf("argument %d: %w", i+1, err)
		}
		switch x := v.(type) {
		case string:
			v = string(redact([]byte(x)))
		case []byte:
			if x != nil {
				v = redact(x)
			}
		}
		out[i] = v
	}
	return out, nil
}

// Rows is the result of a query, read as sql.Rows is. What is left open is
// closed when the closure ends.
type Rows struct {
	rows      *sql.Rows
	conn      *conn
	stmt      *stmt
	transient bool
	closed    bool
}

// Next moves to the next row; false at the end or on an error, see Err.
func (r *Rows) Next() bool {
	if r.rows.Next() {
		return true
	}
	_ = r.Close() // Err has the error
	return false
}

// Scan copies the columns of the row, converting as sql.Rows.Scan does.
func (r *Rows) Scan(dest ...any) error { return r.rows.Scan(dest...) }

// Err is the error that ended the iteration, if any.
func (r *Rows) Err() error { return explain(r.conn.path, r.rows.Err()) }

// Close ends the reading early. It is idempotent.
func (r *Rows) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	err := r.rows.Close()
	r.stmt.lent = false
	if i := slices.Index(r.conn.open, r); i >= 0 {
		r.conn.open = slices.Delete(r.conn.open, i, i+1)
	}
	if r.transient {
		err = errors.Join(err, r.stmt.sql.Close())
	}
	return err
}

// Scanner is a row that can be read: Row and Rows.
type Scanner interface{ Scan(dest ...any) error }

// Each hands the rows of a query to fn, one after the other.
func Each(q Querier, fn func(Scanner) error, query string, args ...any) error {
	rows, err := q.Query(query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // rows.Err is the one that counts
	for rows.Next() {
		if err := fn(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// All reads the rows of a query, each by scan.
func All[T any](q Querier, scan func(Scanner) (T, error), query string, args ...any) (out []T, err error) {
	var full [][]T // parts of what was read: one slice that grows is copied again and again
	err = Each(q, func(row Scanner) error {
		v, err := scan(row)
		if len(out) == rowsInPart {
			full, out = append(full, out), make([]T, 0, rowsInPart)
		}
		out = append(out, v)
		return err
	}, query, args...)
	switch {
	case err != nil:
		return nil, err
	case full == nil:
		return out, nil
	}
	return slices.Concat(append(full, out)...), nil
}

// rowsInPart is how many rows are read into one slice.
const rowsInPart = 256

// Column reads the one column of a query's rows.
func Column[T any](q Querier, query string, args ...any) ([]T, error) {
	return All(q, func(row Scanner) (v T, err error) { err = row.Scan(&v); return v, err }, query, args...)
}

// Row is the result of QueryRow; its one use is Scan.
type Row struct {
	rows *Rows
	err  error
}

// Err is the error of the query itself.
func (r *Row) Err() error { return r.err }

// Scan copies the first row; sql.ErrNoRows when there is none.
func (r *Row) Scan(dest ...any) error {
	if r.err != nil {
		return r.err
	}
	defer func() { _ = r.rows.Close() }() // the row has been read
	if !r.rows.Next() {
		if err := r.rows.Err(); err != nil {
			return err
		}
		return sql.ErrNoRows
	}
	return r.rows.Scan(dest...)
}
