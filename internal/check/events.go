package check

import (
	"encoding/json"
	"io"
	"path"
	"regexp"
	"strings"

	"agency/internal/agency"
)

// reportEvent is one line of what the reporters of this package write.
type reportEvent struct {
	Begin  bool              `json:"begin"`
	End    bool              `json:"end"`
	File   string            `json:"file"`
	Name   []string          `json:"name"` // suites and test, outermost first
	ID     string            `json:"id"`   // or the name as its runner writes it
	Status agency.TestStatus `json:"status"`
	Out    string            `json:"out"`
}

// between stands between the parts of a test's name, and after its file.
const between = " > "

// paths turns paths of a runner into paths of the repository.
type paths struct {
	roots []string // where the checkout is seen: inside, and on the host
	dir   string   // working folder of the call, relative to the checkout
}

// file is a path relative to the repository, as short as it can be said.
func (p paths) file(name string) string {
	name = strings.TrimPrefix(name, "file://")
	for _, r := range p.roots {
		if rest, ok := strings.CutPrefix(name, r+"/"); ok {
			return path.Clean(rest)
		}
	}
	if path.IsAbs(name) {
		return name
	}
	return path.Join(p.dir, name)
}

// local prefixes a name that has no file with the folder of its part, so that
// two parts of a repository never share one.
func (p paths) local(name string) string {
	if p.dir == "" || p.dir == "." {
		return name
	}
	return p.dir + "/" + name
}

// parseEvents adds the results of one report to t. complete is false where it
// has no end, or an event that is too long.
func parseEvents(doc io.Reader, p paths, t *tally) (complete bool) {
	seen := map[string]int{}
	began, ended := 0, 0
	complete = true
	for line, whole := range lines(doc) {
		complete = complete && whole
		var ev reportEvent
		if json.Unmarshal(line, &ev) != nil {
			continue
		}
		switch {
		case ev.Begin:
			began++
		case ev.End:
			ended++
		default:
			addEvent(ev, keep(ev.Out), p, t, seen)
		}
	}
	return complete && began > 0 && ended >= began
}

func addEvent(ev reportEvent, out *kept, p paths, t *tally, seen map[string]int) {
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
		name = t.number(seen, name)
	}
	t.add(name, ev.Status, out)
}

// failedToLoad is how unittest names a module that could not be imported.
var failedToLoad = regexp.MustCompile(`^unittest\.loader\.(?:_FailedTest|ModuleImportFailure)\.`)

// failedFixture is how unittest names what stands around a class or module.
var failedFixture = regexp.MustCompile(`^(?:setUp|tearDown)(?:Class|Module) \((.+)\)$`)

func (ev reportEvent) name(p paths) string {
	switch {
	case ev.File == "" && ev.ID != "":
		if rest := failedToLoad.ReplaceAllString(ev.ID, ""); rest != ev.ID {
			return p.local(oneLine(rest)) + PackageFailed
		}
		if m := failedFixture.FindStringSubmatch(ev.ID); m != nil {
			return p.local(oneLine(m[1])) + PackageFailed
		}
		return p.local(oneLine(ev.ID))
	case ev.File == "":
		return p.local(oneLine(strings.Join(ev.Name, between)))
	case ev.ID != "":
		return p.file(ev.File) + "::" + oneLine(ev.ID)
	case len(ev.Name) > 0:
		return p.file(ev.File) + between + oneLine(strings.Join(ev.Name, between))
	case ev.Status == agency.TestFailed:
		return p.file(ev.File) + PackageFailed
	}
	return ""
}
