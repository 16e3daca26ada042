package tui

import (
	"encoding/csv"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/api"
)

// table aligns columns; the last one is not padded. A column of numbers is
// aligned to its right end.
type table struct {
	head  []string
	right []bool
	rows  [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) render(st Style, indent string) string {
	widths := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, c := range row {
			widths[i] = max(widths[i], columns(c))
		}
	}
	var b strings.Builder
	fit := st.Width - 1 - columns(indent) // like lines that are broken, so that none of them is
	if st.Width == 0 {
		fit = 0
	}
	t.yield(widths, fit)
	if len(t.head) > 0 && t.head[0] != "" {
		b.WriteString(indent + st.paint(dim, cut(t.line(t.head, widths), fit)) + "\n")
	}
	for _, row := range t.rows {
		b.WriteString(indent + cut(t.line(row, widths), fit) + "\n")
	}
	return b.String()
}

// leastName is how much of a name is left where numbers take the terminal.
const leastName = 10

// yield shortens the names in the first column where numbers at the end would be cut.
func (t *table) yield(widths []int, fit int) {
	last := len(widths) - 1
	if fit <= 0 || last < 1 || len(t.right) <= last || !t.right[last] {
		return
	}
	over := 2*last - fit
	for _, w := range widths {
		over += w
	}
	if over <= 0 {
		return
	}
	widths[0] = max(min(widths[0], leastName), widths[0]-over)
	short := func(row []string) []string {
		row = slices.Clone(row)
		row[0] = cut(row[0], widths[0])
		return row
	}
	t.head = short(t.head)
	for i, row := range t.rows {
		t.rows[i] = short(row)
	}
}

// dropLast leaves the last column out.
func (t *table) dropLast() {
	last := len(t.head) - 1
	t.head, t.right = t.head[:last], t.right[:last]
	for i := range t.rows {
		t.rows[i] = t.rows[i][:last]
	}
}

// spare leaves out columns, in this order, until the last one has some room.
func (t *table) spare(st Style, names ...string) {
	for _, name := range names {
		at := slices.Index(t.head, name)
		switch {
		case st.Width == 0 || t.room(st.Width) >= leastWidth:
			return
		case at < 0:
			continue
		}
		drop := func(row []string) []string { return slices.Delete(slices.Clone(row), at, at+1) }
		t.head = drop(t.head)
		if at < len(t.right) {
			t.right = slices.Delete(slices.Clone(t.right), at, at+1)
		}
		for i := range t.rows {
			t.rows[i] = drop(t.rows[i])
		}
	}
}

// fits tells whether no row of the table has to be cut.
func (t *table) fits(width int) bool {
	last := columns(t.head[len(t.head)-1])
	for _, row := range t.rows {
		last = max(last, columns(row[len(row)-1]))
	}
	return last < t.room(width)
}

// room is how many columns are left for the last one.
func (t *table) room(width int) int {
	for i := range t.head[:len(t.head)-1] {
		widest := 0
		for _, row := range append([][]string{t.head}, t.rows...) {
			widest = max(widest, columns(row[i]))
		}
		width -= widest + 2
	}
	return width
}

func (t *table) line(row []string, widths []int) string {
	cells := make([]string, len(row))
	for i, c := range row {
		switch {
		case i < len(t.right) && t.right[i]:
			cells[i] = strings.Repeat(" ", widths[i]-columns(c)) + c
		case i == len(row)-1:
			cells[i] = c
		default:
			cells[i] = pad(c, widths[i])
		}
	}
	return strings.TrimRight(strings.Join(cells, "  "), " ")
}

