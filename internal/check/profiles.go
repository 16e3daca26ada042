package check

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

var goBlock = regexp.MustCompile(`^(.+):(\d+)\.\d+,(\d+)\.\d+ (\d+) (\d+)$`)

// goProfile reads a cover profile of Go: blocks of statements.
func (p profile) goProfile(doc []byte, modules []goModule) {
	for line := range strings.Lines(string(doc)) {
		m := goBlock.FindStringSubmatch(strings.TrimSpace(line))
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
func (p profile) lcov(doc []byte, at paths) {
	file := ""
	for line := range strings.Lines(string(doc)) {
		line = strings.TrimSpace(line)
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
func (p profile) reports(checkout *os.Root, at paths) {
	for _, name := range []string{"lcov.info", "coverage/lcov.info", "target/llvm-cov/lcov.info"} {
		p.lcov(readSome(checkout, name, maxOutBytes), at)
	}
	for _, name := range []string{"coverage.xml", "cobertura.xml", "coverage/cobertura-coverage.xml"} {
		if doc := readSome(checkout, name, maxReport); len(doc) > 0 {
			_ = p.cobertura(doc, at) // another kind of XML has no lines
		}
	}
}

// cobertura reads the lines of a Cobertura report.
func (p profile) cobertura(doc []byte, at paths) error {
	var report struct {
		Sources []string `xml:"sources>source"`
		Classes []struct {
			File  string `xml:"filename,attr"`
			Lines []struct {
				Number int `xml:"number,attr"`
				Hits   int `xml:"hits,attr"`
			} `xml:"lines>line"`
		} `xml:"packages>package>classes>class"`
	}
	if err := xml.Unmarshal(doc, &report); err != nil {
		return fmt.Errorf("cobertura: %w", err)
	}
	for _, c := range report.Classes {
		file := at.file(c.File)
		for _, s := range report.Sources {
			if in := at.file(path.Join(strings.TrimSpace(s), c.File)); !path.IsAbs(in) && path.IsAbs(strings.TrimSpace(s)) {
				file = in
				break
			}
		}
		for _, l := range c.Lines {
			p.hit(file, l.Number, l.Hits)
		}
	}
	return nil
}

// v8Script is a script in what node writes for NODE_V8_COVERAGE.
type v8Script struct {
	URL       string `json:"url"`
	Functions []struct {
		Ranges []struct {
			Start int `json:"startOffset"`
			End   int `json:"endOffset"`
			Count int `json:"count"`
		} `json:"ranges"`
	} `json:"functions"`
}

// Bounds of what the processes of one command write of the lines that ran.
const (
	maxV8Files = 5000
	maxV8Bytes = 256 << 20
)

// v8 reads the reports of every process of node below dir. Ranges are offsets
// into the file as it was run, so that only files which no tool rewrites count.
// Of the files that were asked for, one that no process loaded ran nowhere.
func (p profile) v8(out *os.Root, dir string, checkout *os.Root, at paths, asked []string) {
	names, err := fs.Glob(out.FS(), dir+"/*.json")
	if err != nil || len(names) > maxV8Files {
		return
	}
	seen, left := map[string]bool{}, int64(maxV8Bytes)
	for _, name := range names {
		var doc struct {
			Result []v8Script `json:"result"`
		}
		text := readSome(out, name, maxOutBytes)
		if left -= int64(len(text)); left < 0 {
			return
		}
		if json.Unmarshal(text, &doc) != nil {
			continue
		}
		for _, s := range doc.Result {
			file, ok := strings.CutPrefix(s.URL, "file://")
			if !ok {
				continue
			}
			rel := at.file(file)
			switch path.Ext(rel) {
			case ".js", ".cjs", ".mjs":
				if seen[rel] = true; !path.IsAbs(rel) && !thirdParty(rel) {
					p.script(s, rel, readSome(checkout, filepath.FromSlash(rel), maxTestSource))
				}
			}
		}
	}
	for _, f := range asked {
		if len(names) > 0 && !seen[f] && path.Ext(f) != ".py" {
			p.script(v8Script{}, f, readSome(checkout, filepath.FromSlash(f), maxTestSource))
		}
	}
}

// rewritten tells whether what ran is another text than the file's.
func (s v8Script) rewritten(src string) bool {
	if len(s.Functions) == 0 || len(s.Functions[0].Ranges) == 0 {
		return len(s.Functions) > 0
	}
	whole := s.Functions[0].Ranges[0]
	return whole.Start != 0 || whole.End != units(src)
}

// script counts the lines of one script: a line ran as often as the innermost
// range that holds all of it.
func (p profile) script(s v8Script, file string, src []byte) {
	if s.rewritten(string(src)) {
		return
	}
	ran := min(len(s.Functions), 1) // the file as a whole
	type line struct{ from, to, count int }
	var lines []line
	offset := 0
	for text := range strings.Lines(string(src)) {
		body := strings.TrimRight(text, "\r\n")
		lead := len(body) - len(strings.TrimLeft(body, " \t"))
		lines = append(lines, line{offset + lead, offset + units(body), ran})
		offset += units(text)
	}
	for _, f := range s.Functions {
		for _, r := range f.Ranges {
			for i := range lines {
				if lines[i].from >= r.Start && lines[i].to <= r.End {
					lines[i].count = r.Count
				}
			}
		}
	}
	n := 0
	for text := range strings.Lines(string(src)) {
		if t := strings.TrimSpace(text); t != "" && !strings.HasPrefix(t, "//") && !strings.HasPrefix(t, "*") && !strings.HasPrefix(t, "/*") && strings.Trim(t, "{}()[];, ") != "" {
			p.hit(file, n+1, lines[n].count)
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
