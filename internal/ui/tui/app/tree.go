package app

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/ui/tui"
)

// row is a line of the tree. The document's slices are referred to by index, so that a
// tree of many contracts costs little and only what is seen is formatted.
type row struct {
	depth     int
	tier      string // a heading, of what stands below it
	contract  int    // -1: none
	session   int    // -1: none
	criterion int    // -1: none
}

// facts are what the tree shows of a contract, summed up once for a document.
type facts struct {
	sessions []int // in their order
	cost     float64
	unpriced bool
	tests    string
	red      bool
	proved   int
}

// tree is the contracts of a run with those who work on them.
type tree struct {
	rows  []row
	of    []facts // by contract
	open  map[agency.ContractID]bool
	hides bool // contracts that are complete
	at    int
	top   int
	places
	tiers map[string][2]int // contracts that are complete, and all
	sums  sums
	built int // how often
	seen  sight
	shown []string // what was seen
}

// places are where in the document what events name stands.
type places struct {
	agents    map[agency.AgentID]int
	sessions  map[agency.SessionID]int
	contracts map[agency.ContractID]int
}

func placesIn(d api.InspectDoc) places {
	p := places{map[agency.AgentID]int{}, map[agency.SessionID]int{}, map[agency.ContractID]int{}}
	for i, a := range d.Agents {
		p.agents[a.ID] = i
	}
	for i, s := range d.Sessions {
		p.sessions[s.ID] = i
	}
	for i, c := range d.Contracts {
		p.contracts[c.ID] = i
	}
	return p
}

// sums are those over a whole run.
type sums struct{ criteria, proved, atWork int }

// sight is all that what is seen of a tree depends on. Ages are told in seconds.
type sight struct {
	st          tui.Style
	built, said int
	second      int64
	width, rows int
	at, top     int
	focused     bool
}

// build lays a document out; the selection stays where it was.
func (t *tree) build(d api.InspectDoc) {
	was := t.key(d)
	t.rows, t.places, t.tiers = nil, placesIn(d), map[string][2]int{}
	t.built++
	t.of = factsOf(d, t.contracts)
	t.sums = sumsOf(d, t.of)
	below, roots := map[agency.ContractID][]int{}, map[string][]int{}
	for i, c := range d.Contracts {
		n := t.tiers[c.Tier]
		if n[1]++; c.Status == agency.StatusComplete {
			n[0]++
		}
		t.tiers[c.Tier] = n
		if _, known := t.contracts[c.ParentID]; known && c.ParentID != "" && c.ParentID != c.ID {
			below[c.ParentID] = append(below[c.ParentID], i)
		} else {
			roots[c.Tier] = append(roots[c.Tier], i)
		}
	}
	seen := map[int]bool{}
	for _, tier := range slices.Sorted(maps.Keys(roots)) {
		depth := 0
		if tier != "" {
			t.rows = append(t.rows, row{tier: tier, contract: -1, session: -1, criterion: -1})
			depth = 1
		}
		for _, i := range roots[tier] {
			t.add(d, below, seen, i, depth)
		}
	}
	t.at = clamp(t.at, len(t.rows))
	if i := slices.IndexFunc(t.rows, func(r row) bool { return keyOf(d, r) == was }); was != "" && i >= 0 {
		t.at = i
	}
}

// add lays a contract out with all below it. One that is its own ancestor is laid out once.
func (t *tree) add(d api.InspectDoc, below map[agency.ContractID][]int, seen map[int]bool, i, depth int) {
	if seen[i] {
		return
	}
	seen[i] = true
	c := d.Contracts[i]
	if !t.hides || c.Status != agency.StatusComplete {
		t.rows = append(t.rows, row{depth: depth, contract: i, session: -1, criterion: -1})
		if t.open[c.ID] {
			for j := range c.Criteria {
				t.rows = append(t.rows, row{depth: depth + 1, contract: i, session: -1, criterion: j})
			}
		}
		for _, s := range t.of[i].sessions {
			if t.open[c.ID] || atWork(d.Sessions[s]) {
				t.rows = append(t.rows, row{depth: depth + 1, contract: i, session: s, criterion: -1})
			}
		}
	}
	for _, j := range below[c.ID] {
		t.add(d, below, seen, j, depth+1)
	}
}

