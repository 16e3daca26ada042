package doctor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
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
	event := func(fields string) string { return `{"id":1,"run_id":"other","type":"tool_called",` + fields + "}\n" }
	for name, c := range map[string]struct{ history, warning string }{
		"a mark of byte order":  {"\ufeff" + whole, ""},
		"blank lines":           {"\n" + strings.Join(lines, "\r\n\n  \n"), ""},
		"cut off":               {whole + "\n" + lines[0][:40], "line 9 is no event"},
		"one broken":            {"{not json\n" + whole, "line 1 is no event"},
		"no object":             {"[1]\n" + whole, "line 1 is no event: it begins a list, and is to be one event a line"},
		"one unknown":           {`{"id":1,"run_id":"run","type":"brand_new"}` + "\n" + whole, `line 1 cannot be judged: event 1: type "brand_new"`},
		"details of other form": {`{"id":1,"run_id":"run","type":"tool_called","details":"x"}` + "\n" + whole, "line 1 cannot be judged"},
		"no type":               {`{"id":1,"run_id":"run","agent_id":"a"}` + "\n" + whole, "line 1 has no type, such as tool_called"},
		"of nobody":             {`{"id":1,"run_id":"run","type":"tool_called","details":{"tool":"x"}}` + "\n" + whole, "line 1 cannot be judged: tool_called names neither agent_id nor details.session_id"},
		"a text for a list":     {event(`"details":{"lines":"x"}`) + whole, "line 1 cannot be judged: in the details of tool_called lines is a text, want a list, each of it a text; left out"},
		"a text for a number":   {event(`"details":{"turn":"two"}`) + whole, "line 1 cannot be judged: in the details of tool_called turn is a text, want a whole number; left out"},
		"a part for a number":   {event(`"details":{"turn":1.5}`) + whole, "line 1 cannot be judged: in the details of tool_called turn is 1.5, want a whole number; left out"},
		"a number for a text":   {event(`"agent_id":5`) + whole, "line 1 is no event: agent_id is a number, want a text; left out"},
		"no time":               {event(`"time":"yesterday"`) + whole, `line 1 is no event: time is "yesterday", want a time such as "2026-01-02T15:04:05Z"; left out`},
		"no time at all":        {event(`"time":5`) + whole, `line 1 is no event: time is 5, want a time such as`},
		"a turn below 0":        {event(`"agent_id":"b","details":{"turn":-5}`) + whole, "line 1 turn is -5, want 0 or more; judged as it stands"},
		"more than all":         {event(`"agent_id":"b","details":{"share":7}`) + whole, "line 1 share is 7, want 0 to 1; judged as it stands"},
		"a danger of its own":   {event(`"agent_id":"b","details":{"danger":["fire"]}`) + whole, `line 1 danger is "fire", want one of escape, secret, mass_deletion, history_rewrite, injection; judged`},
		"a severity of its own": {event(`"agent_id":"b","severity":"dire"`) + whole, `line 1 severity is "dire", want one of debug, info, warning, error, critical; judged`},
		"the frame of a run":    {`{"run_id":"run"}` + "\n" + whole + "\n" + `{"run_id":"run","state":"failed","exit_code":1}`, ""},
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

// TestOverseeCounts says how much was judged, so that no finding is not taken for a
// healthy run.
func TestOverseeCounts(t *testing.T) {
	call := `{"run_id":"run","type":"tool_called","agent_id":"%s","details":{"session_id":"%s","tool":"read_file"}}`
	history := strings.Join([]string{
		`{"run_id":"run"}`, fmt.Sprintf(call, "a", "a/1"), fmt.Sprintf(call, "a", "a/2"), fmt.Sprintf(call, "b", ""), fmt.Sprintf(call, "", "c/1"),
		fmt.Sprintf(call, "b", "b/1"), `{"run_id":"run","type":"tests_run","agent_id":"a","details":{"stage":"work"}}`, `{"run_id":"run","type":"run_paused"}`,
		`{"id":3}`, `{"id":4}`, `nothing`,
	}, "\n")
	settings := config.Defaults().Overseer
	settings.Enabled = false // it steps in nowhere, and looks all the same
	seen, err := Oversee(strings.NewReader(history), settings)
	if want := "7 events judged, of 4 sessions; 3 lines left out: 1 no event, 2 without a type"; err != nil || seen.Line() != want {
		t.Errorf("%v, %q", err, seen.Line())
	}
}

// TestOverseeNothing refuses a history of which nothing could be judged.
func TestOverseeNothing(t *testing.T) {
	for name, c := range map[string]struct{ history, want, mend string }{
		"no events":    {"\n\n", "there is no event in it", "agency watch RUN --json"},
		"no types":     {"{\"id\":1}\n{\"id\":2}", "nothing in it tells of an agent at work: line 1 has no type, such as tool_called or turn_completed; 2 lines left out: 2 without a type", "agency watch"},
		"nobody":       {`{"run_id":"r","type":"turn_completed"}`, "line 1 cannot be judged: turn_completed names neither agent_id nor details.session_id; 1 line left out: 1 of neither agent nor session", "agency watch"},
		"no work":      {`{"run_id":"r","type":"run_paused"}`, "nothing in it tells of an agent at work: no call, no turn, no check", "agency watch"},
		"a list":       {`[{"id":1}]`, "no line is an event: line 1 is no event: it begins a list, and is to be one event a line", "jq -c '.[]' FILE"},
		"over lines":   {"{\n  \"id\": 1\n}", "no line is an event: line 1 is no event: it goes on in the next line, and is to be one event a line", "jq -c . FILE"},
		"another form": {`{"type":"tool_called","agent_id":"a","details":[1]}`, "in the details of tool_called it is a list, want an object", "agency watch"},
	} {
		_, err := Oversee(strings.NewReader(c.history), config.Defaults().Overseer)
		if agency.KindOf(err) != agency.KindInvalid || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(agency.MendOf(err), c.mend) {
			t.Errorf("%s: %v; %s", name, err, agency.MendOf(err))
		}
		if strings.Contains(err.Error(), "json:") || strings.Contains(err.Error(), "Go ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, want := range map[string]string{
		filepath.Join(t.TempDir(), "gone"): "there is no such file", t.TempDir(): "is a folder, and a history is a file", os.DevNull: "is no plain file",
	} {
		_, err := OverseeFile(name, nil, config.Defaults().Overseer)
		if agency.KindOf(err) != agency.KindInvalid || !strings.HasPrefix(err.Error(), name+": "+want) || agency.MendOf(err) == "" {
			t.Errorf("%v", err)
		}
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
