package sandbox

import (
	"errors"
	"io"
	"sync"
	"time"

	"agency/internal/text"
)

// clip keeps the head and the tail of a stream in a bounded space.
type clip struct {
	half int
	head []byte
	tail []byte // a ring once full
	at   int    // where the ring continues
	lost int64
}

func newClip(limit int) *clip { return &clip{half: max(limit/2, 1)} }

func (c *clip) add(p []byte) {
	if room := c.half - len(c.head); room > 0 {
		n := min(room, len(p))
		c.head = append(c.grown(c.head, n), p[:n]...)
		p = p[n:]
	}
	if over := len(p) - c.half; over > 0 {
		c.lost += int64(over)
		p = p[over:]
	}
	if room := c.half - len(c.tail); room > 0 {
		n := min(room, len(p))
		c.tail = append(c.grown(c.tail, n), p[:n]...)
		p = p[n:]
	}
	for len(p) > 0 {
		n := copy(c.tail[c.at:], p)
		c.lost += int64(n)
		c.at = (c.at + n) % len(c.tail)
		p = p[n:]
	}
}

// grown makes room for n more bytes, and never for more than can come.
func (c *clip) grown(b []byte, n int) []byte {
	if len(b)+n <= cap(b) {
		return b
	}
	return append(make([]byte, 0, min(2*(len(b)+n), c.half)), b...)
}

// bytes joins head and tail, says how much was lost between them, and where.
func (c *clip) bytes() (out []byte, lost int64) {
	out = append(make([]byte, 0, len(c.head)+len(c.tail)+64), c.head...)
	if c.lost > 0 {
		out = append(append(append(out, '\n'), text.BytesLeftOut(c.lost)...), '\n')
	}
	return append(append(out, c.tail[c.at:]...), c.tail[:c.at]...), c.lost
}

// output gathers both streams of a command.
type output struct {
	mu   sync.Mutex
	both *clip
	all  io.Writer // nil: nobody
	tap  tap
}

func newOutput(s Spec) *output {
	return &output{both: newClip(s.Limits.OutputKB << 10), all: s.Both, tap: tap{to: s.Stdout}}
}

// stream is one of a command's two outputs as an io.Writer.
type stream struct {
	o      *output
	stdout bool
}

func (s stream) Write(p []byte) (int, error) {
	s.o.mu.Lock()
	s.o.both.add(p)
	if s.o.all != nil {
		_, _ = s.o.all.Write(p) // the command's end does not depend on it
	}
	s.o.mu.Unlock()
	if s.stdout { // outside of the lock: standard error waits for nobody
		s.o.tap.write(p)
	}
	return len(p), nil
}

// tell writes a line of the sandbox's own.
func (o *output) tell(what string) { _, _ = stream{o, false}.Write([]byte("sandbox: " + what + "\n")) }

// into is called when both streams have ended.
func (o *output) into(r *Result) {
	o.mu.Lock()
	defer o.mu.Unlock()
	r.Output, r.Dropped = o.both.bytes()
	r.StdoutErr = o.tap.err
}

// patience is how long a writer may take for what one read gave.
const patience = 30 * time.Second

// errSlow is the end of a writer that nobody can wait for.
var errSlow = errors.New("standard output: its reader took too long")

// tap hands standard output on, and gives up who fails or hangs: the command has
// its wall limit, and after that nobody may keep its end from being told.
type tap struct {
	to  io.Writer
	buf []byte // the writer's own while it is at work
	err error
}

func (t *tap) write(p []byte) {
	if t.to == nil || t.err != nil {
		return
	}
	t.buf = append(t.buf[:0], p...)
	done := make(chan error, 1)
	go func() { // is waited for, but one that hangs
		_, err := t.to.Write(t.buf)
		done <- err
	}()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case t.err = <-done:
	case <-late.C:
		t.err = errSlow
	}
}