func factsOf(d api.InspectDoc, index map[agency.ContractID]int) []facts {
	all := make([]facts, len(d.Contracts))
	for i, c := range d.Contracts {
		for _, p := range c.Criteria {
			if (p.Proof == agency.ProofVerified || p.Proof == agency.ProofReviewed) && !p.Missed && !p.Undone {
				all[i].proved++
			}
		}
	}
	for i, s := range d.Sessions {
		if at, ok := index[s.Contract]; ok {
			f := &all[at]
			f.sessions = append(f.sessions, i)
			f.cost += s.CostUSD
			f.unpriced = f.unpriced || s.Unpriced
		}
	}
	for _, r := range d.Receipts {
		at, ok := index[r.Contract]
		if !ok || r.Kind != agency.CheckTest || r.Trial != "" || r.Stage == agency.StageBase {
			continue
		}
		all[at].tests, all[at].red = testsOf(r), r.ExitCode != 0
	}
	return all
}

func sumsOf(d api.InspectDoc, of []facts) (all sums) {
	for i := range d.Contracts {
		if d.Contracts[i].Leads {
			continue
		}
		all.criteria += len(d.Contracts[i].Criteria)
		all.proved += of[i].proved
	}
	for i := range d.Sessions {
		if atWork(d.Sessions[i]) {
			all.atWork++
		}
	}
	return all
}

func testsOf(r api.ReceiptDoc) string {
	switch {
	case r.Passed+r.Failed == 0 && r.ExitCode == 0:
		return "tests pass"
	case r.Passed+r.Failed == 0:
		return "tests fail"
	case r.Failed > 0:
		return fmt.Sprintf("%d of %d tests fail", r.Failed, r.Passed+r.Failed)
	}
	return agency.Things(r.Passed, "test passes", "tests pass")
}

// key tells a row from others, also in the next document.
func (t *tree) key(d api.InspectDoc) string {
	if t.at >= len(t.rows) {
		return ""
	}
	return keyOf(d, t.rows[t.at])
}

func keyOf(d api.InspectDoc, r row) string {
	switch {
	case r.tier != "":
		return "tier " + r.tier
	case r.session >= 0 && r.session < len(d.Sessions):
		return "session " + string(d.Sessions[r.session].ID)
	case r.contract >= 0 && r.contract < len(d.Contracts):
		return fmt.Sprintf("contract %s %d", d.Contracts[r.contract].ID, r.criterion)
	}
	return ""
}

// session is the one that a key on the selected row is about: its own, else the
// contract's newest, else the run's.
func (t *tree) session(d api.InspectDoc) (api.SessionDoc, bool) {
	if t.at < len(t.rows) {
		r := t.rows[t.at]
		if r.session >= 0 {
			return d.Sessions[r.session], true
		}
		if r.contract >= 0 {
			if s := t.of[r.contract].sessions; len(s) > 0 {
				return d.Sessions[s[len(s)-1]], true
			}
		}
	}
	if n := len(d.Sessions); n > 0 {
		return d.Sessions[n-1], true
	}
	return api.SessionDoc{}, false
}

// press moves the selection, a page being so many rows.
func (t *tree) press(k string, d api.InspectDoc, rows int) bool {
	page := max(1, rows-1)
	switch k {
	case "up", "k":
		t.at--
	case "down", "j":
		t.at++
	case "pgup", "b", "ctrl+u":
		t.at -= page
	case "pgdown", "ctrl+d":
		t.at += page
	case "home", "<":
		t.at = 0
	case "end", ">":
		t.at = len(t.rows) - 1
	case "enter", "space":
		if t.at < len(t.rows) && t.rows[t.at].contract >= 0 {
			id := d.Contracts[t.rows[t.at].contract].ID
			open := maps.Clone(t.open)
			if open == nil {
				open = map[agency.ContractID]bool{}
			}
			open[id] = !open[id]
			t.open = open
			t.build(d)
		}
	case "o":
		t.hides = !t.hides
		t.build(d)
	default:
		return false
	}
	t.at = clamp(t.at, len(t.rows))
	return true
}

// lines are what is seen of it in so many rows.
func (t *tree) lines(st tui.Style, d api.InspectDoc, saying tui.Saying, now time.Time, width, rows int, focused bool) []string {
	var out []string
	for i := t.top; i < len(t.rows) && len(out) < rows; i++ {
		line := " " + t.line(st, d, saying, t.rows[i], now, width-1)
		if i == t.at {
			line = chosen(st, line, width, focused)
		}
		out = append(out, cut(line, width))
	}
	return out
}

