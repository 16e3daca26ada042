package testreport

import (
	"bytes"
	"io"
	"slices"
	"strconv"
	"strings"

	"agency/internal/agency"
	"agency/internal/regexp"
	"agency/internal/text"
)

// TAP (testanything.org, versions 12 to 14), as tape, node-tap, node:test, bats
// and prove print it.
var (
	tapVersion = regexp.MustCompile(`^TAP version 1[234]\s*$`)
	tapPlan    = regexp.MustCompile(`^1\.\.(\d+)(?:\s*#\s*(.*))?$`)
	tapPoint   = regexp.MustCompile(`^(not )?ok\b(?:\s+(\d+))?(?:\s+-)?\s*(.*)$`)
	tapTitle   = regexp.MustCompile(`^# (\S.*)$`)
	tapSubtest = regexp.MustCompile(`^# Subtest:?(?:\s+(.*))?$`)
	tapSkipped = regexp.MustCompile(`^SKIP (.+)$`)
	// A directive ends a name; what else follows a sign, such as the number of an
	// issue, belongs to it.
	tapNote = regexp.MustCompile(`(?i)(?:^|\s+)#\s*(?:skip|todo)\b.*$`)
	tapTime = regexp.MustCompile(`(?i)(?:^|\s+)#\s*(?:time|duration(?:_ms)?)\s*[=:]\s*[\d.]+\s*(?:m|u|µ|n)?s?\s*$`)
	ansi    = regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]`)
)

// tapSpace is what a regular expression takes for white.
const tapSpace = " \t\n\v\f\r"

// tapIndent is how far the points of a subtest stand to the right of its own.
const tapIndent = 4

// tapBegins are what a line of a document can begin with, colours included: all
// others cost no look.
const tapBegins = "#}1onB- T\x1b"

// maxTapDepth bounds how deep subtests are read.
const maxTapDepth = 64

// ReadTAP adds the points of a document to t, those of subtests by the names of
// their parents. ok is false where the text does not begin as TAP does; complete
// where the plan is kept. Text between the points is passed over, and so are
// points of subtests that nothing announced: their parent counts. What a test
// prints on standard output stands in the same stream: a point whose number was
// already used is not believed over a failed one, and what passed in a subtest
// counts where the point that ends it bears its name.
func ReadTAP(text io.Reader, p Paths, t *Tally) (complete, ok bool) {
	d := tapDocument{plan: -1, p: p, t: t, seen: map[string]int{}}
	for raw := range Lines(text) {
		if d.begun && d.details == "" && !bytes.ContainsAny(raw[:1], tapBegins) {
			d.titles.failed = false
			continue
		}
		line := PlainLine(raw)
		if d.inDetails(line) {
			continue
		}
		d.titles.see(line, d.plan < 0, p, t)
		switch {
		case !d.begun:
			if d.begun = tapVersion.MatchString(line) || tapPlan.MatchString(line); d.begun {
				d.points = 0
				d.line(line)
			} else if d.points++; d.points > 50 || tapPoint.MatchString(line) {
				return false, false
			}
		case strings.HasPrefix(line, "Bail out!"):
			d.end(0, "")
			t.Add(p.Local("bail out")+PackageFailed, agency.TestFailed, Whole(line))
			return false, true
		case d.another(line):
			d.end(0, "")
			d.before += d.points
			d.plan, d.points, d.behind = -1, 0, false
			d.line(line)
		default:
			d.line(line)
		}
	}
	d.end(0, "")
	return d.begun && d.plan >= 0 && d.points == d.plan, d.begun && (d.before+d.points > 0 || d.plan == 0)
}

// another tells whether a line begins another document, as when programs of tests
// run one after the other: all that was planned has come, and there is a version,
// a plan, or, where the plan stood behind its points, a first point.
func (d *tapDocument) another(line string) bool {
	if d.plan < 0 || d.points != d.plan {
		return false
	}
	m := tapPoint.FindStringSubmatch(line)
	return tapVersion.MatchString(line) || tapPlan.MatchString(line) || d.behind && m != nil && m[2] == "1"
}

// tapDocument is how far a document is read.
type tapDocument struct {
	p            Paths
	t            *Tally
	begun        bool
	plan, points int  // of the document itself
	before       int  // points of the documents before it
	behind       bool // its plan stood behind its points
	titles       tapTitles
	open         []tapOpen // the subtests that are open, from the outside in
	held         []tapHeld // their points
	heldNames    int       // bytes of their names
	details      string    // the indent of a block of details; empty: in none
	seen         map[string]int
}

// tapOpen is a subtest that has begun.
type tapOpen struct {
	name string
	from int // of held, its first point
	// named: its own point came before it, and not behind.
	named bool
}

// tapHeld is a point of a subtest whose end has not been seen.
type tapHeld struct {
	name   string
	status agency.TestStatus
}

// begin opens a subtest at a depth; what was open there ends without its point.
func (d *tapDocument) begin(depth int, name string, named bool) {
	d.end(depth, "")
	d.open = append(d.open, tapOpen{name: name, from: len(d.held), named: named})
}

// end closes the subtests from a depth on by a point of this name, or by none.
// One that is not closed under its name was not the writer's: what passed in it
// is dropped.
func (d *tapDocument) end(depth int, name string) {
	for i := len(d.open) - 1; i >= depth; i-- {
		o := d.open[i]
		if o.named || i == depth && name != "" && (o.name == name || o.name == "") {
			continue
		}
		red := slices.DeleteFunc(slices.Clone(d.held[o.from:]), func(h tapHeld) bool { return h.status == agency.TestPassed })
		d.held = append(d.held[:o.from], red...)
	}
	if d.open = d.open[:depth]; depth == 0 {
		d.release()
	}
}

// release hands on what is held.
func (d *tapDocument) release() {
	for _, h := range d.held {
		d.t.Add(d.p.Local(h.name), h.status, nil)
	}
	d.held, d.heldNames = d.held[:0], 0
}

// inDetails tells whether a line belongs to the details of a point, which may
// hold any text.
func (d *tapDocument) inDetails(line string) bool {
	plain := strings.TrimLeft(line, " ")
	indent := line[:len(line)-len(plain)]
	switch {
	case d.details == "" && plain == "---" && len(indent)%tapIndent == 2:
		d.details = indent
		return true
	case d.details == "":
		return false
	case line == d.details+"...":
		d.details = ""
		return true
	case !strings.HasPrefix(line, d.details) && plain != "": // it was never closed
		d.details = ""
		return false
	}
	return true
}

func (d *tapDocument) line(line string) {
	plain := strings.TrimLeft(line, " ")
	depth := (len(line) - len(plain)) / tapIndent
	if (len(line)-len(plain))%tapIndent != 0 || depth > len(d.open) {
		return
	}
	if depth > maxTapDepth {
		return
	}
	switch {
	case plain == "":
	case plain[0] == '#':
		if m := tapSubtest.FindStringSubmatch(plain); m != nil {
			d.begin(depth, pointName(m[1]), false)
		}
	case plain == "}":
		d.end(depth, "")
	case plain[0] == '1':
		if m := tapPlan.FindStringSubmatch(plain); m != nil && d.plan < 0 && depth == 0 {
			if n, err := strconv.Atoi(m[1]); err == nil {
				d.plan, d.behind = n, d.points > 0
			}
		}
	default:
		d.read(plain, depth)
	}
}

// read takes a line that may be a point.
func (d *tapDocument) read(plain string, depth int) {
	if !strings.HasPrefix(plain, "ok") && !strings.HasPrefix(plain, "not ok") {
		return
	}
	m := tapPoint.FindStringSubmatch(plain)
	if m == nil {
		return
	}
	if depth == 0 {
		d.points++
	}
	name := pointName(m[3])
	d.end(depth, name) // its own subtests have ended
	d.point(m, name)
	if opens(plain) { // its subtests follow
		d.begin(depth, name, true)
	}
}

// opens tells a line behind which subtests stand in braces.
func opens(line string) bool { return strings.HasSuffix(strings.TrimRight(line, tapSpace), "{") }

// point adds a point under its own name.
func (d *tapDocument) point(m []string, own string) {
	status := agency.TestPassed
	if m[1] != "" {
		status = agency.TestFailed
	}
	if strings.Contains(m[3], "#") && tapNote.MatchString(m[3]) {
		status = agency.TestSkipped
	}
	above, name := make([]string, len(d.open)), own
	for i, o := range d.open {
		above[i] = o.name
	}
	if len(above) == 0 && d.titles.title != "" {
		above = []string{d.titles.title}
	}
	switch {
	case len(above) > 0 && name == "": // its number is of the whole document
		name = "unnamed"
	case name == "":
		name = "test " + m[2]
	}
	name = d.t.Number(d.seen, strings.Join(append(above, name), Separator))
	if d.heldNames += len(name); len(d.held) == MaxTests || d.heldNames > MaxNames {
		d.t.Dropped++
		return
	}
	if d.held = append(d.held, tapHeld{name, status}); len(d.open) == 0 {
		d.release()
	}
}

// pointName is a point's name without what is said of it behind.
func pointName(point string) string {
	if opens(point) {
		point = strings.TrimRight(strings.TrimSuffix(strings.TrimRight(point, tapSpace), "{"), tapSpace)
	}
	if strings.Contains(point, "#") {
		if loc := tapNote.FindStringIndex(point); loc != nil {
			point = point[:loc[0]]
		}
		point = tapTime.ReplaceAllString(point, "")
	}
	return text.OneLine(strings.ReplaceAll(point, `\#`, "#"), 500)
}

// tapTitles are the names of tape's tests, which it writes as comments above
// their points. Comments of other writers are not taken for titles: those of a
// failed point follow it at once, and a document whose plan comes first is not
// tape's.
type tapTitles struct {
	title             string
	versioned, failed bool
}

func (s *tapTitles) see(line string, noPlan bool, p Paths, t *Tally) {
	failed := s.failed
	s.failed = strings.HasPrefix(line, "not ok")
	if strings.HasPrefix(line, "TAP ") && tapVersion.MatchString(line) {
		s.versioned = true
	}
	if !strings.HasPrefix(line, "# ") {
		return
	}
	m := tapTitle.FindStringSubmatch(line)
	if m == nil {
		return
	}
	s.failed = failed // one comment more of the same point
	switch {
	case failed || !s.versioned || !noPlan || tapSubtest.MatchString(line) || tapTime.MatchString(line):
	case tapSkipped.MatchString(m[1]):
		t.Add(p.Local(text.OneLine(tapSkipped.FindStringSubmatch(m[1])[1], 500)), agency.TestSkipped, nil)
		s.title = ""
	default:
		s.title = text.OneLine(m[1], 500)
	}
}
