package testreport

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Profile gathers which lines ran, by file.
type Profile struct {
	files map[string][]byte // their lines by their numbers: nothing, lineMissed or lineRan
	room  int               // bytes that it may still grow
	Left  *Allowance
}

const (
	lineMissed = 1
	lineRan    = 2
)

// Bounds of what reports may name.
const (
	MaxProfileLine = 1 << 20
	maxProfile     = 4 << 20 // lines of all files, and bytes of their names
	maxProfileName = 4 << 10 // bytes of one
	perProfileFile = 128     // bytes that a file costs beside its name and lines
)

func NewProfile(left *Allowance) *Profile { return &Profile{map[string][]byte{}, maxProfile, left} }

func (p *Profile) Hit(file string, line, count int) { p.Span(file, line, line, count) }

// Span counts the lines from one to another. A report that names more than there
// is room for is not read.
func (p *Profile) Span(file string, from, to, count int) {
	if from < 1 || to < from || to > MaxProfileLine || file == "" || !p.Left.Spend(int64(to-from+1)) {
		return
	}
	of, known := p.files[file]
	more := max(to+1-len(of), 0)
	if !known {
		more += len(file) + perProfileFile
	}
	if more > p.room || len(file) > maxProfileName {
		p.Left.Refuse("names more files and lines than are kept of one command")
		return
	}
	p.room -= more
	if to >= len(of) {
		of = append(of, make([]byte, to+1-len(of))...)
		p.files[strings.Clone(file)] = of
	}
	for n := from; n <= to; n++ {
		if count > 0 {
			of[n] = lineRan
		} else {
			of[n] = max(of[n], lineMissed)
		}
	}
}

// Empty tells that nothing is in it.
func (p *Profile) Empty() bool { return len(p.files) == 0 }

// maxStretches bounds the stretches of lines that all ran or all did not.
const maxStretches = 500_000

// Stretches calls each with the lines of a file that all ran, or all did not: of
// the wanted files in any order, of one in that of its lines. False where there are
// too many.
func (p *Profile) Stretches(of func(file string) bool, each func(file string, ran bool, from, to int)) bool {
	n := 0
	for name, lines := range p.files {
		for from := 0; of(name) && from < len(lines); {
			to := from
			for to+1 < len(lines) && lines[to+1] == lines[from] {
				to++
			}
			if lines[from] != 0 {
				if n++; n > maxStretches {
					p.Left.Refuse("names more stretches of lines than %d", maxStretches)
					return false
				}
				each(name, lines[from] == lineRan, from, to)
			}
			from = to + 1
		}
	}
	return true
}

// ReadLCOV reads the lines of an lcov report.
func (p *Profile) ReadLCOV(doc io.Reader, at Paths) {
	file := ""
	for raw := range Lines(doc) {
		line := strings.TrimSpace(string(raw))
		if name, ok := strings.CutPrefix(line, "SF:"); ok {
			file = at.File(name)
		}
		if data, ok := strings.CutPrefix(line, "DA:"); ok {
			if f := strings.Split(data, ","); len(f) >= 2 {
				p.Hit(file, Atoi(f[0]), Atoi(f[1]))
			}
		}
	}
}

// maxSources bounds the folders that a Cobertura report names.
const maxSources = 64

// ReadCobertura reads the lines of a Cobertura report.
func (p *Profile) ReadCobertura(doc io.Reader, at Paths) error {
	dec := NewXML(doc)
	var open, sources []string
	file := ""
	in := func(under ...string) bool {
		return len(open) >= len(under) && slices.Equal(open[len(open)-len(under):], under)
	}
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil || len(open) > MaxDepth {
			return fmt.Errorf("cobertura: %w", err)
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			switch open = append(open, tok.Name.Local); {
			case in("packages", "package", "classes", "class"):
				file = coberturaFile(Attr(tok, "filename"), sources, at)
			case in("classes", "class", "lines", "line"):
				p.Hit(file, Atoi(Attr(tok, "number")), Atoi(Attr(tok, "hits")))
			}
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if in("sources", "source") && len(sources) < maxSources {
				sources = append(sources, strings.TrimSpace(string(tok)))
			}
		}
	}
}

// coberturaFile is the file that a report names below one of its sources.
func coberturaFile(name string, sources []string, at Paths) string {
	for _, s := range sources {
		if in := at.File(path.Join(s, name)); !path.IsAbs(in) && path.IsAbs(s) {
			return in
		}
	}
	return at.File(name)
}

func Atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}
