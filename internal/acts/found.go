package acts

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"

	"agency/internal/text"
)

// Bounds of what is told of one file, and of what is kept of it meanwhile.
const (
	maxParts = 1000 // kept apart; the others are one part
	maxTold  = 5    // parts
	maxWords = 120  // signs of a part
)

// unreadable is the part of a file whose form is not understood: others may.
const unreadable = "acts by a part of it, and cannot be read"

// remaining is the part that stands for all above maxParts.
const remaining = "acts by more parts than are looked at"

// found are the parts of a file by which it acts: a digest of the text of each,
// under what it does. Texts themselves would be as large as the file, and
// larger where a line is of many parts.
type found map[string][sha256.Size]byte

// add adds a text to a part.
func (f found) add(part, text string) {
	was, ok := f[part]
	if !ok && len(f) >= maxParts {
		part = remaining
		was = f[part]
	}
	h := sha256.New()
	h.Write(was[:])
	h.Write([]byte(text))
	f[part] = [sha256.Size]byte(h.Sum(nil))
}

// opaque are the parts of a file that cannot be read.
func opaque(text string) found {
	f := found{}
	f.add(unreadable, text)
	return f
}

// partsOf are the parts of one side.
func partsOf(parts func(string) found, src []byte) found {
	if len(bytes.TrimSpace(src)) == 0 {
		return found{}
	}
	text, ok := decode(src)
	if !ok {
		return opaque(string(src))
	}
	return parts(text)
}

// changed are the parts that are new or another than before, and those that are
// gone and kept.
func changed(parts func(string) found, guards bool, before, after []byte) string {
	was, now := partsOf(parts, before), partsOf(parts, after)
	var out []string
	for name, text := range now {
		if old, ok := was[name]; !ok || old != text {
			out = append(out, name)
		}
	}
	for name := range was {
		if _, ok := now[name]; !ok && guards && keeps(name) {
			out = append(out, "is taken away: "+name)
		}
	}
	slices.Sort(out)
	more := len(out) - maxTold
	out = out[:min(len(out), maxTold)]
	for i, s := range out {
		out[i] = text.Head(s, maxWords)
	}
	if more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(out, "; ")
}

// shorten is a line in a few words, fit to be shown.
func shorten(line string) string {
	const most, enough = 80, 1000
	line = line[:min(len(line), enough)]
	line = strings.Join(strings.Fields(strings.Map(printable, strings.ToValidUTF8(line, "?"))), " ")
	return text.Head(line, most)
}

// decode is a file as those read it who heed the mark at its beginning; false:
// it is in no encoding that is known here.
func decode(src []byte) (string, bool) {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(src, []byte{0xff, 0xfe, 0, 0}): // UTF-32
		return "", false
	case bytes.HasPrefix(src, []byte{0xff, 0xfe}):
		order = binary.LittleEndian
	case bytes.HasPrefix(src, []byte{0xfe, 0xff}):
		order = binary.BigEndian
	default:
		src = bytes.TrimPrefix(src, []byte("\xef\xbb\xbf"))
		return string(src), bytes.IndexByte(src, 0) < 0
	}
	if len(src)%2 != 0 {
		return "", false
	}
	units := make([]uint16, 0, len(src)/2)
	for at := 2; at < len(src); at += 2 {
		units = append(units, order.Uint16(src[at:]))
	}
	text := string(utf16.Decode(units))
	return text, strings.IndexByte(text, 0) < 0
}