// Runs is the table of ps, with the gates that wait below their
// run; where: they are of several repositories.
func Runs(st Style, runs []api.RunDoc, now time.Time, where bool) string {
	if len(runs) == 0 {
		return "no runs yet; start one with: agency run \"GOAL\"\n"
	}
	t := table{head: []string{"RUN", "#", "STATE", "MODE", "DONE", "COST", "DISK", "AGE", "GOAL"}, right: []bool{false, true, false, false, true, true, true, true, false}}
	hint := "show a gate with: agency inspect RUN; answer it with: agency approve RUN, agency reject RUN"
	if where {
		t.head[6], t.right[6] = "REPOSITORY", false
		hint += ", each with --repo FOLDER"
	}
	var waiting, behind, stuck []string
	for _, r := range runs {
		place := disk(r.DiskBytes)
		if where {
			place = cut(Line(filepath.Base(r.Repo)), 30)
		}
		t.add(string(r.ID), number(r.Number), string(r.State), modes(r), fmt.Sprintf("%d/%d", r.ContractsDone, r.ContractsTotal),
			Cost(agency.USD(r.CostUSD), r.Tokens, r.Unpriced), place, age(now.Sub(r.CreatedAt)), cut(Line(r.Goal), 60))
		if f := r.Follows; f != nil {
			of, _ := f.What.Words()
			behind = append(behind, fmt.Sprintf("%s  %s %s", r.ID, of, f.Run))
		}
		failed := r.State == agency.StateFailed && now.Sub(r.FinishedAt) < told
		if (failed || r.State == agency.StateInterrupted) && len(stuck) < mostStuck {
			stuck = append(stuck, st.paint(stateColor(r.State), fmt.Sprintf("%s  %s: %s", r.ID, r.State, Line(r.Reason)))+"\n"+Next(st, r.Next[max(0, len(r.Next)-1):], ""))
		}
		if r.WaitsFor != "" {
			behind = append(behind, fmt.Sprintf("%s  waits for %s", r.ID, Line(r.WaitsFor)))
		}
		for _, g := range r.Gates {
			waiting = append(waiting, fmt.Sprintf("%s  waits at its %s gate: %s", r.ID, g.Kind, Line(g.Summary)))
		}
	}
	spared := []string{"DISK", "MODE", "COST"} // what the run is about is asked for more often
	if where {                                 // a number means nothing without its repository, which is therefore the last to be cut
		spared = []string{"MODE", "DONE", "COST", "AGE"}
	}
	if t.spare(st, spared...); where && st.Width > 0 && t.room(st.Width) < leastName {
		t.dropLast()
	}
	out := t.render(st, "")
	for _, f := range behind {
		out += st.paint(dim, f) + "\n"
	}
	out += strings.Join(stuck, "")
	for _, w := range waiting {
		out += st.paint(yellow, w) + "\n"
	}
	if len(waiting) > 0 {
		out += st.paint(dim, hint) + "\n"
	}
	return out
}

// The list says why a run failed for a day, and of the newest so many.
const (
	told      = 24 * time.Hour
	mostStuck = 3
)

// number is a run's number; "" where it has none.
func number(n int) string { return strings.TrimPrefix(agency.NumberName(n), "agency-") }

// modes is a run's mode, with the one that it moved to by itself.
func modes(r api.RunDoc) string { return Modes(r.MovedTo, r.Mode) }

// disk is a size for people; "" where it is not known.
func disk(n *int64) string {
	switch {
	case n == nil:
		return ""
	case *n < 1<<20:
		return fmt.Sprintf("%d KiB", *n>>10)
	case *n < 1<<30:
		return fmt.Sprintf("%d MiB", *n>>20)
	default:
		return fmt.Sprintf("%.1f GiB", float64(*n)/(1<<30))
	}
}

func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", max(0, int(d.Seconds())))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	default:
		return fmt.Sprintf("%d d", int(d.Hours()/24))
	}
}

// Cost is the tables of cost: the total, then each way of looking at it that
// tells more than the total does.
func Costs(st Style, c api.CostDoc) string {
	var b strings.Builder
	t := spendTable("")
	addSpend(&t, "total", c.Total)
	b.WriteString(t.render(st, "") + reserved(c.Reserved))
	if len(c.Pattern) > 0 {
		b.WriteString("\n" + pattern(st, c.Pattern))
	}
	for _, by := range []struct {
		name string
		rows map[string]api.Spend
	}{{"model", c.ByModel}, {"contract", c.ByContract}, {"agent", c.ByAgent}, {"role", c.ByRole}, {"tier", c.ByTier}, {"hour", c.ByHour}} {
		if len(by.rows) == 0 {
			continue
		}
		t := spendTable("by " + by.name)
		for _, name := range slices.Sorted(maps.Keys(by.rows)) {
			addSpend(&t, name, by.rows[name])
		}
		b.WriteString("\n" + t.render(st, ""))
	}
	b.WriteString("\n" + limits(c) + "\n" + forecast(c.Forecast) + savings(c.Savings))
	if c.Total.Lost > 0 {
		b.WriteString(agency.Things(c.Total.Lost, "answer was lost: stalled, cut off, given up, or taken by a crash; it is charged at the most that was to come, or at what came where that was more\n",
			"answers were lost: stalled, cut off, given up, or taken by a crash; they are charged at the most that was to come, or at what came where that was more\n"))
	}
	if c.Total.Unpriced {
		b.WriteString("unpriced: no price is known for the model; set prices: in agency.yaml. The token limit holds all the same.\n")
	}
	if c.Total.Estimated {
		b.WriteString("estimated: a provider gave no token counts; counted are bytes, or what was reserved for an answer that was lost.\n")
	}
	return b.String()
}

