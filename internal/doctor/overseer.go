package doctor

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"agency/internal/agency"
	"agency/internal/bounded"
	"agency/internal/config"
	"agency/internal/overseer"
)

// Bounds of a history, which may come from anywhere.
const (
	maxEventLine = 1 << 20 // bytes of an event
	maxWarnings  = 20      // that are named
	maxRuns      = 64      // that are judged beside each other; the one longest silent is begun anew
)

// Oversight is what the detectors find in a history.
type Oversight struct {
	Found []overseer.Detection
	// Warnings name what of the history was left out, and why.
	Warnings []string
}

// OverseeFile is Oversee of a file; - is the standard input.
func OverseeFile(name string, stdin io.Reader, settings config.Overseer) (Oversight, error) {
	in := stdin
	if name != "-" {
		f, err := bounded.OpenAt(name)
		if err != nil {
			return Oversight{}, agency.Errorf(agency.KindInvalid, "%w", err)
		}
		defer func() { _ = f.Close() }() // only read
		in = f
	}
	out, err := Oversee(in, settings)
	if err != nil {
		return out, fmt.Errorf("%s: %w", name, err)
	}
	return out, nil
}

// Oversee runs the overseer's detectors over a history: events as JSON, one a line,
// of one run or several, each run's in their order. A line that is none, of a type
// that this version does not know, or out of order, is named and left out.
// KindInvalid says that no line is an event.
func Oversee(history io.Reader, settings config.Overseer) (Oversight, error) {
	j := judge{settings: settings, runs: map[agency.RunID]*judged{}, out: Oversight{Found: []overseer.Detection{}}}
	in := bufio.NewReader(history)
	for more := true; more; {
		line, long, err := readLine(in)
		if err != nil && !errors.Is(err, io.EOF) {
			return j.out, err
		}
		more = err == nil
		j.line++
		if j.line == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		switch line = bytes.TrimSpace(line); {
		case long:
			j.broken(fmt.Sprintf("has more than %d bytes", maxEventLine))
		case len(line) > 0:
			j.read(line)
		}
	}
	if j.events == 0 && j.first != "" {
		return j.out, agency.Errorf(agency.KindInvalid, "no line is an event: %s", j.first)
	}
	if over := j.warned - maxWarnings; over > 0 {
		j.out.Warnings = append(j.out.Warnings, fmt.Sprintf("%d more lines were left out", over))
	}
	return j.out, nil
}

// readLine gives the next line, cut where it is long.
func readLine(in *bufio.Reader) (line []byte, long bool, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if room := maxEventLine - len(line); len(part) > room {
			part, long = part[:room], true
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, long, err
		}
	}
}

// judge is a history that is being read.
type judge struct {
	settings config.Overseer
	runs     map[agency.RunID]*judged
	out      Oversight
	line     int
	events   int
	warned   int
	first    string // warning of a line that is no event
}

// judged is one run of a history.
type judged struct {
	watch *overseer.Watch
	event int64 // the last one
	line  int   // of it
}

func (j *judge) warn(what string) string {
	w := fmt.Sprintf("line %d %s", j.line, what)
	if j.warned++; j.warned <= maxWarnings {
		j.out.Warnings = append(j.out.Warnings, w+"; left out")
	}
	return w
}

// broken notes a line that is no event.
func (j *judge) broken(what string) {
	w := j.warn(what)
	if j.first == "" {
		j.first = w
	}
}

// read takes a line in.
func (j *judge) read(line []byte) {
	var e agency.Event
	if line[0] != '{' {
		j.broken("is no event: it is no JSON object")
		return
	}
	if err := json.Unmarshal(line, &e); err != nil {
		j.broken("is no event: " + err.Error())
		return
	}
	j.events++
	if e.Type == "" { // the first and the last line of `run --json`
		return
	}
	if _, err := agency.DecodeDetail(e); err != nil {
		j.warn("cannot be judged: " + err.Error())
		return
	}
	r := j.run(e.RunID)
	r.line = j.line
	if e.ID > 0 {
		if e.ID <= r.event {
			j.warn(fmt.Sprintf("repeats event %d, or comes after event %d", e.ID, r.event))
			return
		}
		r.event = e.ID
	}
	found, faults := r.watch.Observe(e)
	for _, f := range faults {
		j.warn(fmt.Sprintf("ended the detector of %s: %v", f.Behaviour, f.Panic))
	}
	j.out.Found = append(j.out.Found, found...)
}

// run is the run of an event.
func (j *judge) run(id agency.RunID) *judged {
	if r := j.runs[id]; r != nil {
		return r
	}
	if len(j.runs) >= maxRuns {
		var oldest agency.RunID
		at := j.line
		for other, r := range j.runs {
			if r.line < at {
				oldest, at = other, r.line
			}
		}
		delete(j.runs, oldest)
	}
	r := &judged{watch: overseer.NewWatch(j.settings)}
	j.runs[id] = r
	return r
}