func (t *tree) line(st tui.Style, d api.InspectDoc, saying tui.Saying, r row, now time.Time, width int) string {
	indent := strings.Repeat("  ", min(r.depth, 6))
	switch {
	case r.tier != "":
		n := t.tiers[r.tier]
		return st.Paint(tui.Bold, tui.Line(r.tier)) + st.Paint(tui.Dim, fmt.Sprintf("  %d of %d complete", n[0], n[1]))
	case r.session >= 0:
		return indent + t.sessionLine(st, d, saying, d.Sessions[r.session], now, width-len(indent))
	case r.criterion >= 0:
		c := d.Contracts[r.contract]
		p := c.Criteria[r.criterion]
		return indent + st.Paint(tui.CriterionInk(c, p), fill(c.State(p), 9)) + tui.Line(p.Text)
	}
	return indent + t.contractLine(st, d, r.contract, width-len(indent))
}

// marks show a contract's status also where there are no colours.
var marks = map[agency.Status]string{
	agency.StatusPending: "·", agency.StatusInProgress: "▶", agency.StatusInReview: "▷", agency.StatusComplete: "✓",
	agency.StatusBlocked: "■", agency.StatusFailed: "✗", agency.StatusCancelled: "-",
}

// contractLine is a contract: what it is to the left, how it stands to the right.
func (t *tree) contractLine(st tui.Style, d api.InspectDoc, i, width int) string {
	c, f := d.Contracts[i], t.of[i]
	ink := tui.StatusInk(c.Status)
	state := cmp.Or(string(c.Stage), string(c.Status))
	if c.Status == agency.StatusBlocked || c.Status.Final() {
		state = string(c.Status)
	}
	left := st.Paint(ink, cmp.Or(marks[c.Status], "?")) + " " + st.Paint(tui.Bold, tui.Line(string(c.ID)))
	if title := tui.Line(c.Title); title != "" && title != string(c.ID) {
		left += "  " + title
	}
	if c.WaitsFor != "" {
		left += "  " + st.Paint(tui.Yellow, "waits for "+tui.Line(c.WaitsFor))
	}
	if c.Error != "" {
		left += "  " + st.Paint(tui.Red, tui.Line(c.Error))
	}
	var right []string
	if width >= 100 {
		if f.cost > 0 {
			right = append(right, st.Paint(tui.Dim, tui.Cost(agency.USD(f.cost), 0, f.unpriced)))
		}
		if c.Attempts > 1 {
			right = append(right, st.Paint(tui.Yellow, fmt.Sprintf("attempt %d of %d", c.Attempts, c.RetryBudget)))
		}
	}
	if f.tests != "" && width >= 80 {
		ink := tui.Dim
		if f.red {
			ink = tui.Red
		}
		right = append(right, st.Paint(ink, f.tests))
	}
	if n := len(c.Criteria); n > 0 && !c.Leads && width >= 50 {
		right = append(right, fmt.Sprintf("%d/%d proved", f.proved, n))
	}
	if c.Status == agency.StatusInProgress || c.Status == agency.StatusInReview {
		right = append(right, bar(st, c.Progress, 8, ink))
	}
	right = append(right, st.Paint(ink, fill(state, 9)))
	return apart(left, strings.Join(right, "  "), width)
}

// atWork tells whether a session goes on.
func atWork(s api.SessionDoc) bool { return s.Health != "ended" }

// sessionLine is an agent at work: how it is, what it does, since when.
func (t *tree) sessionLine(st tui.Style, d api.InspectDoc, saying tui.Saying, s api.SessionDoc, now time.Time, width int) string {
	ink, health := tui.Cyan, s.Health // such as working
	switch {
	case !atWork(s):
		ink, health = tui.Dim, s.Outcome
	case s.Health == "slow", s.Health == "looping", s.Health == "halted":
		ink = tui.Red
	case s.Health == "waiting":
		ink = tui.Yellow
	}
	left := st.Paint(tui.Dim, "└ ") + tui.Line(string(s.Role)) + "  " + st.Paint(ink, tui.Line(health)) + st.Paint(tui.Dim, fmt.Sprintf("  turn %d", s.Turns))
	right := ""
	if a, ok := t.agents[s.Agent]; ok && atWork(s) {
		doc := d.Agents[a]
		if !doc.LastActivityAt.IsZero() {
			right = st.Paint(tui.Dim, tui.Age(now.Sub(doc.LastActivityAt))+" ago")
		}
		doing := tui.Line(cmp.Or(s.HealthReason, doc.Activity, doc.LastTool))
		if s.HealthReason == "" { // else what is wrong counts more
			doing = cmp.Or(saying.Line(s.ID, width-ansi.StringWidth(left)-ansi.StringWidth(right)-3), doing)
		}
		if doing != "" {
			left += "  " + doing
		}
	} else if s.Reason != "" {
		left += "  " + st.Paint(tui.Dim, tui.Line(s.Reason))
	}
	return apart(left, right, width)
}
