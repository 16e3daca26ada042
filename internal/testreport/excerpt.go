package testreport

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"agency/internal/text"
)

// Excerpt is head and tail of a text of any size.
type Excerpt struct {
	half       int // bytes of each at least, where there are so many
	head, tail []byte
	lost       int // bytes between them
}

// NewExcerpt keeps limit bytes and up to half of that besides.
func NewExcerpt(limit int) *Excerpt { return &Excerpt{half: limit / 2} }

// Whole is a text that is bounded already.
func Whole(s string) *Excerpt { return &Excerpt{half: len(s), head: []byte(s)} }

// WholeBefore keeps a text whole, and limit bytes of what follows.
func WholeBefore(whole []byte, limit int) *Excerpt { return &Excerpt{half: limit / 2, head: whole} }

// Lost is how many bytes are missing.
func (k *Excerpt) Lost() int { return k.lost }

func (k *Excerpt) Write(p []byte) (int, error) {
	n := min(max(k.half-len(k.head), 0), len(p))
	k.head = append(k.head, p[:n]...)
	rest := p[n:]
	if over := len(rest) - k.half; over > 0 {
		k.lost += len(k.tail) + over
		k.tail, rest = k.tail[:0], rest[over:]
	}
	if k.tail = append(k.tail, rest...); len(k.tail) > 2*k.half {
		k.shorten()
	}
	return len(p), nil
}

// shorten leaves of the tail what is promised.
func (k *Excerpt) shorten() {
	if over := len(k.tail) - k.half; over > 0 {
		k.lost += over
		k.tail = k.tail[:copy(k.tail, k.tail[over:])]
	}
}

// Shrink keeps less from now on, and gives the rest back.
func (k *Excerpt) Shrink(limit int) {
	k.half = limit / 2
	if more := len(k.head) - k.half; more > 0 {
		if k.lost > 0 {
			k.lost += more
		} else {
			k.tail = append(k.head[k.half:], k.tail...)
		}
		k.head = bytes.Clone(k.head[:k.half])
	}
	k.shorten()
	k.tail = bytes.Clone(k.tail)
}

// dropEnd takes the last bytes away, a few that are kept.
func (k *Excerpt) dropEnd(n int) {
	of := &k.head
	if len(k.tail) >= n {
		of = &k.tail
	} else if len(k.tail) > 0 {
		n -= len(k.tail)
		k.tail = nil
	}
	*of = (*of)[:max(0, len(*of)-n)]
}

// skip notes that bytes were left out here already.
func (k *Excerpt) skip(n int) {
	k.lost, k.tail = k.lost+len(k.tail)+n, k.tail[:0]
}

func (k *Excerpt) Size() int { return len(k.head) + len(k.tail) }

// Clip is the text as clip gives it of the whole, for a limit up to that of k.
func (k *Excerpt) Clip(limit int) string {
	if k == nil {
		return ""
	}
	all := k.Size() + k.lost
	if all <= limit && k.lost == 0 {
		return string(k.head) + string(k.tail)
	}
	head, tail := k.head[:min(limit, len(k.head))], k.tail[max(0, len(k.tail)-limit):]
	if k.lost == 0 { // both reach over where they meet
		head, tail = slices.Concat(head, k.tail[:min(limit-len(head), len(k.tail))]), slices.Concat(k.head[max(0, len(k.head)-limit+len(tail)):], tail)
	}
	return clipEnds(string(head), string(tail), all, min(limit, all-1))
}

// Begin is what of the text is known without a gap.
func (k *Excerpt) Begin() string {
	if k.lost > 0 {
		return string(k.head) + text.Ellipsis
	}
	return string(k.head) + string(k.tail)
}

// trim takes blanks away around the text.
func (k *Excerpt) trim() {
	if k.lost == 0 {
		k.head, k.tail = append(k.head, k.tail...), nil
	}
	if k.head = bytes.TrimLeft(k.head, " \t\r\n"); k.lost == 0 {
		k.head = bytes.TrimRight(k.head, " \t\r\n")
	}
	k.tail = bytes.TrimRight(k.tail, " \t\r\n")
}

