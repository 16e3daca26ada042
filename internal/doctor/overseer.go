package doctor

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"slices"

	"agency/internal/agency"
	"agency/internal/bounded"
	"agency/internal/config"
	"agency/internal/overseer"
)

// Bounds of a history, which may come from anywhere.
const (
	maxEventLine = 1 << 20 // bytes of an event
	maxWarnings  = 20      // that are named
	maxSeen      = 1 << 16 // events of a run that are told apart from those that come again
	maxRuns      = 64      // that are judged beside each other; the one longest silent is begun anew
)

// Oversight is what the detectors find in a history.
type Oversight struct {
	Found []overseer.Detection
	// Agents are what each did in its sessions.
	Agents []overseer.Snapshot
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
// that this version does not know, or the same again, is named and left out; one that is
// out of order is named. KindInvalid says that no line is an event.
func Oversee(history io.Reader, settings config.Overseer) (Oversight, error) {
	j := judge{settings: settings, runs: map[agency.RunID]*judged{}, out: Oversight{Found: []overseer.Detection{}, Agents: []overseer.Snapshot{}}}
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
	if j.events == 0 {
		return j.out, agency.Errorf(agency.KindInvalid, "there is no event in it").WithMend("agency watch RUN --json prints those of a run")
	}
	for _, id := range slices.Sorted(maps.Keys(j.runs)) {
		j.out.Agents = append(j.out.Agents, j.runs[id].watch.Snapshots()...)
	}
	if over := j.warned - maxWarnings; over > 0 {
		j.out.Warnings = append(j.out.Warnings, fmt.Sprintf("%d more lines are like that", over))
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
	seen  map[uint64]bool
}

// again tells whether an event came before, and remembers it. Whoever wrote the history
// may count the events of each agent by itself.
func (r *judged) again(line []byte) bool {
	h := fnv.New64a()
	_, _ = h.Write(line) // a hash never fails
	if len(r.seen) >= maxSeen {
		clear(r.seen)
	}
	known := r.seen[h.Sum64()]
	r.seen[h.Sum64()] = true
	return known
}

func (j *judge) warn(what string) {
	w := fmt.Sprintf("line %d %s", j.line, what)
	if j.warned++; j.warned <= maxWarnings {
		j.out.Warnings = append(j.out.Warnings, w)
	}
}

// broken notes a line that is no event.
func (j *judge) broken(what string) {
	w := fmt.Sprintf("line %d %s", j.line, what)
	j.warn(what + "; left out")
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
		j.warn("cannot be judged: " + err.Error() + "; left out")
		return
	}
	r := j.run(e.RunID)
	r.line = j.line
	if e.ID > 0 && r.again(line) {
		j.warn(fmt.Sprintf("repeats event %d; left out", e.ID))
		return
	}
	if e.ID > 0 && e.ID <= r.event {
		j.warn(fmt.Sprintf("is event %d and comes after event %d; judged where it stands", e.ID, r.event))
		e.ID = 0
	}
	r.event = max(r.event, e.ID)
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
	r := &judged{watch: overseer.NewWatch(j.settings), seen: map[uint64]bool{}}
	j.runs[id] = r
	return r
}
