package sandbox

import (
	"bytes"
	"sync"
)

// stdoutFactor is how much more is kept of standard output alone.
const stdoutFactor = 32

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
		c.head = append(c.head, p[:n]...)
		p = p[n:]
	}
	if over := len(p) - c.half; over > 0 {
		c.lost += int64(over)
		p = p[over:]
	}
	if room := c.half - len(c.tail); room > 0 {
		n := min(room, len(p))
		c.tail = append(c.tail, p[:n]...)
		p = p[n:]
	}
	for len(p) > 0 {
		n := copy(c.tail[c.at:], p)
		c.lost += int64(n)
		c.at = (c.at + n) % len(c.tail)
		p = p[n:]
	}
}

// maxWord is how far a cut moves to stand between words.
const maxWord = 1 << 10

// bytes joins head and tail and says how much was lost between them. A cut
// halves no word: half of a key would not be recognised as one.
func (c *clip) bytes() (out []byte, lost int64) {
	const blanks = " \t\r\n"
	head := c.head
	if i := bytes.LastIndexAny(head[max(0, len(head)-maxWord):], blanks); c.lost > 0 && i >= 0 {
		head = head[:max(0, len(head)-maxWord)+i+1]
	}
	out = append(make([]byte, 0, len(head)+len(c.tail)), head...)
	out = append(append(out, c.tail[c.at:]...), c.tail[:c.at]...)
	if tail := out[len(head):]; c.lost > 0 {
		if i := bytes.IndexAny(tail[:min(len(tail), maxWord)], blanks); i > 0 {
			out = out[:len(head)+copy(tail, tail[i:])]
		}
		lost = c.lost + int64(len(c.head)+len(c.tail)-len(out))
	}
	return out, lost
}

// output gathers both streams of a command.
type output struct {
	mu   sync.Mutex
	both *clip
	out  *clip // nil where nobody reads it
}

func newOutput(s Spec) *output {
	o := &output{both: newClip(s.Limits.OutputKB << 10)}
	if !s.Together {
		o.out = newClip(s.Limits.OutputKB << 10 * stdoutFactor)
	}
	return o
}

// stream is one of a command's two outputs as an io.Writer.
type stream struct {
	o      *output
	stdout bool
}

func (s stream) Write(p []byte) (int, error) {
	s.o.mu.Lock()
	defer s.o.mu.Unlock()
	s.o.both.add(p)
	if s.stdout && s.o.out != nil {
		s.o.out.add(p)
	}
	return len(p), nil
}

func (o *output) into(r *Result) {
	o.mu.Lock()
	defer o.mu.Unlock()
	r.Output, r.Dropped = o.both.bytes()
	if o.out != nil {
		r.Stdout, r.StdoutDropped = o.out.bytes()
	}
}