// Plain takes the colours of a terminal away.
func (k *Excerpt) Plain() *Excerpt {
	if k.lost == 0 {
		k.head, k.tail = append(k.head, k.tail...), nil
	}
	k.head, k.tail = ansi.ReplaceAll(k.head, nil), ansi.ReplaceAll(k.tail, nil)
	return k
}

// Reader gives the text line by line, with a line between head and tail where
// something is missing.
func (k *Excerpt) Reader() io.Reader {
	if k.lost == 0 {
		return io.MultiReader(bytes.NewReader(k.head), bytes.NewReader(k.tail))
	}
	between := strings.NewReader("\n" + text.BytesLeftOut(int64(k.lost)) + "\n")
	return io.MultiReader(bytes.NewReader(k.head), between, bytes.NewReader(k.tail))
}

// MaxKept bounds what a room holds, in bytes.
const MaxKept = 4 << 20

// Room bounds many texts in their sum: each keeps as much as a receipt shows,
// and where that is too much together all keep half as much, again and again.
type Room struct {
	limit int
	Used  int
	Texts map[*Excerpt]bool
}

func NewRoom() *Room { return &Room{limit: MaxOutput, Texts: map[*Excerpt]bool{}} }

// Write adds to a text, which it makes where it is not there.
func (r *Room) Write(k **Excerpt, s string) {
	if *k == nil {
		*k = NewExcerpt(r.limit)
		r.Texts[*k] = true
	}
	r.Used -= (*k).Size()
	_, _ = (*k).Write([]byte(s)) // never fails
	r.Used += (*k).Size()
	for r.Used > MaxKept {
		r.limit /= 2
		r.Used = 0
		for k := range r.Texts {
			k.Shrink(r.limit)
			r.Used += k.Size()
		}
	}
}

// Drop discards an excerpt and gives its room to the others.
func (r *Room) Drop(k **Excerpt) {
	if *k != nil {
		r.Used -= (*k).Size()
		delete(r.Texts, *k)
		*k = nil
	}
}

// longestLine bounds a line, in bytes.
const longestLine = 1 << 20

// Lines gives the lines of a stream with their ends, each until the next one is
// asked for. Of one that is longer than longestLine it gives the beginning with an
// ellipsis, and false.
func Lines(in io.Reader) iter.Seq2[[]byte, bool] {
	return func(yield func([]byte, bool) bool) {
		r := bufio.NewReaderSize(in, 64<<10)
		var long []byte
		for {
			line, err := r.ReadSlice('\n')
			whole := true
			if errors.Is(err, bufio.ErrBufferFull) {
				long = append(long[:0], line...)
				for errors.Is(err, bufio.ErrBufferFull) {
					line, err = r.ReadSlice('\n')
					fits := min(len(line), longestLine-len(long))
					whole = whole && fits == len(line)
					long = append(long, line[:fits]...)
				}
				if line = long; !whole {
					line = append(line, text.Ellipsis+"\n"...)
				}
			}
			if len(line) > 0 && !yield(line, whole) || err != nil {
				return
			}
		}
	}
}

// PlainLine is a line without its end and without colours.
func PlainLine(line []byte) string {
	line = bytes.TrimRight(line, "\r\n")
	if bytes.IndexByte(line, '\x1b') >= 0 {
		line = bytes.TrimRight(ansi.ReplaceAll(line, nil), "\r\n")
	}
	return string(line)
}

// wholeRunes leaves out of a text that was cut the pieces of characters at the
// cut, and of entities of XML, at its end or at its begin.
func wholeRunes(head, tail []byte) ([]byte, []byte) {
	for i := 1; i <= min(utf8.UTFMax, len(head)); i++ {
		if b := head[len(head)-i:]; utf8.RuneStart(b[0]) {
			if !utf8.FullRune(b) {
				head = head[:len(head)-i]
			}
			break
		}
	}
	if i := bytes.LastIndexByte(head, '&'); i >= 0 && bytes.IndexByte(head[i:], ';') < 0 {
		head = head[:i]
	}
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	return head, tail
}
