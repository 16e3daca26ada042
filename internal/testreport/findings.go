package testreport

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"path"
	"strconv"
	"strings"

	"agency/internal/regexp"
	"agency/internal/text"
)

// Finding is one thing that a red command complains of, however often: two of
// one file and text are the same, wherever they stand in it.
type Finding struct {
	File string `json:"file,omitempty"` // empty: a line of output that names no place
	Text string `json:"text"`           // without what moves: line numbers, times, temporary folders
	N    int    `json:"n"`
}

// String is the finding as people read it.
func (f Finding) String() string {
	if f.File == "" {
		return f.Text
	}
	return f.File + ": " + f.Text
}

// Findings are what a red command complains of.
type Findings struct {
	List []Finding `json:"list,omitempty"` // in the order of the output, each once
	// Read tells that the output was read as findings with their places. Else its
	// lines are in List.
	Read bool `json:"read,omitempty"`
	// Cut tells that a part of the output is not in List.
	Cut bool `json:"cut,omitempty"`
	// Lines are those of the findings of List that name one, the first few of each.
	Lines [][]int `json:"lines,omitempty"`
}

// Bounds of what is kept of an output.
const (
	maxFindings    = 20_000
	maxFindingText = 400 // bytes
	// maxFindingLines are the lines that are kept of one.
	maxFindingLines = 20
)

// The forms in which compilers, linters and type checkers say where: file:line,
// as of Go, gcc, javac, mypy, ruff, flake8, golangci-lint and Maven; file(line),
// as of tsc; the place below the message, as of rustc, clippy and ruff; the place
// above it, as of eslint and stylelint; in words, as of eslint's compact form.
var (
	colonPlace = regexp.MustCompile(`^(?:\[?(?i:error|warning|warn|vet|info|e|w)\]?:?\s+)?([^\s:(){}\[\]"'<>|=,]+):\[?(\d+)(?:[:,.]\d+)?(?:-\d+(?:[:.]\d+)?)?\]?(?::\s*|\s+-\s+|\s+)(\S.*)$`)
	parenPlace = regexp.MustCompile(`^([^\s:()"'<>|]+)\((\d+)(?:,\d+){0,3}\)\s*:?\s*(\S.*)$`)
	wordPlace  = regexp.MustCompile(`^([^\s:()"'<>|]+): line (\d+), col \d+, (\S.*)$`)
	belowPlace = regexp.MustCompile(`^\s*--> ([^\s:]+):(\d+)(?::\d+)?\s*$`)
	underFile  = regexp.MustCompile(`^\s+(\d+)(?::\d+)?\s+(\S.*)$`)
)

// errorWords are in lines that say that something is wrong.
var errorWords = regexp.MustCompile(`(?i)\b(?:errors?|fail(?:s|ed|ures?|ing)?|fatal|panic|cannot|can't|could not|undefined|unresolved|not found|no such|missing|invalid|unexpected|exceptions?|traceback|denied|killed|crash(?:ed)?|diff in|problems?|issues?)\b`)

// progress are lines that say what was done or went well, or that sum up what
// others say.
var progress = regexp.MustCompile(`^(?:go: (?:downloading|finding|extracting)\b|npm (?:warn|notice|error|WARN|ERR!)|> |\[INFO\]|level=(?:info|warn)|# ` +
	`|\s*(?:Compiling|Checking|Finished|Fresh|Downloading|Downloaded|Updating|Locking|Blocking|Building|Running|Documenting)\b` +
	`|Found \d+ errors?\b|error: (?:could not compile|aborting due to)|Some errors have detailed|For more information about this error|warning: .* generated \d+ warning` +
	`|g?make(?:\[\d+\])?: (?:\*\*\* \[|Entering|Leaving|Nothing)|exit status \d+$|\s*ELIFECYCLE` +
	`|(?:ok|\?)\s+\S+\s|\s*(?:--- PASS|=== RUN|PASS|PASSED|✓|✔|√|ok \d+)(?:\W|$))`)

// counted are how many of something bad a line tells of.
var counted = regexp.MustCompile(`(?i)\b(\d+)\s+(?:[a-z]+\s+)?(?:failed|failures?|failing|errors?|problems?|issues?|warnings?|broken)\b|\b(?:failed|failures?|failing|errors?|problems?|issues?|warnings?|broken)\s*[:=]\s*(\d+)\b`)

