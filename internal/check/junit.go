package check

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"agency/internal/agency"
)

// Bounds of a JUnit report. encoding/xml expands no entities of a document and
// fetches nothing, so that depth and size are all that can be abused.
const (
	maxReport      = 16 << 20
	maxReportDepth = 64
)

// errNoJUnit says that a document is no JUnit report.
var errNoJUnit = errors.New("no JUnit report")

// junitReader walks the elements of one report: surefire's, pytest's, jest's
// and gotestsum's forms differ only in what they leave out.
type junitReader struct {
	dec    *xml.Decoder
	tests  *tally
	suites []string // names of the open suites
	inCase bool
	depth  int
	test   junitCase
	text   *strings.Builder // of the failure or error that is open
}

type junitCase struct {
	name   string
	status agency.TestStatus
	output strings.Builder
}

// parseJUnit adds the results of a report to t and tells whether it was whole.
func parseJUnit(doc []byte, t *tally) (complete bool, err error) {
	if !looksLikeJUnit(doc) {
		return false, errNoJUnit
	}
	complete = len(doc) <= maxReport
	r := &junitReader{dec: xml.NewDecoder(io.LimitReader(bytes.NewReader(doc), maxReport)), tests: t}
	r.dec.CharsetReader = func(charset string, in io.Reader) (io.Reader, error) {
		if strings.EqualFold(charset, "us-ascii") || strings.EqualFold(charset, "iso-8859-1") {
			return in, nil
		}
		return nil, fmt.Errorf("charset %q", charset)
	}
	for {
		tok, err := r.dec.Token()
		if errors.Is(err, io.EOF) {
			return complete, nil
		}
		if err != nil {
			return false, err
		}
		if err := r.token(tok); err != nil {
			return false, err
		}
	}
}

// looksLikeJUnit looks at the first element only.
func looksLikeJUnit(doc []byte) bool {
	head := doc[:min(len(doc), 64<<10)]
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
		if r.depth > maxReportDepth {
			return fmt.Errorf("nested deeper than %d", maxReportDepth)
		}
		r.start(tok)
	case xml.EndElement:
		r.depth--
		r.end(tok.Name.Local)
	case xml.CharData:
		if r.text != nil && r.text.Len() < 4*maxTestOutput {
			r.text.Write(tok)
		}
	}
	return nil
}

func (r *junitReader) start(el xml.StartElement) {
	switch el.Name.Local {
	case "testsuite":
		r.suites = append(r.suites, attr(el, "name"))
	case "testcase":
		r.inCase = true
		r.test = junitCase{name: r.caseName(attr(el, "classname"), attr(el, "name")), status: agency.TestPassed}
		if s := attr(el, "status"); s == "skipped" || s == "disabled" || s == "notrun" {
			r.test.status = agency.TestSkipped
		}
	case "failure", "error":
		if r.inCase {
			r.test.status = agency.TestFailed
			r.note(attr(el, "message"))
			r.text = &r.test.output
		}
	case "skipped":
		if r.inCase && r.test.status == agency.TestPassed {
			r.test.status = agency.TestSkipped
		}
	}
}

func (r *junitReader) note(message string) {
	if message != "" {
		r.test.output.WriteString(message + "\n")
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
			r.tests.add(r.test.name, r.test.status, strings.TrimSpace(r.test.output.String())+"\n")
		}
		r.inCase, r.text = false, nil
	}
}

// caseName is CLASS.NAME, or the suite's name where a report has no classes.
func (r *junitReader) caseName(class, name string) string {
	class, name = oneLine(class), oneLine(name)
	if class == "" && len(r.suites) > 0 {
		class = oneLine(r.suites[len(r.suites)-1])
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

func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 500 {
		s = strings.ToValidUTF8(s[:500], "")
	}
	return s
}

func attr(el xml.StartElement, name string) string {
	for _, a := range el.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}
