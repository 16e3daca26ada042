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

// session is one SQLite connection with its prepared statements. One
// goroutine uses it at a time.
type session struct {
	conn  *sql.Conn
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

func newSession(ctx context.Context, db *sql.DB, path string) (*session, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, explain(path, err)
	}
	return &session{conn: conn, path: path, stmts: map[string]*stmt{}, execs: map[string]execStmt{}}, nil
}

func (s *session) close() error {
	s.closeRows()
	return errors.Join(s.dropStmts(), s.dropExecs(), s.conn.Close())
}

func (s *session) dropExecs() error {
	var errs []error
	for _, st := range s.execs {
		errs = append(errs, st.Close())
	}
	clear(s.execs)
	return errors.Join(errs...)
}

func (s *session) dropStmts() error {
	var errs []error
	for q, st := range s.stmts {
		if !st.lent {
			errs = append(errs, st.sql.Close())
			delete(s.stmts, q)
		}
	}
	return errors.Join(errs...)
}

// prepared gives a statement that no open rows depend on; transient ones are
// closed after use.
func (s *session) prepared(query string) (st *stmt, transient bool, err error) {
	st = s.stmts[query]
	if st != nil && !st.lent {
		return st, false, nil
	}
	p, err := s.conn.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, false, err
	}
	fresh := &stmt{sql: p}
	if st != nil {
		return fresh, true, nil
	}
	if len(s.stmts) >= maxStmts {
		if err := s.dropStmts(); err != nil {
			return nil, false, errors.Join(err, p.Close())
		}
	}
	s.stmts[query] = fresh
	return fresh, false, nil
}

func (s *session) exec(query string, args ...any) (res sql.Result, err error) {
	err = s.conn.Raw(func(conn any) error {
		st, err := s.executable(conn, query)
		if err != nil {
			return err
		}
		if err := s.bind(args); err != nil {
			return err
		}
		res, err = st.ExecContext(context.Background(), s.args)
		clear(s.args) // holds nobody's text
		return err
	})
	return res, err
}

// executable gives the driver's statement of a text.
func (s *session) executable(conn any, query string) (execStmt, error) {
	if st := s.execs[query]; st != nil {
		return st, nil
	}
	preparer, ok := conn.(driver.ConnPrepareContext)
	if !ok {
		return nil, fmt.Errorf("%T prepares no statements", conn)
	}
	p, err := preparer.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, err
	}
	st, ok := p.(execStmt)
	if !ok {
		return nil, errors.Join(fmt.Errorf("%T executes nothing", p), p.Close())
	}
	if len(s.execs) >= maxStmts {
		if err := s.dropExecs(); err != nil {
			return nil, errors.Join(err, p.Close())
		}
	}
	s.execs[query] = st
	return st, nil
}

// bind makes arguments what the driver takes, as database/sql does.
func (s *session) bind(args []any) error {
	s.args = slices.Grow(s.args[:0], len(args))[:len(args)]
	for i, a := range args {
		to := &s.args[i]
		*to = driver.NamedValue{Ordinal: i + 1}
		if named, ok := a.(sql.NamedArg); ok {
			to.Name, a = named.Name, named.Value
		}
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

func (s *session) query(query string, args ...any) (*Rows, error) {
	st, transient, err := s.prepared(query)
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
	r := &Rows{rows: rows, session: s, stmt: st, transient: transient}
	s.open = append(s.open, r)
	return r, nil
}

// closeRows closes what a closure has left open: open rows would keep the
// transaction's snapshot alive.
func (s *session) closeRows() {
	for len(s.open) > 0 {
		_ = s.open[len(s.open)-1].Close() // the closure's own reading saw any error
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
		named, isNamed := a.(sql.NamedArg)
		if isNamed {
			a = named.Value
		}
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
		if isNamed {
			named.Value = v
			v = named
		}
		out[i] = v
	}
	return out, nil
}

// Rows is the result of a query, read as sql.Rows is. What is left open is
// closed when the closure ends.
type Rows struct {
	rows      *sql.Rows
	session   *session
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
func (r *Rows) Err() error { return explain(r.session.path, r.rows.Err()) }

// Close ends the reading early. It is idempotent.
func (r *Rows) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	err := r.rows.Close()
	r.stmt.lent = false
	if i := slices.Index(r.session.open, r); i >= 0 {
		r.session.open = slices.Delete(r.session.open, i, i+1)
	}
	if r.transient {
		err = errors.Join(err, r.stmt.sql.Close())
	}
	return err
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
