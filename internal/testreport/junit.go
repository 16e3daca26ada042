package testreport

import (
	"bufio"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"agency/internal/agency"
	"agency/internal/text"
)

// MaxDepth bounds a report. encoding/xml expands no entities of a document
// and fetches nothing, so that depth and size are all that can be abused.
const MaxDepth = 64

// ErrNoJUnit says that a document is no JUnit report.
var ErrNoJUnit = errors.New("no JUnit report")

// junitReader walks the elements of one report: surefire's, pytest's, jest's
// and gotestsum's forms differ only in what they leave out.
type junitReader struct {
	dec    *xml.Decoder
	tests  *Tally
	p      Paths
	suites []string // names of the open suites
	inCase bool
	depth  int
	test   junitCase
	text   *Excerpt // of the failure or error that is open
}

type junitCase struct {
	name   string
	status agency.TestStatus
	output *Excerpt
}

// ReadJUnit adds the results of a report to t and tells whether it was whole.
func ReadJUnit(doc io.Reader, p Paths, t *Tally) (complete bool, err error) {
	in := bufio.NewReaderSize(doc, MaxHead)
	head, _ := in.Peek(MaxHead) // less is enough
	if !looksLikeJUnit(head) {
		return false, ErrNoJUnit
	}
	r := &junitReader{dec: NewXML(in), tests: t, p: p}
	for {
		tok, err := r.dec.Token()
		switch {
		case errors.Is(err, io.EOF):
			return true, nil
		case errors.Is(err, errLongXML):
			return false, nil
		case err != nil:
			return false, err
		}
		if err := r.token(tok); err != nil {
			return false, err
		}
	}
}

// looksLikeJUnit looks at the first element only.
func looksLikeJUnit(head []byte) bool {
	for {
		i := bytes.IndexByte(head, '<')
		if i < 0 || len(bytes.TrimSpace(bytes.TrimPrefix(head[:i], []byte("\uFEFF")))) > 0 {
			return false
		}
		head = head[i:]
		switch {
		case bytes.HasPrefix(head, []byte("<testsuite")):
			return true
		case bytes.HasPrefix(head, []byte("<!--")):
			_, rest, ok := bytes.Cut(head, []byte("-->"))
			if !ok {
				return false
			}
			head = rest
		case bytes.HasPrefix(head, []byte("<?")), bytes.HasPrefix(head, []byte("<!")):
			_, rest, ok := bytes.Cut(head, []byte(">"))
			if !ok {
				return false
			}
			head = rest
		default:
			return false
		}
	}
}

func (r *junitReader) token(tok xml.Token) error {
	switch tok := tok.(type) {
	case xml.StartElement:
		r.depth++
		if r.depth > MaxDepth {
			return fmt.Errorf("nested deeper than %d", MaxDepth)
		}
		r.start(tok)
	case xml.EndElement:
		r.depth--
		r.end(tok.Name.Local)
	case xml.CharData:
		if r.text != nil {
			_, _ = r.text.Write(tok) // never fails
		}
	case xml.ProcInst:
		if n, ok := leftOut(tok); ok && r.text != nil {
			r.text.skip(n)
		}
	}
	return nil
}

func (r *junitReader) start(el xml.StartElement) {
	switch el.Name.Local {
	case "testsuite":
		r.suites = append(r.suites, text.OneLine(Attr(el, "name"), 500))
	case "testcase":
		r.inCase = true
		r.test = junitCase{name: r.caseName(Attr(el, "classname"), Attr(el, "name")), status: agency.TestPassed, output: NewExcerpt(4 * MaxTestOutput)}
		if s := Attr(el, "status"); s == "skipped" || s == "disabled" || s == "notrun" {
			r.test.status = agency.TestSkipped
		}
	case "failure", "error":
		if r.inCase {
			r.test.status = agency.TestFailed
			r.note(Attr(el, "message"))
			r.text = r.test.output
		}
	case "skipped":
		if r.inCase && r.test.status == agency.TestPassed {
			r.test.status = agency.TestSkipped
		}
	}
}

func (r *junitReader) note(message string) {
	if message != "" {
		_, _ = io.WriteString(r.test.output, message+"\n") // never fails
	}
}

func (r *junitReader) end(name string) {
	switch name {
	case "testsuite":
		if len(r.suites) > 0 {
			r.suites = r.suites[:len(r.suites)-1]
		}
	case "failure", "error":
		r.text = nil
	case "testcase":
		if r.inCase && r.test.name != "" {
			r.test.output.trim()
			_, _ = r.test.output.Write([]byte("\n")) // never fails
			r.tests.Add(r.p.Local(r.test.name), r.test.status, r.test.output)
		}
		r.inCase, r.text = false, nil
	}
}

// caseName is CLASS.NAME, or the suite's name where a report has no classes.
func (r *junitReader) caseName(class, name string) string {
	class, name = text.OneLine(class, 500), text.OneLine(name, 500)
	if class == "" && len(r.suites) > 0 {
		class = r.suites[len(r.suites)-1]
	}
	switch {
	case name == "":
		return ""
	case class == "" || class == name || strings.HasPrefix(name, class+"."):
		return name
	default:
		return class + "." + name
	}
}

func Attr(el xml.StartElement, name string) string {
	for _, a := range el.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}
