package agency

import (
	"bytes"
	"encoding/binary"

	"agency/internal/text"
)

// leftMost bounds what text.LeftOut says of how much is not there, in bytes.
const leftMost = 32

const (
	minStub = 4 // bytes of the shortest piece that is taken out beside a cut
	// stubBits is the least that such a piece takes to guess: the beginnings that
	// all keys of a provider share stay, for they stand in many texts.
	stubBits = 8
)

// stub is what one of minStub bytes is found by.
func stub[T string | []byte](s T) uint32 { return binary.LittleEndian.Uint32([]byte(s[:minStub])) }

// besideCuts gives what cuts have left of secrets. Who shows a part of a text whose
// secrets are still in it marks where it was cut (package text). A cut may have
// parted a secret, and of what is left of one beside it a Redactor takes out much
// shorter pieces than anywhere else.
func (r *Redactor) besideCuts(b []byte) (found []span) {
	side := func(from, to int) {
		if s := r.endingAt(b, from); s.to > 0 {
			found = append(found, s)
		}
		if s := r.beginningAt(b, to); s.to > 0 {
			found = append(found, s)
		}
	}
	for at := 0; ; {
		i := bytes.Index(b[at:], []byte(text.Ellipsis))
		if i < 0 {
			break
		}
		side(at+i, at+i+len(text.Ellipsis))
		at += i + len(text.Ellipsis)
	}
	for at := 0; ; {
		i := bytes.Index(b[at:], []byte(text.LeftEnd))
		if i < 0 {
			break
		}
		from := max(at, at+i-leftMost-len(text.LeftBegin))
		if j := bytes.LastIndex(b[from:at+i], []byte(text.LeftBegin)); j >= 0 {
			side(from+j, at+i+len(text.LeftEnd))
		}
		at += i + len(text.LeftEnd)
	}
	return found
}

// endingAt is the longest beginning of a secret that ends before a cut.
func (r *Redactor) endingAt(b []byte, cut int) (best span) {
	b = trimEnd(b[:cut])
	if len(b) < minStub {
		return best
	}
	for _, at := range r.stubs[stub(b[len(b)-minStub:])] {
		f, n := &r.forms[at.form], int(at.off)+minStub
		if n <= len(b) && n > best.to-best.from && string(b[len(b)-n:]) == f.text[:n] && f.hints(0, n) {
			best = span{len(b) - n, len(b)}
		}
	}
	return best
}

// beginningAt is the longest end of a secret that begins behind a cut.
func (r *Redactor) beginningAt(b []byte, cut int) (best span) {
	from := cut + leadingBlanks(b[cut:])
	if len(b)-from < minStub {
		return best
	}
	for _, at := range r.stubs[stub(b[from:])] {
		f := &r.forms[at.form]
		if rest := f.text[at.off:]; len(rest) > best.to-best.from && bytes.HasPrefix(b[from:], []byte(rest)) && f.hints(int(at.off), len(f.text)) {
			best = span{from, from + len(rest)}
		}
	}
	return best
}

// hints tells whether a piece of a form makes the secret easier to guess. Of one
// that is made of words alone, words do.
func (f *form) hints(from, to int) bool {
	piece := f.from[f.raw[from] : int(f.raw[to-1])+1]
	return guesses(piece, guesses(f.from, true) >= secretBits) >= stubBits
}

// escapedBreak is the end of a line as JSON writes it.
const escapedBreak = `\n`

func trimEnd(b []byte) []byte {
	for {
		n := len(b)
		if b = bytes.TrimSuffix(bytes.TrimRight(b, " \r\n"), []byte(escapedBreak)); len(b) == n {
			return b
		}
	}
}

func leadingBlanks(b []byte) int {
	all := len(b)
	for {
		n := len(b)
		if b = bytes.TrimPrefix(bytes.TrimLeft(b, " \r\n"), []byte(escapedBreak)); len(b) == n {
			return all - n
		}
	}
}
