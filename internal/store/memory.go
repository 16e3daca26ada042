package store

import "fmt"

// memory is what owners remember of the database from one transaction to the
// next. It is true as long as nobody else has written: version is SQLite's own
// for what this connection has seen.
type memory struct {
	values  map[any]any
	version uint32
}

// Memory is what owners remember of the database from one transaction to the
// next, each under a key of its own. What their own statements change they
// forget themselves. The store forgets all of it when another process has
// written, when a closure is undone and when a commit fails, so that nobody
// remembers what is not there.
func (tx *Tx) Memory() map[any]any { return tx.batch.db.memory.values }

// forget is called where something was, or may have been, undone.
func (m *memory) forget() { clear(m.values) }

// begin looks, in a transaction that has begun, whether others have written.
func (m *memory) begin(s *session) {
	if v, err := s.version(); err != nil || v != m.version {
		m.forget()
	}
}

// commit notes what this process itself has written.
func (m *memory) commit(s *session) {
	v, err := s.version()
	if err != nil {
		m.forget()
	}
	m.version = v
}

// version changes with each commit to the database, of whichever process.
func (s *session) version() (v uint32, err error) {
	err = s.conn.Raw(func(conn any) error {
		c, ok := conn.(interface {
			FileControlDataVersion(db string) (uint32, error)
		})
		if !ok {
			return fmt.Errorf("%T tells no version of the data", conn)
		}
		v, err = c.FileControlDataVersion("main")
		return err
	})
	return v, err
}
