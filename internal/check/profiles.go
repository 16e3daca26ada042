package check

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

var goBlock = regexp.MustCompile(`^(.+):(\d+)\.\d+,(\d+)\.\d+ (\d+) (\d+)$`)

// goProfile reads a cover profile of Go: blocks of statements.
func (p *profile) goProfile(doc io.Reader, modules []goModule) {
	for line := range lines(doc) {
		m := goBlock.FindStringSubmatch(strings.TrimSpace(string(line)))
		if m == nil {
			continue
		}
		from, to, count := atoi(m[2]), atoi(m[3]), atoi(m[5])
		if to-from > maxProfileLine {
			continue
		}
		file := goFile(m[1], modules)
		for n := from; n <= to; n++ {
			p.hit(file, n, count)
		}
	}
}

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

// goFile is the file of the checkout that a profile names by its import path.
func goFile(name string, modules []goModule) string {
	best, file := -1, name
	for _, m := range modules {
		if rest, ok := strings.CutPrefix(name, m.path+"/"); ok && len(m.path) > best {
			best, file = len(m.path), path.Join(m.dir, rest)
		}
	}
	if best < 0 {
		return "/" + name // of no module of the checkout
	}
	return file
}

// lcov reads the lines of an lcov report.
func (p *profile) lcov(doc io.Reader, at paths) {
	file := ""
	for raw := range lines(doc) {
		line := strings.TrimSpace(string(raw))
		if name, ok := strings.CutPrefix(line, "SF:"); ok {
			file = at.file(name)
		}
		if data, ok := strings.CutPrefix(line, "DA:"); ok {
			if f := strings.Split(data, ","); len(f) >= 2 {
				p.hit(file, atoi(f[0]), atoi(f[1]))
			}
		}
	}
}

// reports reads what a command of the user's own leaves where such tools put it.
func (p *profile) reports(checkout *os.Root, left *allowance, at paths) {
	left.each(checkout, func(doc io.Reader) { p.lcov(doc, at) }, "lcov.info", "coverage/lcov.info", "target/llvm-cov/lcov.info")
	left.each(checkout, func(doc io.Reader) {
		_ = p.cobertura(doc, at) // another kind of XML has no lines
	}, "coverage.xml", "cobertura.xml", "coverage/cobertura-coverage.xml")
}

// maxSources bounds the folders that a Cobertura report names.
const maxSources = 64

// cobertura reads the lines of a Cobertura report.
func (p *profile) cobertura(doc io.Reader, at paths) error {
	dec := newXML(doc)
	var open, sources []string
	file := ""
	in := func(under string) bool { return strings.HasSuffix(strings.Join(open, ">"), under) }
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil || len(open) > maxReportDepth {
			return fmt.Errorf("cobertura: %w", err)
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			switch open = append(open, tok.Name.Local); {
			case in("packages>package>classes>class"):
				file = coberturaFile(attr(tok, "filename"), sources, at)
			case in("classes>class>lines>line"):
				p.hit(file, atoi(attr(tok, "number")), atoi(attr(tok, "hits")))
			}
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if in("sources>source") && len(sources) < maxSources {
				sources = append(sources, strings.TrimSpace(string(tok)))
			}
		}
	}
}

// coberturaFile is the file that a report names below one of its sources.
func coberturaFile(name string, sources []string, at paths) string {
	for _, s := range sources {
		if in := at.file(path.Join(s, name)); !path.IsAbs(in) && path.IsAbs(s) {
			return in
		}
	}
	return at.file(name)
}

// Bounds of what the processes of one command write of the lines that ran.
const (
	maxV8Files = 5000
	maxV8Bytes = 256 << 20
)

// v8 reads the reports of every process of node below dir. Ranges are offsets
// into the file as it was run, so that only files which no tool rewrites count.
// Of the files that were asked for, one that no process loaded ran nowhere.
func (p *profile) v8(out *os.Root, dir string, checkout *os.Root, at paths, asked []string) {
	names, err := fs.Glob(out.FS(), dir+"/*.json")
	if err != nil || len(names) > maxV8Files {
		return
	}
	seen, left := map[string]bool{}, &allowance{left: maxV8Bytes}
	left.each(out, func(doc io.Reader) {
		j := newJSON(doc)
		_ = j.object(func(key string) error { // what is cut counts as far as it goes
			if key != "result" {
				return j.skip()
			}
			return j.array(func() error { return p.v8Script(j, checkout, at, seen, asked) })
		})
	}, names...)
	for _, f := range asked {
		if len(names) > 0 && !seen[f] && path.Ext(f) != ".py" {
			newScript(readSome(checkout, filepath.FromSlash(f), maxTestSource)).into(p, f)
		}
	}
}

