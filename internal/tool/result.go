package tool

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"agency/internal/agency"
	"agency/internal/text"
)

const (
	// MaxResult is the most bytes of a result that a model is shown, half from
	// its head and half from its tail.
	MaxResult = 32 << 10
	// maxArguments is the most bytes of a call's arguments.
	maxArguments = 4 << 20
)

// OK is the answer to a call that did what it should.
func OK(text string) Result { return Result{Text: text} }

// Wrote is OK of a call that changed one file.
func Wrote(rel, text string) Result { return Result{Text: text, Wrote: rel} }

// Fail is the answer to a call that ran and failed.
func Fail(format string, args ...any) Result {
	return Result{Text: "error: " + fmt.Sprintf(format, args...), Failed: true}
}

// Refuse is the answer to a call that did not run.
func Refuse(what string) Result {
	return Result{Text: "error: " + what, Failed: true, Refused: true}
}

// Refusal is the answer to a call that a rule of the session forbids.
func Refusal(format string, args ...any) Result { return Refuse(fmt.Sprintf(format, args...)) }

// Answer tells what the model can mend from what only the host can.
func Answer(err error) (Result, error) {
	switch agency.KindOf(err) {
	case agency.KindInvalid, agency.KindNotFound, agency.KindConflict:
		return Result{Text: "error: " + Cap(err.Error(), MaxResult), Failed: true}, nil
	case agency.KindDenied:
		return Result{Text: "error: " + Cap(err.Error(), MaxResult), Failed: true, Refused: true}, nil
	}
	return Result{}, err
}

// hideIn is an error without secrets in its words.
func (e *Env) hideIn(err error) error {
	said := err.Error()
	if clean := e.Hide(said); clean != said {
		return agency.Errorf(agency.KindOf(err), "%s", clean)
	}
	return err
}

// Cap keeps the head and the tail of a text that has more than most bytes, cut
// at lines where that loses little, says how much is left out, and makes it
// valid UTF-8.
func Cap(s string, most int) string {
	s = strings.ToValidUTF8(s, "�")
	if len(s) <= most {
		return s
	}
	head, tail := CutHead(s, most/2), CutTail(s, most/2)
	left := len(s) - len(head) - len(tail)
	return fmt.Sprintf("%s\n%s\n%s", strings.TrimSuffix(head, "\n"), text.LeftOut(Size(int64(left))), tail)
}

// CutHead is at most n bytes of the beginning, whole lines where the last one
// is not long, never half a rune.
func CutHead(s string, n int) string {
	if n >= len(s) {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	s = s[:n]
	if i := strings.LastIndexByte(s, '\n'); i > n-n/4 {
		s = s[:i+1]
	}
	return s
}

// CutTail is CutHead of the end.
func CutTail(s string, n int) string {
	if n >= len(s) {
		return s
	}
	from := len(s) - n
	for from < len(s) && !utf8.RuneStart(s[from]) {
		from++
	}
	s = s[from:]
	if i := strings.IndexByte(s, '\n'); i >= 0 && i < n/4 {
		s = s[i+1:]
	}
	return s
}

// Size is a number of bytes in words.
func Size(n int64) string {
	switch {
	case n < 10<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 10<<20:
		return fmt.Sprintf("%d KB", n>>10)
	default:
		return fmt.Sprintf("%d MB", n>>20)
	}
}

// QuoteName shows a name that a model made up without trusting it.
func QuoteName(name string) string {
	return fmt.Sprintf("%q", text.Head(name, 64))
}
