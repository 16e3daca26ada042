package agency

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"agency/internal/text"
)

// Redacted stands where a secret stood.
const Redacted = "[redacted]"

// Pieces of a form of a secret that are taken out too, in bytes: what a cut of
// an output, a wrapped line or a listing left of one. A shorter piece stands by
// chance in other text, and says too little.
const (
	minPiece    = 12
	minBase64   = minPiece * 4 / 3
	minHex      = minPiece * 2
	gram        = 8 // bytes by which a piece is found
	filterBits  = 16
	maxVariants = 8 << 10 // bytes of a secret whose forms are made
)

// Redactor takes secrets out of text before it is stored, shown or sent: plain
// and as JSON, Go, a URL, hex or base64 write them, at any place within what is
// encoded, whole or in pieces, shorter ones beside a cut. The zero value and nil
// take nothing out. It is immutable.
type Redactor struct {
	forms  []form
	at     map[uint64][]place
	stubs  map[uint32][]place
	filter []uint64 // a bit for each hash of a gram: most text is passed at once
	stride int
}

// form is one way in which a secret is written.
type form struct {
	text  string
	raw   []int32 // of each byte, the byte of the secret that it stands for
	from  string  // the secret
	piece int     // the shortest piece that is taken out
}

type place struct{ form, off int32 }

// NewRedactor makes a redactor of those of the texts that are secrets. Of one
// of several lines each line that is a secret is one by itself: what is taken
// out of a text leaves its lines.
func NewRedactor(secrets ...string) *Redactor {
	r := &Redactor{at: map[uint64][]place{}, stubs: map[uint32][]place{}, filter: make([]uint64, 1<<filterBits/64), stride: 1 << 30}
	seen := map[string]bool{}
	for _, s := range secrets {
		for one := range strings.Lines(s) {
			if one = strings.TrimSpace(one); !seen[one] && IsSecret(one) {
				seen[one] = true
				r.add(one)
			}
		}
	}
	return r
}

func (r *Redactor) add(secret string) {
	known := map[string]bool{}
	for _, f := range formsOf(secret) {
		if known[f.text] {
			continue
		}
		known[f.text] = true
		f.from, f.piece = secret, min(f.piece, len(f.text))
		r.stride = min(r.stride, f.piece-gram+1)
		for i := 0; i+gram <= len(f.text); i++ {
			g := binary.LittleEndian.Uint64([]byte(f.text[i : i+gram]))
			r.at[g] = append(r.at[g], place{int32(len(r.forms)), int32(i)})
			h := hashOf(g)
			r.filter[h/64] |= 1 << (h % 64)
		}
		for i := 0; i+minStub <= len(f.text); i++ {
			r.stubs[stub(f.text[i:])] = append(r.stubs[stub(f.text[i:])], place{int32(len(r.forms)), int32(i)})
		}
		r.forms = append(r.forms, f)
	}
}

func hashOf(g uint64) uint64 { return g * 0x9e3779b97f4a7c15 >> (64 - filterBits) }

// formsOf are the ways in which a secret is written.
func formsOf(secret string) []form {
	out := []form{escaped(secret, minPiece, func(s string) string { return s })}
	if len(secret) > maxVariants {
		return out
	}
	add := func(piece int, write func(string) string) { out = append(out, escaped(secret, piece, write)) }
	add(minPiece, jsonText)
	add(minPiece, func(s string) string { return jsonText(jsonText(s)) })
	add(minPiece, plainJSON)
	add(minPiece, func(s string) string { q := strconv.Quote(s); return q[1 : len(q)-1] })
	for _, write := range []func(string) string{url.QueryEscape, url.PathEscape} {
		add(minPiece, write)
		add(minPiece, func(s string) string { return lowerEscapes(write(s)) })
	}
	add(minHex, func(s string) string { return hex.EncodeToString([]byte(s)) })
	add(minHex, func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) })
	for shift := range 3 {
		std := inBase64(secret, shift, base64.RawStdEncoding)
		out = append(out, std, inBase64(secret, shift, base64.RawURLEncoding))
		for _, write := range []func(string) string{url.QueryEscape, func(s string) string { return strings.ReplaceAll(s, "/", `\/`) }} {
			e := escaped(std.text, minBase64, write)
			for i, at := range e.raw {
				e.raw[i] = std.raw[at]
			}
			out = append(out, e)
		}
	}
	return out
}

