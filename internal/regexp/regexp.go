// Package regexp is the standard library's, with expressions that are compiled when they
// are first asked. A program of some hundred expressions begins in a third of the time, and
// this one begins anew for each sandbox. In tests all are compiled at once, so that a wrong
// one is found by the package's own.
package regexp

import (
	"regexp"
	"sync"
	"testing"
)

// Regexp is an expression that may be asked by many at once.
type Regexp struct {
	text    string
	compile func() *regexp.Regexp
}

// MustCompile is an expression that is known to be one.
func MustCompile(text string) *Regexp {
	re := &Regexp{text, sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })}
	if testing.Testing() {
		re.compile()
	}
	return re
}

// QuoteMeta is the expression that matches a text and nothing else.
func QuoteMeta(text string) string { return regexp.QuoteMeta(text) }

// What an expression is asked is answered by the standard library's of the same name.

func (re *Regexp) String() string                   { return re.text }
func (re *Regexp) SubexpNames() []string            { return re.compile().SubexpNames() }
func (re *Regexp) Split(s string, n int) []string   { return re.compile().Split(s, n) }
func (re *Regexp) Match(b []byte) bool              { return re.compile().Match(b) }
func (re *Regexp) MatchString(s string) bool        { return re.compile().MatchString(s) }
func (re *Regexp) Find(b []byte) []byte             { return re.compile().Find(b) }
func (re *Regexp) FindAll(b []byte, n int) [][]byte { return re.compile().FindAll(b, n) }
func (re *Regexp) FindIndex(b []byte) []int         { return re.compile().FindIndex(b) }
func (re *Regexp) FindString(s string) string       { return re.compile().FindString(s) }
func (re *Regexp) FindStringIndex(s string) []int   { return re.compile().FindStringIndex(s) }
func (re *Regexp) FindSubmatch(b []byte) [][]byte   { return re.compile().FindSubmatch(b) }
func (re *Regexp) FindSubmatchIndex(b []byte) []int { return re.compile().FindSubmatchIndex(b) }

func (re *Regexp) FindStringSubmatch(s string) []string   { return re.compile().FindStringSubmatch(s) }
func (re *Regexp) FindAllIndex(b []byte, n int) [][]int   { return re.compile().FindAllIndex(b, n) }
func (re *Regexp) FindAllString(s string, n int) []string { return re.compile().FindAllString(s, n) }

func (re *Regexp) FindAllStringIndex(s string, n int) [][]int {
	return re.compile().FindAllStringIndex(s, n)
}

func (re *Regexp) FindAllSubmatch(b []byte, n int) [][][]byte {
	return re.compile().FindAllSubmatch(b, n)
}

func (re *Regexp) FindAllSubmatchIndex(b []byte, n int) [][]int {
	return re.compile().FindAllSubmatchIndex(b, n)
}

func (re *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return re.compile().FindAllStringSubmatch(s, n)
}

func (re *Regexp) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return re.compile().FindAllStringSubmatchIndex(s, n)
}

func (re *Regexp) ReplaceAll(b, with []byte) []byte { return re.compile().ReplaceAll(b, with) }
func (re *Regexp) ReplaceAllString(s, with string) string {
	return re.compile().ReplaceAllString(s, with)
}

func (re *Regexp) ReplaceAllStringFunc(s string, with func(string) string) string {
	return re.compile().ReplaceAllStringFunc(s, with)
}

func (re *Regexp) ReplaceAllFunc(b []byte, with func([]byte) []byte) []byte {
	return re.compile().ReplaceAllFunc(b, with)
}