// v8Script reads what ran of one script: its address comes before its functions.
func (p *profile) v8Script(j *jsonReader, checkout *os.Root, at paths, seen map[string]bool, asked []string) error {
	var s *script
	rel := ""
	err := j.object(func(key string) error {
		switch {
		case key == "url":
			url, err := j.word()
			file, ok := strings.CutPrefix(url, "file://")
			if rel = at.file(file); !ok || err != nil {
				return err
			}
			switch path.Ext(rel) {
			case ".js", ".cjs", ".mjs":
				if slices.Contains(asked, rel) {
					seen[rel] = true
				}
				if !path.IsAbs(rel) && !thirdParty(rel) {
					s = newScript(readSome(checkout, filepath.FromSlash(rel), maxTestSource))
				}
			}
			return nil
		case key == "functions" && s != nil:
			return j.array(func() error {
				s.functions++
				return j.object(func(key string) error {
					if key != "ranges" {
						return j.skip()
					}
					return j.array(func() error { return s.readRange(j) })
				})
			})
		}
		return j.skip()
	})
	if err == nil && s != nil {
		s.into(p, rel)
	}
	return err
}

// script is a script in what node writes for NODE_V8_COVERAGE. A line ran as
// often as the innermost range that holds all of it.
type script struct {
	src       []byte
	lines     []scriptLine
	functions int
	ranges    int
	rewritten bool // what ran is another text than the file's
}

type scriptLine struct {
	from, to int32
	ran      bool
}

// maxScriptLines bounds the lines of a script.
const maxScriptLines = 1 << 18

func newScript(src []byte) *script {
	s := &script{src: src}
	offset := 0
	for line := range bytes.Lines(src) {
		text := string(line)
		body := strings.TrimRight(text, "\r\n")
		lead := len(body) - len(strings.TrimLeft(body, " \t"))
		if len(s.lines) < maxScriptLines {
			s.lines = append(s.lines, scriptLine{from: int32(offset + lead), to: int32(offset + units(body))})
		}
		offset += units(text)
	}
	return s
}

// readRange takes one range; the first is the file as a whole.
func (s *script) readRange(j *jsonReader) error {
	at := map[string]int{}
	err := j.object(func(key string) (err error) {
		switch key {
		case "startOffset", "endOffset", "count":
			at[key], err = j.number()
			return err
		}
		return j.skip()
	})
	start, end := at["startOffset"], at["endOffset"]
	if s.ranges++; s.ranges == 1 {
		s.rewritten = s.functions != 1 || start != 0 || end != units(string(s.src))
	}
	first, _ := slices.BinarySearchFunc(s.lines, start, func(l scriptLine, at int) int { return int(l.from) - at })
	for i := first; i < len(s.lines) && int(s.lines[i].from) < max(end, start+1); i++ {
		if int(s.lines[i].to) <= end {
			s.lines[i].ran = at["count"] > 0
		}
	}
	return err
}

// into counts the lines that hold something to run.
func (s *script) into(p *profile, file string) {
	if s.rewritten || s.functions > 0 && s.ranges == 0 {
		return
	}
	n := 0
	for text := range bytes.Lines(s.src) {
		if n >= len(s.lines) {
			return
		}
		if t := strings.TrimSpace(string(text)); t != "" && !strings.HasPrefix(t, "//") && !strings.HasPrefix(t, "*") && !strings.HasPrefix(t, "/*") && strings.Trim(t, "{}()[];, ") != "" {
			count := 0
			if s.lines[n].ran {
				count = 1
			}
			p.hit(file, n+1, count)
		}
		n++
	}
}

// units is the length of a text as JavaScript counts it.
func units(s string) int {
	n := 0
	for _, r := range s {
		if n++; r > 0xffff && r != utf8.RuneError {
			n++
		}
	}
	return n
}
