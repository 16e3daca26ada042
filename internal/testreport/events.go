package testreport

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"path"
	"strings"

	"agency/internal/agency"
	"agency/internal/text"
)

// Event is one line of what the reporters of this package write.
type Event struct {
	Begin  bool              `json:"begin"`
	End    bool              `json:"end"`
	File   string            `json:"file"`
	Name   []string          `json:"name"` // suites and test, outermost first
	ID     string            `json:"id"`   // or the name as its runner writes it
	Status agency.TestStatus `json:"status"`
	Out    string            `json:"out"`
	whole  bool              // it is of a file or module as a whole
}

// Paths turns paths of a runner into paths of the repository.
type Paths struct {
	Roots []string // where the checkout is seen: inside, and on the host
	Dir   string   // working folder of the call, relative to the checkout
}

// File is a path relative to the repository, as short as it can be said.
func (p Paths) File(name string) string {
	name = strings.TrimPrefix(name, "file://")
	for _, r := range p.Roots {
		if rest, ok := strings.CutPrefix(name, r+"/"); ok {
			return path.Clean(rest)
		}
	}
	if path.IsAbs(name) {
		return name
	}
	return path.Join(p.Dir, name)
}

// Local prefixes a name that has no file with the folder of its part, so that
// two parts of a repository never share one.
func (p Paths) Local(name string) string {
	if p.Dir == "" || p.Dir == "." {
		return name
	}
	return p.Dir + "/" + name
}

// ReadEvents adds the results of one report to t. complete is false where it
// has no end, or an event that is too long. group, where set, tells an id that is of
// a module or class as a whole, and its name.
func ReadEvents(doc io.Reader, p Paths, t *Tally, group func(id string) (name string, ok bool)) (complete bool) {
	seen := map[string]int{}
	began, ended := 0, 0
	complete = true
	for line, whole := range Lines(doc) {
		complete = complete && whole
		var ev Event
		if json.Unmarshal(line, &ev) != nil {
			continue
		}
		switch {
		case ev.Begin:
			began++
		case ev.End:
			ended++
		default:
			if ev.File == "" && ev.ID != "" && group != nil {
				if name, ok := group(ev.ID); ok {
					ev.ID, ev.whole = name, true
				}
			}
			AddEvent(ev, Whole(ev.Out), p, t, seen)
		}
	}
	return complete && began > 0 && ended >= began
}

func AddEvent(ev Event, out *Excerpt, p Paths, t *Tally, seen map[string]int) {
	switch ev.Status {
	case agency.TestPassed, agency.TestFailed, agency.TestSkipped:
	default:
		return
	}
	name := ev.name(p)
	if name == "" {
		return
	}
	// Tests of one name in one suite are told apart by their order. A name that
	// pytest reports for set-up, call and tear-down is one test.
	if ev.ID == "" && len(ev.Name) > 0 {
		name = t.Number(seen, name)
	}
	t.Add(name, ev.Status, out)
}

func (ev Event) name(p Paths) string {
	switch {
	case ev.File == "" && ev.ID != "":
		if ev.whole {
			return p.Local(text.OneLine(ev.ID, 500)) + PackageFailed
		}
		return p.Local(text.OneLine(ev.ID, 500))
	case ev.File == "":
		return p.Local(text.OneLine(strings.Join(ev.Name, Separator), 500))
	case ev.ID != "":
		return p.File(ev.File) + "::" + text.OneLine(ev.ID, 500)
	case len(ev.Name) > 0:
		return p.File(ev.File) + Separator + text.OneLine(strings.Join(ev.Name, Separator), 500)
	case ev.Status == agency.TestFailed:
		return p.File(ev.File) + PackageFailed
	}
	return ""
}

// ReadReporter reads what a runner that was asked may write: JUnit XML, or what
// ReadEvents reads.
func ReadReporter(doc io.Reader, p Paths, t *Tally, group func(id string) (name string, ok bool)) (complete bool) {
	in := bufio.NewReaderSize(doc, MaxHead)
	complete, err := ReadJUnit(in, p, t)
	if errors.Is(err, ErrNoJUnit) {
		return ReadEvents(in, p, t, group)
	}
	return complete
}
