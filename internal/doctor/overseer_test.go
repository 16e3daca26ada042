package doctor

import (
	"bytes"
	"encoding/json"
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
	found, err := Oversee(&in, config.Defaults().Overseer)
	if err != nil || len(found) != 2 || found[0].Behaviour != overseer.InfiniteLoop || found[0].Event != 5 || found[1].Action != overseer.ActionHalt {
		t.Errorf("%v, %+v", err, found)
	}
	_, err = Oversee(strings.NewReader("{}\n{\"id\":"), config.Defaults().Overseer)
	if agency.KindOf(err) != agency.KindInvalid || !strings.Contains(err.Error(), "line 2") {
		t.Error(err)
	}
}