// escaped is a secret of which each byte is written by itself.
func escaped(secret string, piece int, write func(string) string) form {
	f := form{piece: piece}
	var b strings.Builder
	for i := 0; i < len(secret); {
		n := 1
		for i+n < len(secret) && secret[i+n]&0xc0 == 0x80 { // a rune is written as a whole
			n++
		}
		w := write(secret[i : i+n])
		b.WriteString(w)
		for range len(w) {
			f.raw = append(f.raw, int32(i))
		}
		i += n
	}
	f.text = b.String()
	return f
}

// inBase64 is what a secret is that stands shift bytes behind a group's begin
// in something that is encoded: the letters that the secret alone decides.
func inBase64(secret string, shift int, enc *base64.Encoding) form {
	all := enc.EncodeToString(append(make([]byte, shift), secret...))
	from, to := (shift*8+5)/6, (shift+len(secret))*8/6
	f := form{text: all[from:to], piece: minBase64}
	for i := from; i < to; i++ {
		f.raw = append(f.raw, int32(i*6/8-shift))
	}
	return f
}

func jsonText(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return s
	}
	return string(b[1 : len(b)-1])
}

// plainJSON is JSON without HTML in mind.
func plainJSON(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(s) != nil {
		return s
	}
	q := strings.TrimSuffix(b.String(), "\n")
	return q[1 : len(q)-1]
}

func lowerEscapes(s string) string {
	if len(s) == 3 && s[0] == '%' {
		return strings.ToLower(s)
	}
	return s
}

// span is what is taken out of a text.
type span struct{ from, to int }

// Bytes gives b without secrets; b itself where there are none. Text that was
// JSON stays so.
func (r *Redactor) Bytes(b []byte) []byte {
	spans := r.find(b)
	if len(spans) == 0 {
		return b
	}
	out := make([]byte, 0, len(b))
	at := 0
	for _, s := range spans {
		out = append(append(out, b[at:s.from]...), Redacted...)
		at = s.to
	}
	return append(out, b[at:]...)
}

// Ahead parts the beginning of a text whose rest is still to come: in what no
// continuation makes a part of a secret, without the secrets in it, and the end that
// one may, or a cut with what stands beside it. Whoever gets more puts the rest before
// it; Bytes of the rest is what is left to show where no more comes.
func (r *Redactor) Ahead(b []byte) (clean, rest []byte) {
	if r == nil || len(r.forms) == 0 {
		return b, nil
	}
	at := r.settled(b)
	spans := r.find(b)
	for _, s := range spans {
		if s.from < at && s.to > at { // what begins in it may become longer
			at = s.from
		}
	}
	from := 0
	for _, s := range spans {
		if s.to <= at {
			clean = append(append(clean, b[from:s.from]...), Redacted...)
			from = s.to
		}
	}
	return append(clean, b[from:at]...), b[at:]
}

// settled is how many bytes of b stand before all that may become a piece of a secret:
// before a cut at its end, and before what ends there and stands in a form.
func (r *Redactor) settled(b []byte) int {
	at := beforeCut(b, len(b))
	most := min(at, minStub-1)
	for _, p := range r.stubsAt(b[:at]) {
		f, n := r.forms[p.form].text[:int(p.off)+minStub], minStub
		for n < min(len(f), at) && f[len(f)-1-n] == b[at-1-n] {
			n++
		}
		most = max(most, n)
	}
	return beforeCut(b, at-most)
}

// stubsAt are the places in forms of the last bytes of b.
func (r *Redactor) stubsAt(b []byte) []place {
	if len(b) < minStub {
		return nil
	}
	return r.stubs[stub(b[len(b)-minStub:])]
}

