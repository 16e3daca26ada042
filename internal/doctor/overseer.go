package doctor

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

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
	// Warnings name what of the history was left out, and why, and values that cannot be.
	Warnings []string
	// Judged is how many events were, of so many Sessions; LeftOut how many lines were not,
	// by why.
	Judged   int
	Sessions int
	LeftOut  map[string]int
}

// Line says how much of the history the answer is of.
func (o Oversight) Line() string {
	return fmt.Sprintf("%s judged, of %s; %s", agency.Things(o.Judged, "event", "events"), agency.Things(o.Sessions, "session", "sessions"), o.leftOut())
}

func (o Oversight) leftOut() string {
	n, why := 0, make([]string, 0, len(o.LeftOut))
	for _, w := range slices.Sorted(maps.Keys(o.LeftOut)) {
		n += o.LeftOut[w]
		why = append(why, fmt.Sprintf("%d %s", o.LeftOut[w], w))
	}
	if n == 0 {
		return "none left out"
	}
	return fmt.Sprintf("%s left out: %s", agency.Things(n, "line", "lines"), strings.Join(why, ", "))
}

// OverseeFile is Oversee of a file; - is the standard input.
func OverseeFile(name string, stdin io.Reader, settings config.Overseer) (Oversight, error) {
	in := stdin
	if name != "-" {
		f, err := bounded.OpenAt(name)
		if err != nil {
			return Oversight{}, unopened(name, err)
		}
		defer func() { _ = f.Close() }() // only read
		in = f
	}
	out, err := oversee(name, in, settings)
	if err != nil {
		return out, fmt.Errorf("%s: %w", HistoryName(name), err)
	}
	return out, nil
}

// HistoryName is how a history is called.
func HistoryName(file string) string {
	if file == "-" {
		return "the standard input"
	}
	return file
}

// unopened says why there is no history to read.
func unopened(name string, err error) error {
	what := "cannot be opened"
	info, statErr := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		what = "there is no such file"
	case errors.Is(err, fs.ErrPermission):
		what = "you may not read it"
	case statErr == nil && info.IsDir():
		what = "is a folder, and a history is a file"
	case errors.Is(err, bounded.ErrNotPlain):
		what = "is no plain file; pipe it in, with - as the file"
	}
	return agency.Errorf(agency.KindInvalid, "%s: %s", name, what).WithMend("agency watch RUN --json >FILE")
}

// Oversee runs the overseer's detectors over a history: events as JSON, one a line,
// of one run or several, each run's in their order. A line that is none, of a type
// that this version does not know, of nobody, or the same again, is named and left out; one
// that is out of order, or has a value that cannot be, is named. KindInvalid says that
// nothing in it tells of an agent at work, so that no finding means nothing.
func Oversee(history io.Reader, settings config.Overseer) (Oversight, error) {
	return oversee("", history, settings)
}

func oversee(name string, history io.Reader, settings config.Overseer) (Oversight, error) {
	settings.Enabled = true // that it does not step in does not keep anybody from looking
	j := judge{settings: settings, runs: map[agency.RunID]*judged{}, out: Oversight{
		Found: []overseer.Detection{}, Agents: []overseer.Snapshot{}, LeftOut: map[string]int{},
	}}
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
			j.leave(leftLong, fmt.Sprintf("has more than %d bytes: shorten its texts, call and answer may be digests of them", maxEventLine))
		case len(line) > 0:
			if j.head == nil {
				j.head = bytes.Clone(line[:min(len(line), 2)])
			}
			j.read(line)
		}
	}
	if err := j.unjudged(); err != nil {
		return j.out, agency.Errorf(agency.KindInvalid, "%w", err).WithMend("%s", oneALine(name, j.head))
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
	head     []byte // of the first line that is not empty
	events   int
	warned   int
	first    string // warning of a line that was left out
}

// judged is one run of a history.
type judged struct {
	watch *overseer.Watch
	event int64 // the last one
	line  int   // of it
	seen  map[uint64]bool
	heard map[string]map[agency.SessionID]bool // sessions, by who works in them
}

// unjudged says why nothing of a history could be judged; nil where something was.
func (j *judge) unjudged() error {
	switch {
	case j.out.Sessions > 0:
		return nil
	case j.events == 0 && j.first != "":
		return fmt.Errorf("no line is an event: %s", j.first)
	case j.events == 0:
		return errors.New("there is no event in it")
	case j.first != "":
		return fmt.Errorf("nothing in it tells of an agent at work: %s; %s", j.first, j.out.leftOut())
	}
	return errors.New("nothing in it tells of an agent at work: no call, no turn, no check")
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

// hears tells whether a session is a new one: of an agent whose events name none, the
// first is.
func (r *judged) hears(agent agency.AgentID, session agency.SessionID) bool {
	who := string(cmp.Or(agent, agency.AgentID(session)))
	known := r.heard[who]
	if known[session] || session == "" && len(known) > 0 || len(r.heard) >= maxSeen {
		return false
	}
	if known == nil {
		known = map[agency.SessionID]bool{}
		r.heard[who] = known
	}
	fresh := !known[""]
	delete(known, "") // an event that named none was of this one
	known[session] = true
	return fresh
}

func (j *judge) warn(what string) {
	w := fmt.Sprintf("line %d %s", j.line, what)
	if j.warned++; j.warned <= maxWarnings {
		j.out.Warnings = append(j.out.Warnings, w)
	}
}

// leave notes a line that is left out, and why.
func (j *judge) leave(why, what string) {
	j.warn(what + "; left out")
	j.out.LeftOut[why]++
	if j.first == "" {
		j.first = fmt.Sprintf("line %d %s", j.line, what)
	}
}

// read takes a line in.
func (j *judge) read(line []byte) {
	l, what := readEvent(line)
	e := l.Event
	switch {
	case what != "":
		j.leave(leftBroken, "is no event: "+what)
		return
	case l.framing():
		return
	}
	j.events++
	if e.Type == "" {
		j.leave(leftTypeless, "has no type, such as tool_called or turn_completed")
		return
	}
	d, err := agency.DecodeDetail(e)
	var form *json.UnmarshalTypeError
	switch {
	case errors.As(err, &form):
		j.leave(leftForm, fmt.Sprintf("cannot be judged: in the details of %s %s", e.Type, formFault(err)))
		return
	case err != nil:
		j.leave(leftUnknown, "cannot be judged: "+err.Error())
		return
	}
	session, works := overseer.SessionOf(d)
	if works && e.AgentID == "" && session == "" {
		j.leave(leftNobody, fmt.Sprintf("cannot be judged: %s names neither agent_id nor details.session_id", e.Type))
		return
	}
	r := j.run(e.RunID)
	r.line = j.line
	if e.ID > 0 && r.again(line) {
		j.leave(leftRepeated, fmt.Sprintf("repeats event %d", e.ID))
		return
	}
	for _, what := range outOfRange(e, d) {
		j.warn(what + "; judged as it stands")
	}
	if e.ID > 0 && e.ID <= r.event {
		j.warn(fmt.Sprintf("is event %d and comes after event %d; judged where it stands", e.ID, r.event))
		e.ID = 0
	}
	r.event = max(r.event, e.ID)
	j.out.Judged++
	if works && e.Role != agency.RoleOverseer && r.hears(e.AgentID, session) {
		j.out.Sessions++
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
	r := &judged{watch: overseer.NewWatch(j.settings), seen: map[uint64]bool{}, heard: map[string]map[agency.SessionID]bool{}}
	j.runs[id] = r
	return r
}
