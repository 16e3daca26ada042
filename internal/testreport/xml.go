package testreport

import (
	"bufio"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"agency/internal/text"
)

// Bounds of what of an XML document is held at a time.
const (
	MaxHead    = 64 << 10  // bytes, in which a document says what it is
	maxXMLText = 64 << 10  // of one text, and of one attribute
	maxXMLTag  = 256 << 10 // of one tag
	MaxXMLName = 1 << 10   // of its name
)

// errLongXML says that a tag has no end within those bounds.
var errLongXML = errors.New("a tag without end")

// NewXML decodes a document of any size: a decoder holds one text at a time, and
// here none is long.
func NewXML(in io.Reader) *xml.Decoder {
	dec := xml.NewDecoder(&shortXML{in: bufio.NewReaderSize(in, MaxHead)})
	dec.CharsetReader = func(charset string, in io.Reader) (io.Reader, error) {
		if strings.EqualFold(charset, "us-ascii") || strings.EqualFold(charset, "iso-8859-1") {
			return in, nil
		}
		return nil, fmt.Errorf("charset %q", charset)
	}
	return dec
}

// shortXML hands a document on, texts and attributes that are too long without
// their middles, and in the place of a comment or a directive an empty comment: two
// texts with nothing between them would be one to the decoder, without end. What it
// takes for one in a document that is no XML is all the same: the decoder judges.
type shortXML struct {
	in  *bufio.Reader
	out []byte // the next piece
	err error  // behind it
}

func (s *shortXML) ReadByte() (byte, error) {
	for len(s.out) == 0 {
		if s.err != nil {
			return 0, s.err
		}
		s.out, s.err = s.piece()
	}
	c := s.out[0]
	s.out = s.out[1:]
	return c, nil
}

func (s *shortXML) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	c, err := s.ReadByte()
	if err != nil {
		return 0, err
	}
	p[0] = c
	n := copy(p[1:], s.out)
	s.out = s.out[n:]
	return n + 1, nil
}

// The marks around a text that is taken as it is.
const cdata, cdataEnd = "<![CDATA[", "]]>"

// piece is the next text, tag or section.
func (s *shortXML) piece() ([]byte, error) {
	next, err := s.in.Peek(len(cdata))
	if len(next) == 0 {
		return nil, err
	}
	switch text := NewExcerpt(maxXMLText); {
	case next[0] != '<':
		err := s.until("<", text)
		if err == nil {
			err = s.in.UnreadByte()
		}
		return short(text, "", ""), err
	case string(next) == cdata:
		_, _ = s.in.Discard(len(cdata)) // it is there
		if err := s.until(cdataEnd, text); err != nil {
			return nil, noEnd(err)
		}
		return short(text, cdata, cdataEnd), nil
	case bytes.HasPrefix(next, []byte("<!--")):
		_, _ = s.in.Discard(len("<!--"))
		return []byte(nothing), noEnd(s.until("-->", NewExcerpt(0)))
	case bytes.HasPrefix(next, []byte("<?")):
		text = NewExcerpt(maxXMLTag)
		if err := s.until("?>", text); err != nil {
			return nil, noEnd(err)
		}
		if text.lost > 0 {
			return nil, errLongXML
		}
		return short(text, "", "?>"), nil
	case len(next) > 2 && next[1] == '!' && next[2] != '-' && next[2] != '[':
		return []byte(nothing), noEnd(s.directive())
	}
	return s.tag(len(next) > 1 && next[1] != '!')
}

// nothing is a comment without a word.
const nothing = "<!---->"

// directive passes over one as the decoder reads it, to the end of all that it
// opens: nobody asks for what a document declares.
func (s *shortXML) directive() error {
	_, _ = s.in.Discard(len("<!x")) // its first character opens and ends nothing
	quote, depth := byte(0), 1
	for n := 0; depth > 0; n++ {
		c, err := s.in.ReadByte()
		if err != nil {
			return err
		}
		switch {
		case n > maxXMLTag:
			return errLongXML
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '>':
			depth--
		case c == '<':
			if next, _ := s.in.Peek(len("!--")); string(next) == "!--" {
				_, _ = s.in.Discard(len(next))
				if err := s.until("-->", NewExcerpt(0)); err != nil {
					return err
				}
				continue
			}
			depth++
		}
	}
	return nil
}

func noEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// until takes what stands before an end, and the end.
func (s *shortXML) until(end string, text *Excerpt) error {
	var last [len(cdataEnd)]byte // what may be the end
	for {
		part, err := s.in.ReadSlice(end[len(end)-1])
		_, _ = text.Write(part) // never fails
		n := min(len(part), len(last))
		copy(last[:], last[n:])
		copy(last[len(last)-n:], part[len(part)-n:])
		switch {
		case err == nil && string(last[len(last)-len(end):]) == end:
			text.dropEnd(len(end))
			return nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return err
		}
	}
}

// tag takes a tag with its end.
func (s *shortXML) tag(quotes bool) ([]byte, error) {
	var tag []byte
	for {
		c, err := s.in.ReadByte()
		switch {
		case err != nil:
			return tag, noEnd(err)
		case len(tag) > maxXMLTag, len(tag) == MaxXMLName && !bytes.ContainsAny(tag, " \t\r\n/>"):
			return nil, errLongXML
		}
		tag = append(tag, c)
		switch {
		case c == '>':
			return tag, nil
		case quotes && (c == '"' || c == '\''):
			value := NewExcerpt(maxXMLText)
			if err := s.until(string(c), value); err != nil {
				return nil, noEnd(err)
			}
			if value.lost > 0 {
				head, tail := wholeRunes(value.head, value.tail)
				value.head = fmt.Appendf(bytes.Clone(head), " %s ", text.BytesLeftOut(int64(value.lost)))
				value.tail = tail
			}
			tag = append(append(append(tag, value.head...), value.tail...), c)
		}
	}
}

// leftOutMark names the instruction that stands where a text was cut.
const leftOutMark = "agency-left-out"

// short is a text with the marks around it, and with an instruction where it was
// cut.
func short(text *Excerpt, from, to string) []byte {
	head, tail := text.head, text.tail
	if text.lost == 0 {
		return append(append(append([]byte(from), head...), tail...), to...)
	}
	head, tail = wholeRunes(head, tail)
	lost := text.lost + text.Size() - len(head) - len(tail)
	return fmt.Appendf(nil, "%s%s%s<?%s %d?>%s%s%s", from, head, to, leftOutMark, lost, from, tail, to)
}

// leftOut is how many bytes were cut out where an instruction stands.
func leftOut(in xml.ProcInst) (int, bool) {
	if in.Target != leftOutMark {
		return 0, false
	}
	n, err := strconv.Atoi(string(in.Inst))
	return n, err == nil && n > 0
}
