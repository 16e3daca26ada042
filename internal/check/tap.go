package check

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"agency/internal/agency"
)

// TAP (testanything.org, versions 12 to 14), as tape, node-tap, bats and prove
// print it.
var (
	tapVersion = regexp.MustCompile(`^TAP version 1[234]\s*$`)
	tapPlan    = regexp.MustCompile(`^1\.\.(\d+)(?:\s*#\s*(.*))?$`)
	tapPoint   = regexp.MustCompile(`^(not )?ok\b(?:\s+(\d+))?(?:\s+-)?\s*(.*)$`)
	tapTitle   = regexp.MustCompile(`^# (\S.*)$`)
	tapSkipped = regexp.MustCompile(`^SKIP (.+)$`)
	tapNote    = regexp.MustCompile(`(?i)\s+#\s*(skip|todo)\b.*$`)
	ansi       = regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]`)
)

// parseTAP adds the points of a document to t. ok is false where the text does
// not begin as TAP does; complete where the plan is kept. Text between the
// points is passed over, and so are points of subtests: their parent counts.
// What a test prints on standard output stands in the same stream: a point
// whose number was already used is not believed over a failed one.
func parseTAP(text []byte, p paths, t *tally) (complete, ok bool) {
	plan, points, begun := -1, 0, false
	seen := map[string]int{}
	var titles tapTitles
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(ansi.ReplaceAllString(line, ""), "\r\n")
		titles.see(line, plan < 0, p, t)
		if !begun {
			begun = tapVersion.MatchString(line) || tapPlan.MatchString(line)
			if !begun {
				if points++; points > 50 || tapPoint.MatchString(line) {
					return false, false
				}
				continue
			}
			points = 0
		}
		if m := tapPlan.FindStringSubmatch(line); m != nil {
			if n, err := strconv.Atoi(m[1]); err == nil && plan < 0 {
				plan = n
			}
			continue
		}
		if strings.HasPrefix(line, "Bail out!") {
			t.add(p.local("bail out")+PackageFailed, agency.TestFailed, line)
			return false, true
		}
		if m := tapPoint.FindStringSubmatch(line); m != nil {
			points++
			addPoint(m, titles.title, p, t, seen)
		}
	}
	return begun && plan >= 0 && points == plan, begun && (points > 0 || plan == 0)
}

// tapTitles are the names of tape's tests, which it writes as comments above
// their points. Comments of other writers are not taken for titles: those of a
// failed point follow it at once, and a document whose plan comes first is not
// tape's.
type tapTitles struct {
	title             string
	versioned, failed bool
}

func (s *tapTitles) see(line string, noPlan bool, p paths, t *tally) {
	failed := s.failed
	s.failed = strings.HasPrefix(line, "not ok")
	if tapVersion.MatchString(line) {
		s.versioned = true
	}
	m := tapTitle.FindStringSubmatch(line)
	if m == nil {
		return
	}
	s.failed = failed // one comment more of the same point
	switch {
	case failed || !s.versioned || !noPlan || strings.HasPrefix(m[1], "Subtest:"):
	case tapSkipped.MatchString(m[1]):
		t.add(p.local(oneLine(tapSkipped.FindStringSubmatch(m[1])[1])), agency.TestSkipped, "")
		s.title = ""
	default:
		s.title = oneLine(m[1])
	}
}

func addPoint(m []string, title string, p paths, t *tally, seen map[string]int) {
	status := agency.TestPassed
	if m[1] != "" {
		status = agency.TestFailed
	}
	name := m[3]
	if loc := tapNote.FindStringIndex(name); loc != nil {
		status, name = agency.TestSkipped, name[:loc[0]]
	}
	name = oneLine(strings.ReplaceAll(name, `\#`, "#"))
	switch {
	case title != "" && name == "": // its number is of the whole document
		name = title + between + "unnamed"
	case title != "":
		name = title + between + name
	case name == "":
		name = "test " + m[2]
	}
	if seen[name]++; seen[name] > 1 {
		name = fmt.Sprintf("%s (%d)", name, seen[name])
	}
	t.add(p.local(name), status, "")
}
