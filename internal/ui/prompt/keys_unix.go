//go:build linux || darwin

package prompt

import (
	"cmp"
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/muesli/cancelreader"
	"golang.org/x/sys/unix"

	"agency/internal/agency"
)

// Keys are single keys of the person at a terminal that goes on being printed on. They are
// not shown, and none is left to who reads the terminal next. Signals come as they do.
type Keys struct {
	in  *os.File
	was *unix.Termios // nil: it was never this process's

	mu     sync.Mutex
	reader cancelreader.CancelReader
	typed  []byte // keys that came together and are not given yet
	line   bool   // a line is typed
	left   bool   // the line is to be left
	half   []byte // what of it was typed when the keys were closed
	lent   bool   // something else reads the terminal
	closed bool
	woken  chan os.Signal
	done   chan struct{} // closed with it
}

// ErrClosed is that of keys that are read no more.
var ErrClosed = errors.New("keys are read no more")

// OpenKeys begins to read the keys of a terminal, from when this process is in its foreground.
func OpenKeys(in *os.File) (*Keys, error) {
	if _, err := unix.IoctlGetTermios(int(in.Fd()), getTermios); err != nil {
		return nil, err
	}
	k := &Keys{in: in, woken: make(chan os.Signal, 1), done: make(chan struct{})}
	signal.Ignore(unix.SIGTTIN) // in the background a read fails; without this it would stop the process
	if err := errors.Join(k.open(), k.set(true)); err != nil {
		return nil, err
	}
	signal.Notify(k.woken, unix.SIGCONT) // a shell that had the terminal meanwhile has set it its way
	go func() {
		for range k.woken {
			k.mu.Lock()
			if !k.closed && !k.line && !k.lent {
				_ = k.set(true) // without it keys want the Enter key
			}
			k.mu.Unlock()
		}
	}()
	return k, nil
}

// InFront tells whether this process is in the foreground of a terminal, or nobody else can be.
// Elsewhere the terminal is another's: it is neither read nor set.
func InFront(terminal *os.File) bool {
	group, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp()
}

// OnStop has what draws on the terminal hold still from when the process is to stop, as by Ctrl-Z,
// until it goes on: what stands there then is the shell's. Its end waits for what it began.
func OnStop(hold func() (release func())) (end func()) {
	if signal.Ignored(unix.SIGTSTP) {
		return func() {}
	}
	stops, goes, done := make(chan os.Signal, 1), make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(stops, unix.SIGTSTP)
	go func() {
		defer close(done)
		for range stops {
			release := hold()
			signal.Notify(goes, unix.SIGCONT)
			if unix.Kill(unix.Getpid(), unix.SIGSTOP) == nil {
				<-goes
			}
			signal.Stop(goes)
			release()
		}
	}()
	return func() {
		signal.Stop(stops)
		close(stops)
		<-done
	}
}

func (k *Keys) front() bool { return InFront(k.in) }

func (k *Keys) open() (err error) {
	k.reader, err = cancelreader.NewReader(k.in)
	return err
}

// set sets the terminal to single keys, or as it was. What was typed before is forgotten: it
// was meant for something else.
func (k *Keys) set(single bool) error {
	k.typed = nil
	if !k.front() {
		return nil
	}
	if k.was == nil { // as who gave the terminal to this process has set it
		was, err := unix.IoctlGetTermios(int(k.in.Fd()), getTermios)
		if err != nil {
			return err
		}
		k.was = was
	}
	t := *k.was
	if single {
		t.Lflag &^= unix.ICANON | unix.ECHO
		t.Cc[unix.VMIN], t.Cc[unix.VTIME] = 1, 0
	}
	return unix.IoctlSetTermios(int(k.in.Fd()), setTermiosFlush, &t)
}

// Key waits for a key; of one that sends several bytes, such as an arrow, it is 0.
func (k *Keys) Key() (byte, error) {
	if !k.front() {
		return 0, k.wait()
	}
	if key, ok := k.next(); ok {
		return key, nil
	}
	var b [64]byte
	n, err := k.reader.Read(b[:])
	switch {
	case errors.Is(err, cancelreader.ErrCanceled):
		return 0, ErrClosed
	case errors.Is(err, unix.EIO) && !k.front():
		return 0, k.wait()
	case err != nil:
		return 0, err
	case n > 1 && (b[0] < ' ' || b[0] > '~'):
		return 0, nil
	}
	k.mu.Lock()
	k.typed = append([]byte(nil), b[1:max(n, 1)]...) // typed fast, or read late
	k.mu.Unlock()
	return b[0], nil
}

