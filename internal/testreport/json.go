package testreport

import (
	"bufio"
	"errors"
	"io"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// JSON walks through a JSON document as it comes. Unlike encoding/json it
// holds no text and no number as a whole, of whatever size it is. It is no
// judge: what nobody asks for may be malformed.
type JSON struct{ r *bufio.Reader }

func NewJSON(in io.Reader) *JSON { return &JSON{bufio.NewReaderSize(in, 64<<10)} }

// ErrJSON says that a document is not what is expected.
var ErrJSON = errors.New("not the JSON of a report")

// maxWord bounds a name or a number, in bytes.
const maxWord = 4 << 10

// next takes the next byte that is no blank.
func (j *JSON) next() (byte, error) {
	for {
		c, err := j.r.ReadByte()
		if err != nil || c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			return c, err
		}
	}
}

// opens takes the beginning of a value; false for null.
func (j *JSON) opens(mark byte) (bool, error) {
	switch c, err := j.next(); {
	case err != nil:
		return false, err
	case c == mark:
		return true, nil
	case c == 'n':
		return false, j.Skip()
	}
	return false, ErrJSON
}

// Object calls each with every key; it has to take the value.
func (j *JSON) Object(each func(key string) error) error {
	return j.list('{', '}', func() error {
		key, err := j.Word()
		if err != nil {
			return err
		}
		if c, err := j.next(); err != nil || c != ':' {
			return errors.Join(ErrJSON, err)
		}
		return each(key)
	})
}

// Array calls each for every element; it has to take it.
func (j *JSON) Array(each func() error) error { return j.list('[', ']', each) }

func (j *JSON) list(from, to byte, each func() error) error {
	if open, err := j.opens(from); err != nil || !open {
		return err
	}
	for first := true; ; first = false {
		c, err := j.next()
		if err == nil && first && c != to {
			err = j.r.UnreadByte()
			c = ','
		}
		switch {
		case err != nil:
			return err
		case c == to:
			return nil
		case c != ',':
			return ErrJSON
		}
		if err := each(); err != nil {
			return err
		}
	}
}

// Text takes a string, of which head and tail are kept.
func (j *JSON) Text(limit int) (*Excerpt, error) {
	k := NewExcerpt(limit)
	return k, j.Into(k)
}

// Word takes a short string; of a long one the beginning.
func (j *JSON) Word() (string, error) {
	k, err := j.Text(maxWord)
	return k.Begin(), err
}

// Into takes a string and writes it.
func (j *JSON) Into(k *Excerpt) error {
	if open, err := j.opens('"'); err != nil || !open {
		return err
	}
	part := make([]byte, 0, 512)
	for {
		c, err := j.r.ReadByte()
		if err != nil {
			return err
		}
		if c == '"' || len(part) > cap(part)-2*utf8.UTFMax {
			_, _ = k.Write(part) // never fails
			part = part[:0]
		}
		switch c {
		case '"':
			return nil
		case '\\':
			if part, err = j.escape(part); err != nil {
				return err
			}
		default:
			part = append(part, c)
		}
	}
}

// escape adds what an escape stands for.
func (j *JSON) escape(to []byte) ([]byte, error) {
	c, err := j.r.ReadByte()
	switch c {
	case 'n':
		c = '\n'
	case 't':
		c = '\t'
	case 'r':
		c = '\r'
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'u':
		r, err := j.unit()
		if next, _ := j.r.Peek(2); utf16.IsSurrogate(r) && string(next) == `\u` {
			_, _ = j.r.Discard(2) // they are there
			var low rune
			low, err = j.unit()
			r = utf16.DecodeRune(r, low)
		}
		return utf8.AppendRune(to, r), err
	}
	return append(to, c), err
}

// unit takes the four digits of a unit of UTF-16.
func (j *JSON) unit() (rune, error) {
	var four [4]byte
	if _, err := io.ReadFull(j.r, four[:]); err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(string(four[:]), 16, 16)
	return rune(n), err
}

// Number takes a number; 0 for one that is none, or too large.
func (j *JSON) Number() (int, error) {
	c, err := j.next()
	n := 0
	for ; err == nil && c >= '0' && c <= '9' && n < 1<<40; c, err = j.r.ReadByte() {
		n = 10*n + int(c-'0')
	}
	if err != nil {
		return 0, err
	}
	if err := j.r.UnreadByte(); err != nil {
		return 0, err
	}
	return n, j.Skip()
}

// Skip passes over a value, or the rest of one.
func (j *JSON) Skip() error {
	for depth := 0; ; {
		c, err := j.r.ReadByte()
		if err != nil {
			return err
		}
		switch c {
		case '"':
			for c = 0; c != '"'; {
				if c, err = j.r.ReadByte(); err == nil && c == '\\' {
					_, err = j.r.ReadByte()
				}
				if err != nil {
					return err
				}
			}
		case '{', '[':
			depth++
			continue
		case '}', ']', ',':
			if depth == 0 {
				return j.r.UnreadByte()
			}
			if c != ',' {
				depth--
			}
		}
	}
}
