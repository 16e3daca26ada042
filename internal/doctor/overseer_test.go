package doctor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/config"
	"agency/internal/overseer"
)

// TestOversee reads a history as watch and run print it: of two runs whose events
// alternate, one turns in circles; lines that are no events of a run are passed
// over, one that is no JSON is named.
func TestOversee(t *testing.T) {
	var in bytes.Buffer
	in.WriteString(`{"run_id":"stuck"}` + "\n\n")
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i := range 12 {
		for _, run := range []agency.RunID{"stuck", "fine"} {
			d := agency.ToolCalled{Session: "s", Turn: i/2 + 1, Tool: "search_files"}
			d.CallDigests = overseer.DigestsOf([]byte(`{"pattern":"a"}`), "no matches")
			if run == "fine" {
				d.CallDigests = overseer.DigestsOf([]byte(`{"pattern":"a"}`), strings.Repeat("match ", i+1))
			}
			e := agency.NewEvent(run, agency.SeverityInfo, "search_files a", d)
			e.ID, e.Time, e.AgentID = int64(i+1), at, "scaffolder"
			line, _ := json.Marshal(e)
			in.Write(append(line, '\n'))
		}
	}
	seen, err := Oversee(&in, config.Defaults().Overseer)
	found := seen.Found
	if err != nil || len(seen.Warnings) > 0 || len(found) != 2 || found[0].Behaviour != overseer.InfiniteLoop || found[0].Event != 5 || found[1].Action != overseer.ActionHalt {
		t.Errorf("%v, %+v", err, seen)
	}
	_, err = Oversee(strings.NewReader("\n{\"id\":"), config.Defaults().Overseer)
	if agency.KindOf(err) != agency.KindInvalid || !strings.Contains(err.Error(), "line 2") {
		t.Error(err)
	}
}

// TestOverseeBroken judges a history that something happened to: what cannot be read
// is named by its line, and the rest is judged.
func TestOverseeBroken(t *testing.T) {
	var lines []string
	d := agency.ToolCalled{Session: "s", Tool: "search_files", CallDigests: overseer.DigestsOf([]byte(`{}`), "no matches")}
	for i := range 8 {
		d.Turn = i + 4 // it begins in the middle
		e := agency.NewEvent("run", agency.SeverityInfo, "search_files a", d)
		e.ID, e.Time, e.AgentID = int64(i+10), time.Date(2026, 1, 2, 3, 4, 5+i, 0, time.UTC), "scaffolder"
		line, _ := json.Marshal(e)
		lines = append(lines, string(line))
	}
	whole := strings.Join(lines, "\n")
	for name, c := range map[string]struct{ history, warning string }{
		"a mark of byte order":  {"\ufeff" + whole, ""},
		"blank lines":           {"\n" + strings.Join(lines, "\r\n\n  \n"), ""},
		"cut off":               {whole + "\n" + lines[0][:40], "line 9 is no event"},
		"one broken":            {"{not json\n" + whole, "line 1 is no event"},
		"no object":             {"[1]\n" + whole, "line 1 is no event: it is no JSON object"},
		"one unknown":           {`{"id":1,"run_id":"run","type":"brand_new"}` + "\n" + whole, `line 1 cannot be judged: event 1: type "brand_new"`},
		"details of other form": {`{"id":1,"run_id":"run","type":"tool_called","details":"x"}` + "\n" + whole, "line 1 cannot be judged"},
		"twice":                 {whole + "\n" + lines[3], "line 9 repeats event 13; left out"},
		"a very long line":      {strings.Repeat("x", maxEventLine+9) + "\n" + whole, "line 1 has more than 1048576 bytes"},
	} {
		seen, err := Oversee(strings.NewReader(c.history), config.Defaults().Overseer)
		said := strings.Join(seen.Warnings, "\n")
		if err != nil || len(seen.Found) != 2 || (c.warning == "") != (said == "") || !strings.HasPrefix(said, c.warning) {
			t.Errorf("%s: %v, %d found, %q", name, err, len(seen.Found), said)
		}
	}
	seen, err := Oversee(strings.NewReader(whole+strings.Repeat("\nno", 100)), config.Defaults().Overseer)
	if err != nil || len(seen.Warnings) != maxWarnings+1 || seen.Warnings[maxWarnings] != "80 more lines are like that" {
		t.Error(err, seen.Warnings)
	}
}

// TestOverseeManyRuns judges more runs than are held beside each other.
func TestOverseeManyRuns(t *testing.T) {
	var in bytes.Buffer
	for i := range 3 * maxRuns {
		e := agency.NewEvent(agency.RunID(fmt.Sprint("run-", i)), agency.SeverityInfo, "", agency.TurnCompleted{Session: "s", Turn: 1})
		e.ID, e.AgentID = 1, "a"
		line, _ := json.Marshal(e)
		in.Write(append(line, '\n'))
	}
	if seen, err := Oversee(&in, config.Defaults().Overseer); err != nil || len(seen.Warnings) > 0 {
		t.Error(err, seen)
	}
}