// letters are a line of a letter a test: what came before it, and the letters.
var letters = regexp.MustCompile(`^(\S+\s+)?([.FEsSxX*]+)(?:\s*\[\s*\d+%\])?$`)

// ReadFindings reads the whole output of a red command. roots are where the
// checkout was seen, cut that bytes of the output are missing.
func ReadFindings(text io.Reader, roots []string, cut bool) Findings {
	r := findingReader{roots: roots, found: newFindings(), beside: newFindings(), plain: newFindings()}
	for line := range Lines(text) {
		r.line(PlainLine(line))
	}
	r.heads("")
	out := Findings{Read: len(r.found.list) > 0, Cut: cut}
	if !out.Read {
		out.List, out.Cut = r.plain.list, cut || r.plain.full
		return out
	}
	for _, f := range r.beside.list {
		r.found.add(Finding{File: f.File, Text: f.Text}, f.N)
	}
	out.List, out.Lines, out.Cut = r.found.list, r.found.lines, cut || r.found.full || r.beside.full
	return out
}

// findingReader reads an output line by line.
type findingReader struct {
	roots []string
	found tallyFindings
	// What holds no finding counts in one of two ways, which the end tells: all
	// lines where there is no finding, and beside findings those that say on their
	// own that something is wrong; what is indented shows the code of one.
	plain, beside tallyFindings
	head          string // the last line at the margin, while what follows can belong to it
	claimed       bool   // it does
}

// heads takes the next line at the margin, or none: what the last one is, is
// known by now.
func (r *findingReader) heads(line string) {
	if h := r.head; h != "" && !r.claimed && (errorWords.MatchString(h) || looksLikeFile(strings.TrimPrefix(h, "[warn] "))) {
		r.beside.addLine(r.moving(h))
	}
	r.head, r.claimed = line, false
}

// rest takes a line that holds no finding.
func (r *findingReader) rest(line string) {
	if len(r.found.list) == 0 {
		r.plain.addLine(r.moving(line))
	}
}

func (r *findingReader) line(line string) {
	line = strings.ReplaceAll(line, "file:///", "/")
	if m := belowPlace.FindStringSubmatch(line); m != nil && looksLikeFile(m[1]) {
		text := r.claim()
		if text == "" {
			text = "here"
		}
		r.add(m[1], text, m[2])
		r.heads("")
		return
	}
	if m := underFile.FindStringSubmatch(line); m != nil && looksLikeFile(r.head) {
		r.add(r.claim(), m[2], m[1])
		return
	}
	for _, form := range []*regexp.Regexp{colonPlace, parenPlace, wordPlace} {
		if m := form.FindStringSubmatch(line); m != nil && looksLikeFile(m[1]) {
			r.add(m[1], m[3], m[2])
			r.heads("")
			return
		}
	}
	switch trimmed := strings.TrimSpace(line); {
	case trimmed == "":
		r.heads("")
	case progress.MatchString(line):
	case line[0] == ' ', line[0] == '\t', gutter.MatchString(line):
		r.rest(gutter.ReplaceAllString(line, "|"))
	default:
		r.heads(trimmed)
		r.rest(trimmed)
	}
}

// claim is the last line at the margin, as a part of a finding.
func (r *findingReader) claim() string {
	r.claimed = true
	return r.head
}

func (r *findingReader) add(file, text, line string) {
	f := Finding{File: path.Clean(r.moving(file)), Text: r.moving(text)}
	r.found.add(f, 1)
	at, known := r.found.at[f]
	if n, err := strconv.Atoi(line); known && err == nil {
		r.found.note(at, n)
	}
}

// gutter is the number of a line beside shown code.
var gutter = regexp.MustCompile(`^\s*\d+\s*\|`)

// fileExt ends the name of a file in which something can be wrong.
var fileExt = regexp.MustCompile(`\.[A-Za-z][\w+-]{0,14}$`)

// looksLikeFile tells whether a word is the path of a file.
func looksLikeFile(s string) bool {
	if s == "" || strings.ContainsAny(s, " \t") || strings.Contains(s, "//") || strings.HasPrefix(s, "-") {
		return false
	}
	base := path.Base(s)
	return fileExt.MatchString(base) || strings.HasSuffix(base, "file") && base != "file"
}