// beforeCut is where the mark of a cut begins that ends at a place of b, be it whole or
// its beginning, with the blanks around it; the place itself where there is none.
func beforeCut(b []byte, at int) int {
	trimmed := trimEnd(b[:at])
	if bytes.HasSuffix(trimmed, []byte(escapedBreak[:1])) { // a blank that has begun, behind which a cut may stand
		trimmed = trimEnd(trimmed[:len(trimmed)-1])
	}
	if i := bytes.LastIndex(trimmed, []byte(text.LeftBegin)); i >= 0 && len(trimmed)-i <= leftMost+len(text.LeftBegin)+len(text.LeftEnd) &&
		(bytes.HasSuffix(trimmed, []byte(text.LeftEnd)) || !bytes.Contains(trimmed[i:], []byte(text.LeftEnd))) {
		return len(trimEnd(trimmed[:i]))
	}
	for _, mark := range []string{text.Ellipsis, text.LeftBegin} {
		for n := len(mark); n > 0; n-- {
			if bytes.HasSuffix(trimmed, []byte(mark[:n])) {
				return len(trimEnd(trimmed[:len(trimmed)-n]))
			}
		}
	}
	return len(trimmed)
}

// Count is how many secrets, or pieces of them, stand in b.
func (r *Redactor) Count(b []byte) int { return len(r.find(b)) }

// find gives what is to be taken out, in order and apart.
func (r *Redactor) find(b []byte) []span {
	if r == nil || len(r.forms) == 0 {
		return nil
	}
	var found []span
	for p := 0; p+gram <= len(b); {
		g := binary.LittleEndian.Uint64(b[p:])
		next := p + r.stride
		if h := hashOf(g); r.filter[h/64]&(1<<(h%64)) != 0 {
			if s := r.longest(b, p, r.at[g]); s.to > 0 {
				found = append(found, s)
				next = max(next, s.to-gram+1) // what follows may reach out of it
			}
		}
		p = next
	}
	return apart(b, append(found, r.besideCuts(b)...))
}

// longest is the longest piece of a secret around a place of a text.
func (r *Redactor) longest(b []byte, p int, places []place) (best span) {
	for _, at := range places {
		f := &r.forms[at.form]
		from, to := int(at.off), int(at.off)+gram
		l, e := p, p+gram
		for from > 0 && l > 0 && f.text[from-1] == b[l-1] {
			from, l = from-1, l-1
		}
		for to < len(f.text) && e < len(b) && f.text[to] == b[e] {
			to, e = to+1, e+1
		}
		for from < to && from > 0 && f.raw[from] == f.raw[from-1] { // no half of an escape
			from, l = from+1, l+1
		}
		for from < to && to < len(f.text) && f.raw[to] == f.raw[to-1] {
			to, e = to-1, e-1
		}
		if e-l > best.to-best.from && e-l >= f.piece && f.tells(from, to) {
			best = span{l, e}
		}
	}
	return best
}

// tells whether a piece of a form is itself a secret, and no word of one.
func (f *form) tells(from, to int) bool {
	if to-from == len(f.text) {
		return true
	}
	return guesses(f.from[f.raw[from]:int(f.raw[to-1])+1], true) >= secretBits
}

// apart joins what overlaps and leaves quotes and the escapes of JSON at the
// ends whole.
func apart(b []byte, found []span) []span {
	slices.SortFunc(found, func(x, y span) int { return cmp.Compare(x.from, y.from) })
	out := found[:0]
	for _, s := range found {
		if n := len(out); n > 0 && s.from < out[n-1].to {
			out[n-1].to = max(out[n-1].to, s.to)
			continue
		}
		out = append(out, s)
	}
	for i := range out {
		s := &out[i]
		s.from = min(max(s.from, escapeEnd(b, s.from)), s.to)
		for s.from < s.to && b[s.from] == '"' {
			s.from++
		}
		for s.from < s.to && b[s.to-1] == '"' {
			s.to--
		}
		if backslashes(b[s.from:s.to])%2 == 1 {
			s.to--
		}
	}
	return slices.DeleteFunc(out, func(s span) bool { return s.from == s.to })
}

// escapeEnd is where the last escape that begins before a place ends: letters of
// one stand there by chance, and without them it is none.
func escapeEnd(b []byte, at int) int {
	begin := bytes.LastIndexByte(b[max(0, at-len(`\u003`)):at], '\\')
	if begin < 0 {
		return 0
	}
	begin += max(0, at-len(`\u003`))
	switch rest := b[begin:]; {
	case backslashes(b[:begin+1])%2 == 0:
		return 0
	case len(rest) >= len(`\u003e`) && rest[1] == 'u':
		return begin + len(`\u003e`)
	}
	return begin + len(`\"`)
}

func backslashes(b []byte) int {
	return len(b) - len(bytes.TrimRight(b, `\`))
}

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