// reserved is what is set aside beside what is spent: until an answer is paid for, a run
// at work would else look like one that costs nothing.
func reserved(r *api.ReservedDoc) string {
	if r == nil {
		return ""
	}
	most := agency.USD(r.CostUSD).String()
	if r.CostUSD == 0 {
		most = agency.Count(r.Tokens) + " tokens"
	}
	return "reserved  " + most + " for requests under way\n"
}

func spendTable(name string) table {
	return table{
		head:  []string{pad(name, 12), "REQUESTS", "TOKENS IN", "CACHED", "OUT", "COUNTED", "COST"},
		right: []bool{false, true, true, true, true, true, true},
	}
}

func addSpend(t *table, name string, s api.Spend) {
	cost := agency.USD(s.CostUSD).Amount(s.Unpriced)
	if s.Estimated {
		cost += ", estimated"
	}
	t.add(Line(name), fmt.Sprint(s.Requests), fmt.Sprint(s.In), fmt.Sprint(s.Cached), fmt.Sprint(s.Out), fmt.Sprint(s.Tokens), cost)
}

// forecast is what a run is likely to come to; nothing where nothing is open.
func forecast(f agency.RunForecast) string {
	if f.Open == 0 {
		return ""
	}
	s := fmt.Sprintf("forecast: %s likely, %s to %s; %s tokens, %s to %s\n", forecastUSD(f, f.Mid), forecastUSD(f, f.Low), forecastUSD(f, f.High),
		agency.Count(f.Mid.Tokens), agency.Count(f.Low.Tokens), agency.Count(f.High.Tokens))
	s += fmt.Sprintf("  of what is spent and %s, %s\n", agency.Things(f.Open, "open contract", "open contracts"), f.Basis)
	if f.Planning {
		s += "  the plan is not made yet: what it will hold is not in it\n"
	}
	return s
}

func forecastUSD(f agency.RunForecast, s agency.Spent) string {
	return agency.USD(s.USD).Amount(f.Unpriced)
}

// CSV writes records by RFC 4180; the first is the header. Control characters are
// left out of the cells.
func (s *Screen) CSV(records [][]string) error {
	w := csv.NewWriter(s.out)
	w.UseCRLF = true
	for _, cells := range records {
		clean := make([]string, len(cells))
		for i, c := range cells {
			clean[i] = Line(c)
		}
		if err := w.Write(clean); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

// savings compares the cost with that of the highest level.
func savings(s *api.SavingsDoc) string {
	if s == nil {
		return ""
	}
	var b strings.Builder
	if s.HighestUSD > 0 || len(s.Unpriced) == 0 {
		saved := "saved " + agency.USD(s.SavedUSD).String()
		if s.SavedUSD < 0 {
			saved = "that is " + agency.USD(-s.SavedUSD).String() + " less"
		}
		fmt.Fprintf(&b, "routing: all of it on %s would have cost %s instead of %s: %s\n", Line(s.Model),
			agency.USD(s.HighestUSD), agency.USD(s.CostUSD), saved)
	}
	if len(s.Unpriced) > 0 {
		fmt.Fprintf(&b, "routing: not compared for want of a price: %s\n", Line(strings.Join(s.Unpriced, ", ")))
	}
	return b.String()
}

func limits(c api.CostDoc) string {
	var parts []string
	if c.Limits.USD > 0 {
		parts = append(parts, agency.USD(c.Limits.USD).String())
	}
	if c.Limits.Tokens > 0 {
		parts = append(parts, agency.Count(c.Limits.Tokens)+" tokens")
	}
	if c.Limits.WallMinutes > 0 {
		parts = append(parts, fmt.Sprintf("%.0f min at work (%.1f used)", c.Limits.WallMinutes, c.Limits.WallUsed))
	}
	if len(parts) == 0 {
		return "no limits"
	}
	return "limits: " + strings.Join(parts, ", ")
}

// Features is the backlog, a line a feature.
func Features(st Style, all []api.FeatureDoc) string {
	if len(all) == 0 {
		return "no features; add one with: agency features add ID DESCRIPTION\n"
	}
	t := table{head: []string{"FEATURE", "STATUS", "SIZE", "WHAT"}}
	done := 0
	for _, f := range all {
		status := string(f.Status)
		switch {
		case f.Status == agency.FeatureDone:
			done++
		case f.Ready:
			status += ", ready"
		case len(f.WaitsFor) > 0:
			status += ", waits for " + agency.JoinIDs(f.WaitsFor, ", ")
		}
		t.add(Line(string(f.ID)), Line(status), string(f.Size), cut(Line(f.Description), 60))
	}
	return t.render(st, "") + fmt.Sprintf("\n%d of %d done\n", done, len(all))
}