// Parts of a line that change from run to run, or with every edit.
var (
	placeIn   = regexp.MustCompile(`(\.\w+):\d+(?::\d+)?`)
	lineWord  = regexp.MustCompile(`(?i)\b(lines?|columns?|col) \d+(?:-\d+)?`)
	address   = regexp.MustCompile(`\b0x[0-9a-fA-F]{4,}\b`)
	stamp     = regexp.MustCompile(`\b\d{4}[-/]\d\d[-/]\d\d(?:[T_ ]\d\d[:.]?\d\d(?:[:.]?\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)?|\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b`)
	took      = regexp.MustCompile(`(?i)\b\d+(?:\.\d+)?\s?(?:ns|µs|us|ms|s|sec|secs|seconds?|min|minutes?)\b`)
	tempPath  = regexp.MustCompile(`(?:/private)?/(?:tmp|var/tmp|var/folders|dev/shm)/[^\s:'"),;]+`)
	ident     = regexp.MustCompile(`\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b`)
	digits    = regexp.MustCompile(`\d+`)
	plural    = regexp.MustCompile(`(# (?:[a-z]+ )?[a-z]+?)s\b`)
	processID = regexp.MustCompile(`(?i)\b(pid|process|goroutine|thread) #?\d+`)
)

// moving takes out of a text what changes without a change of what it says.
func (r *findingReader) moving(s string) string {
	for _, root := range r.roots {
		if root != "" {
			s = strings.ReplaceAll(s, root+"/", "")
		}
	}
	s = tempPath.ReplaceAllString(s, "/tmp/#")
	s = stamp.ReplaceAllString(s, "#time")
	s = took.ReplaceAllString(s, "#time")
	s = address.ReplaceAllString(s, "0x#")
	s = ident.ReplaceAllString(s, "#id")
	s = processID.ReplaceAllString(s, "$1 #")
	s = placeIn.ReplaceAllString(s, "$1")
	s = lineWord.ReplaceAllString(s, "$1 #")
	return shortText(strings.Join(strings.Fields(s), " "))
}

// shortText bounds a text; what is left out still tells it from others.
func shortText(s string) string {
	if len(s) <= maxFindingText {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	return strings.ToValidUTF8(s[:maxFindingText-20], "") + text.Ellipsis + " " + hex.EncodeToString(sum[:6])
}

// tallyFindings counts findings in the order in which they came.
type tallyFindings struct {
	list  []Finding
	lines [][]int // of those of list that have some
	at    map[Finding]int
	full  bool
}

// note notes a line of a finding.
func (t *tallyFindings) note(at, line int) {
	for len(t.lines) <= at {
		t.lines = append(t.lines, nil)
	}
	if len(t.lines[at]) < maxFindingLines {
		t.lines[at] = append(t.lines[at], line)
	}
}

func newFindings() tallyFindings { return tallyFindings{at: map[Finding]int{}} }

func (t *tallyFindings) add(f Finding, n int) {
	if i, ok := t.at[f]; ok {
		t.list[i].N += n
		return
	}
	if len(t.list) >= maxFindings {
		t.full = true
		return
	}
	t.at[f] = len(t.list)
	f.N = n
	t.list = append(t.list, f)
}

// addLine adds a line as a finding; one that tells how many there are counts for
// as many, and of one that tells of nothing bad no number counts.
func (t *tallyFindings) addLine(line string) {
	if line == "" {
		return
	}
	if m := letters.FindStringSubmatch(line); m != nil {
		if n := strings.Count(m[2], "F") + strings.Count(m[2], "E"); n > 0 {
			t.add(Finding{Text: m[1] + "F"}, n)
		}
		return
	}
	n := 1
	if all := counted.FindAllStringSubmatch(line, -1); len(all) > 0 {
		n = 0
		for _, m := range all {
			many, err := strconv.Atoi(m[1] + m[2])
			if err != nil {
				many = 1
			}
			n += many
		}
		if n == 0 {
			return
		}
		line = plural.ReplaceAllString(digits.ReplaceAllString(line, "#"), "$1")
	} else if !errorWords.MatchString(line) {
		line = digits.ReplaceAllString(line, "#")
	}
	t.add(Finding{Text: line}, n)
}
