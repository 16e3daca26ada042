package doctor

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"agency/internal/agency"
	"agency/internal/bounded"
	"agency/internal/config"
	"agency/internal/overseer"
)

// maxEventLine is the most bytes of an event in a history.
const maxEventLine = 1 << 20

// OverseeFile is Oversee of a file; - is the standard input.
func OverseeFile(name string, stdin io.Reader, settings config.Overseer) ([]overseer.Detection, error) {
	in := stdin
	if name != "-" {
		f, err := bounded.OpenAt(name)
		if err != nil {
			return nil, agency.Errorf(agency.KindInvalid, "%w", err)
		}
		defer func() { _ = f.Close() }() // only read
		in = f
	}
	found, err := Oversee(in, settings)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return found, nil
}

// Oversee runs the overseer's detectors over a history: events as JSON, one a line,
// of one run or several, each run's in their order. KindInvalid names the line that
// is no event.
func Oversee(history io.Reader, settings config.Overseer) ([]overseer.Detection, error) {
	watches := map[agency.RunID]*overseer.Watch{}
	found := []overseer.Detection{}
	lines := bufio.NewScanner(history)
	lines.Buffer(nil, maxEventLine)
	n := 0
	for lines.Scan() {
		n++
		if len(lines.Bytes()) == 0 {
			continue
		}
		var e agency.Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, agency.Errorf(agency.KindInvalid, "line %d is no event: %w", n, err)
		}
		if e.Type == "" { // the first and the last line of `run --json`
			continue
		}
		w := watches[e.RunID]
		if w == nil {
			w = overseer.NewWatch(settings)
			watches[e.RunID] = w
		}
		detections, faults := w.Observe(e)
		if len(faults) > 0 {
			return nil, agency.Errorf(agency.KindInternal, "line %d: the detector of %s: %v", n, faults[0].Behaviour, faults[0].Panic)
		}
		found = append(found, detections...)
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return nil, agency.Errorf(agency.KindInvalid, "line %d has more than %d bytes", n+1, maxEventLine)
	}
	return found, lines.Err()
}
