package lsp

import (
	"bytes"
	"unicode/utf8"
)

// lines are those of a text, with their ends.
type lines [][]byte

func linesOf(text []byte) lines { return bytes.SplitAfter(text, []byte("\n")) }

// positionOf is the place of a byte as the protocol counts: lines, and in them bytes or units
// of UTF-16.
func positionOf(text []byte, offset int, inBytes bool) position {
	before := text[:min(offset, len(text))]
	start := bytes.LastIndexByte(before, '\n') + 1
	p := position{Line: bytes.Count(before, []byte("\n")), Character: len(before) - start}
	if !inBytes {
		p.Character = 0
		for rest := before[start:]; len(rest) > 0; {
			r, n := utf8.DecodeRune(rest)
			p.Character += units(r)
			rest = rest[n:]
		}
	}
	return p
}

// offset is the byte of a position; -1: the text has none.
func (l lines) offset(p position, inBytes bool) int {
	if p.Line < 0 || p.Line >= len(l) || p.Character < 0 {
		return -1
	}
	at := 0
	for _, line := range l[:p.Line] {
		at += len(line)
	}
	line := bytes.TrimRight(l[p.Line], "\r\n")
	if inBytes {
		if p.Character > len(line) {
			return -1
		}
		return at + p.Character
	}
	n := 0
	for n < p.Character {
		if len(line) == 0 {
			return -1
		}
		r, size := utf8.DecodeRune(line)
		n, at, line = n+units(r), at+size, line[size:]
	}
	return at
}

func units(r rune) int {
	if r >= 0x10000 {
		return 2
	}
	return 1
}
