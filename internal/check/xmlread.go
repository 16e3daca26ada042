package check

import (
	"bufio"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"agency/internal/agency"
)

// Bounds of what of an XML document is held at a time.
const (
	maxXMLHead = 64 << 10 // bytes, in which a document says what it is
	maxXMLText = 64 << 10 // of one text, and of one attribute
	maxXMLTag  = 1 << 20  // of one tag
)

// errLongXML says that a tag has no end within those bounds.
var errLongXML = errors.New("a tag without end")

// newXML decodes a document of any size: a decoder holds one text at a time, and
// here none is long.
func newXML(in io.Reader) *xml.Decoder {
	dec := xml.NewDecoder(&shortXML{in: bufio.NewReaderSize(in, maxXMLHead)})
	dec.CharsetReader = func(charset string, in io.Reader) (io.Reader, error) {
		if strings.EqualFold(charset, "us-ascii") || strings.EqualFold(charset, "iso-8859-1") {
			return in, nil
		}
		return nil, fmt.Errorf("charset %q", charset)
	}
	return dec
}

// shortXML hands a document on, texts and attributes that are too long without
// their middles, and without comments. What it takes for one in a document that
// is no XML is all the same: the decoder judges.
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
	switch text := newKept(maxXMLText); {
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
		return nil, noEnd(s.until("-->", newKept(0)))
	}
	return s.tag(!bytes.HasPrefix(next, []byte("<?")) && !bytes.HasPrefix(next, []byte("<!")))
}

func noEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// until takes what stands before an end, and the end.
func (s *shortXML) until(end string, text *kept) error {
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
		case len(tag) > maxXMLTag:
			return nil, errLongXML
		}
		tag = append(tag, c)
		switch {
		case c == '>':
			return tag, nil
		case quotes && (c == '"' || c == '\''):
			text := newKept(maxXMLText)
			if err := s.until(string(c), text); err != nil {
				return nil, noEnd(err)
			}
			if text.lost > 0 {
				head, tail := wholeRunes(text.head, text.tail)
				text.head = fmt.Appendf(bytes.Clone(head), " %s ", agency.BytesLeftOut(int64(text.lost)))
				text.tail = tail
			}
			tag = append(append(append(tag, text.head...), text.tail...), c)
		}
	}
}

// leftOutMark names the instruction that stands where a text was cut.
const leftOutMark = "agency-left-out"

// short is a text with the marks around it, and with an instruction where it was
// cut.
func short(text *kept, from, to string) []byte {
	head, tail := text.head, text.tail
	if text.lost == 0 {
		return append(append(append([]byte(from), head...), tail...), to...)
	}
	head, tail = wholeRunes(head, tail)
	lost := text.lost + text.size() - len(head) - len(tail)
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