func (k *Keys) next() (byte, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.typed) == 0 {
		return 0, false
	}
	key := k.typed[0]
	k.typed = k.typed[1:]
	return key, true
}

// wait waits until the process is in the foreground again, which nothing tells.
func (k *Keys) wait() error {
	for !k.front() {
		select {
		case <-k.done:
			return ErrClosed
		case <-time.After(time.Second):
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return ErrClosed
	}
	return k.set(true)
}

// Line has the person type a line of at most so many bytes, seen and edited as the terminal
// does; ErrLeft: somebody called Interrupt.
func (k *Keys) Line(out io.Writer, question string, most int) (text string, err error) {
	k.mu.Lock()
	if k.closed {
		k.mu.Unlock()
		return "", ErrClosed
	}
	k.line = true
	err = k.set(false)
	k.mu.Unlock()
	if err == nil {
		text, err = Line(k.reader, out, question, most)
	}
	if err == nil && text != "" {
		text, err = words(text + k.rest(most-len(text)))
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.line = false
	if k.closed {
		return "", errors.Join(clearLine(out, question+string(k.half), k.width()), ErrClosed)
	}
	if k.left { // also where it had just been typed: the reader is of no more use
		k.left = false
		werr := clearLine(out, question+string(k.raw(0, most)), k.width())
		err = cmp.Or(errors.Join(k.reader.Close(), k.open(), werr), ErrLeft)
	}
	return text, errors.Join(err, k.set(true))
}

// pasted is in what time the rest of a text comes that is more than a line and was pasted.
const pasted = 50 * time.Millisecond

// rest is what came with a line and stands behind it. Nobody types that fast: it is of one text.
func (k *Keys) rest(most int) string {
	text := k.raw(pasted, most)
	if len(text) == 0 {
		return ""
	}
	return "\n" + strings.TrimRight(string(text), " \t\r\n")
}

// raw is what was typed and is not read, also what ends in no line, which the terminal has shown
// already; within is how long more of it is waited for.
func (k *Keys) raw(within time.Duration, most int) (text []byte) {
	fd := int(k.in.Fd())
	if k.was == nil {
		return nil
	}
	t := *k.was
	t.Lflag &^= unix.ICANON | unix.ECHO
	t.Cc[unix.VMIN], t.Cc[unix.VTIME] = 1, 0
	if unix.IoctlSetTermios(fd, setTermios, &t) != nil {
		return nil
	}
	for b := make([]byte, 4096); len(text) < most; {
		ready := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		if n, err := unix.Poll(ready, int(within.Milliseconds())); err != nil || n == 0 {
			break
		}
		n, err := unix.Read(fd, b)
		if err != nil || n == 0 {
			break
		}
		text = append(text, b[:n]...)
	}
	return text
}

// width is how many columns the terminal has; 0: nobody knows.
func (k *Keys) width() int {
	size, err := unix.IoctlGetWinsize(int(k.in.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}

// words refuses a text with keys that are none, such as arrows: whoever pressed them wanted
// something else than to send it.
func words(text string) (string, error) {
	other := func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }
	if strings.ContainsFunc(text, other) {
		return "", agency.Errorf(agency.KindInvalid, "a line takes no arrows and no Escape, and nothing was sent").WithMend("e and Enter open your editor")
	}
	return text, nil
}

// Aside lends the terminal, as it was, to something else that reads it.
func (k *Keys) Aside(do func() error) error {
	k.mu.Lock()
	k.lent = true
	err := k.set(false)
	k.mu.Unlock()
	if err == nil {
		err = do()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lent = false
	return errors.Join(err, k.set(!k.closed))
}

// Interrupt has the line that is typed left; false: nobody types one, nor in something else.
func (k *Keys) Interrupt() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.line && !k.closed && !k.left {
		k.left = true
		k.reader.Cancel()
	}
	return k.line || k.lent
}

// Close gives the terminal back as it was.
func (k *Keys) Close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return nil
	}
	k.closed = true
	signal.Stop(k.woken)
	close(k.woken)
	close(k.done)
	signal.Reset(unix.SIGTTIN)
	k.reader.Cancel()
	if k.line { // setting the terminal forgets it
		k.half = k.raw(0, agency.MaxGoal)
	}
	if err := k.set(false); err != nil {
		return agency.Errorf(agency.KindTransient, "the terminal: %w", err).WithMend("stty sane")
	}
	return nil
}
