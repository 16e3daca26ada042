package node

import (
	"bytes"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"agency/internal/ecosystem"
	"agency/internal/testreport"
)

// maxV8Files bounds what the processes of one command write of the lines that ran.
const maxV8Files = 5000

// readV8 reads what every process of node wrote. Ranges are offsets into the file as
// it was run, so that only files which no tool rewrites count. Of the files that were
// asked for, one that no process loaded ran nowhere.
func readV8(m ecosystem.Measured) {
	v := v8Reader{m, map[string]bool{}}
	n := m.Each("-v8/*.json", maxV8Files, func(doc io.Reader) {
		j := testreport.NewJSON(doc)
		_ = j.Object(func(key string) error { // what is cut counts as far as it goes
			if key != "result" {
				return j.Skip()
			}
			return j.Array(func() error { return v.script(j) })
		})
	})
	for _, f := range m.Asked {
		if n > 0 && !v.seen[f] {
			newScript(v.source(f)).into(m.Profile, f)
		}
	}
}

// v8Reader reads the reports of the processes of one call.
type v8Reader struct {
	ecosystem.Measured
	seen map[string]bool // files that were asked for and loaded
}

// source is a file of the checkout.
func (v v8Reader) source(name string) []byte {
	return ecosystem.Head(v.Repo, filepath.FromSlash(name), maxScript)
}

// script reads what ran of one script: its address comes before its functions.
func (v v8Reader) script(j *testreport.JSON) error {
	var s *script
	rel := ""
	err := j.Object(func(key string) error {
		switch {
		case key == "url":
			url, err := j.Word()
			file, ok := strings.CutPrefix(url, "file://")
			if rel = v.At.File(file); !ok || err != nil {
				return err
			}
			switch path.Ext(rel) {
			case ".js", ".cjs", ".mjs":
				if slices.Contains(v.Asked, rel) {
					v.seen[rel] = true
				}
				if !path.IsAbs(rel) && !ecosystem.InOthersFolder(rel) {
					src := v.source(rel)
					if !v.Profile.Left.Spend(testreport.ScanSteps*int64(len(src)) + testreport.ClockEvery) {
						return testreport.ErrJSON
					}
					s = newScript(src)
				}
			}
			return nil
		case key == "functions" && s != nil:
			return j.Array(func() error {
				s.functions++
				return j.Object(func(key string) error {
					if key != "ranges" {
						return j.Skip()
					}
					return j.Array(func() error {
						n, err := s.readRange(j)
						if !v.Profile.Left.Spend(n) {
							err = testreport.ErrJSON
						}
						return err
					})
				})
			})
		}
		return j.Skip()
	})
	if err == nil && s != nil {
		s.into(v.Profile, rel)
	}
	return err
}

// script is a script in what node writes for NODE_V8_COVERAGE. A line ran as
// often as the innermost range that holds all of it.
type script struct {
	src       []byte
	units     int // its length as JavaScript counts it
	lines     []scriptLine
	functions int
	ranges    int
	rewritten bool // what ran is another text than the file's
}

type scriptLine struct {
	from, to int32
	ran      bool
}

// Bounds of a script: of its bytes and of its lines.
const (
	maxScript      = 4 << 20
	maxScriptLines = 1 << 18
)

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
	s.units = offset
	return s
}

// readRange takes one range, and tells how many lines it holds; the first is the
// file as a whole.
func (s *script) readRange(j *testreport.JSON) (lines int64, err error) {
	at := map[string]int{}
	err = j.Object(func(key string) (err error) {
		switch key {
		case "startOffset", "endOffset", "count":
			at[key], err = j.Number()
			return err
		}
		return j.Skip()
	})
	start, end := at["startOffset"], at["endOffset"]
	if s.ranges++; s.ranges == 1 {
		s.rewritten = s.functions != 1 || start != 0 || end != s.units
	}
	first, _ := slices.BinarySearchFunc(s.lines, start, func(l scriptLine, at int) int { return int(l.from) - at })
	for i := first; i < len(s.lines) && int(s.lines[i].from) < max(end, start+1); i++ {
		if int(s.lines[i].to) <= end {
			s.lines[i].ran = at["count"] > 0
		}
		lines++
	}
	return lines, err
}

// into counts the lines that hold something to run.
func (s *script) into(p *testreport.Profile, file string) {
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
			p.Hit(file, n+1, count)
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
