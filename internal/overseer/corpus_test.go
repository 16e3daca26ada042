package overseer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"agency/internal/agency"
)

// story is a labelled history of one agent, told turn by turn.
type story struct {
	name   string
	kind   string // behaviour or healthy pattern
	events []agency.Event
	// from is the turn at which the trouble begins; 0 where there is none.
	from  int
	wants []Behaviour // any of which is right

	r      *rand.Rand
	at     time.Time
	turn   int
	prompt int64
	pass   map[string]int
	tree   agency.OID // after each turn; empty: not told
	out    int64      // tokens of each answer; 0: some hundreds
	cached int64      // tokens of each prompt; 0: most, less: none
	ends   []time.Time
	said   map[int64][2]string // what an event's call asked, and what it was answered
}

func newStory(kind string, seed uint64) *story {
	s := &story{name: fmt.Sprintf("%s/%d", kind, seed), kind: kind, r: rand.New(rand.NewPCG(seed, 7)), at: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), prompt: 3000, pass: map[string]int{}, said: map[int64][2]string{}}
	s.add(agency.Spawned{Session: "s1", Attempt: 1, Model: "m"})
	return s
}

func (s *story) add(d agency.Detail) { s.say("", d) }

// say adds an event with the line that people read.
func (s *story) say(summary string, d agency.Detail) {
	e := agency.NewEvent("run-1", agency.SeverityInfo, summary, d)
	e.ID, e.Time, e.AgentID, e.ContractID = int64(len(s.events)+1), s.at, "scaffolder-1", "c1"
	s.events = append(s.events, e)
}

// step is one call of a turn.
type step struct {
	tool, path   string
	args, answer string
	old, with    string
	failed       bool
	refused      bool
	danger       []agency.DangerKind
	check        *agency.TestsRun
}

// does is one turn: its calls, then what it took.
func (s *story) does(steps ...step) {
	s.turn++
	for _, p := range steps {
		s.at = s.at.Add(time.Duration(500+s.r.IntN(3000)) * time.Millisecond)
		if p.check != nil {
			s.add(*p.check)
		}
		args := p.arguments()
		s.said[int64(len(s.events)+1)] = [2]string{p.tool + " " + string(args), p.answer}
		ds := DigestsOf(args, p.answer)
		if p.refused {
			s.say(p.gist(), agency.ToolRefused{Session: "s1", Turn: s.turn, Tool: p.tool, Reason: p.answer, CallDigests: ds, Danger: p.danger})
			continue
		}
		failed := ""
		if p.failed {
			failed = "error: " + p.answer
		}
		s.say(p.gist(), agency.ToolCalled{
			Session: "s1", Turn: s.turn, Tool: p.tool, Error: failed, CallDigests: ds, Path: p.path, Danger: p.danger,
			Ended: p.ended(), Waits: Waits(p.tool, args), Use: UseOf(p.tool, args),
		})
		s.prompt += int64(len(p.answer)+len(args))/4 + 60
	}
	s.at = s.at.Add(time.Duration(2+s.r.IntN(9)) * time.Second)
	s.prompt += int64(100 + s.r.IntN(200))
	cached := max(0, cmp.Or(s.cached, s.prompt*8/10))
	s.add(agency.TurnCompleted{Session: "s1", Turn: s.turn, In: s.prompt, Cached: cached, Out: cmp.Or(s.out, int64(80+s.r.IntN(300))), Tree: s.tree})
	s.ends = append(s.ends, s.at)
}

// turnOf is the turn in which something was seen.
func (s *story) turnOf(at time.Time) int {
	for i, end := range s.ends {
		if !at.After(end) {
			return i + 1
		}
	}
	return len(s.ends)
}

// gist is the line by which the log tells of the step.
func (p step) gist() string {
	words := cmp.Or(p.path, p.args)
	return strings.TrimSpace(p.tool + " " + words[:min(len(words), 80)])
}

// arguments are those of the step's call, as the tools name them.
func (p step) arguments() []byte {
	named := map[string]string{"path": p.path, "args": p.args, "old_text": p.old, "new_text": p.with}
	switch p.tool {
	case shell:
		named = map[string]string{"command": p.args}
	case "write_file":
		named = map[string]string{"path": p.path, "content": p.with}
	}
	args, _ := json.Marshal(named)
	return args
}

// ended is how the step's command ended; empty: well.
func (p step) ended() string {
	first, _, _ := strings.Cut(p.answer, "\n")
	if (p.tool == shell || kinds[p.tool] == checks) && strings.HasPrefix(first, "exit code ") && first != "exit code 0" {
		return first
	}
	return ""
}

// lines are as many of text, of which none is like another.
func (s *story) lines(n int) []string {
	var out []string
	for range n {
		out = append(out, s.text(7))
	}
	return out
}

// claims is a claim that is refused, for tests that fail or for a reason.
func (s *story) claims(red ...string) {
	s.does(step{tool: "signal_complete", args: s.text(6), answer: "noted"})
	s.add(agency.Claimed{Session: "s1", Summary: s.text(4)})
	v := agency.VerdictSubmitted{Verdict: "fail", Reasons: []string{s.text(3)}, Red: []agency.Red{{Kind: agency.CheckTest, Failed: len(red), Last: []string{s.text(5)}}}}
	for _, name := range red {
		v.Red[0].Tests = append(v.Red[0].Tests, agency.RedTest{Name: name})
	}
	s.add(v)
}

// starts marks the next turn as the one at which the trouble begins.
func (s *story) starts(wants ...Behaviour) { s.from, s.wants = s.turn+1, wants }

// file is a name that is drawn; n tells several apart.
func (s *story) file(n int) string { return fmt.Sprintf("pkg%d/file%d.go", n%4, n) }

func (s *story) text(n int) string {
	words := []string{"if", "err", "return", "value", "map", "range", "count", "buffer", "index", "nil", "func", "total", "parse", "queue"}
	out := ""
	for range n {
		out += words[s.r.IntN(len(words))] + " "
	}
	return out
}

func (s *story) read(path string) step {
	return step{tool: "read_file", path: path, args: "whole", answer: "   1\t" + path + " " + s.text(30+s.r.IntN(200))}
}

func (s *story) edit(path string) step {
	return step{tool: "edit_file", path: path, old: s.text(6), with: s.text(9), answer: "edited " + path + "\n" + s.text(20)}
}

func (s *story) search(pattern string) step {
	return step{tool: "search_files", args: pattern, answer: s.text(30)}
}

func (s *story) run(line, answer string) step {
	return step{tool: "run_command", args: line, answer: "exit code 0\n" + answer}
}

// tests is a run of the tests: red names those that fail, in the way of says.
func (s *story) tests(passed int, says string, red ...string) step {
	t := agency.TestsRun{Command: "go test ./...", Passed: passed, Failed: len(red), Stage: "work"}
	answer := fmt.Sprintf("exit code 0\npassed %d, failed 0 in %d ms", passed, s.r.IntN(5000))
	if len(red) > 0 {
		t.ExitCode = 1
		t.Red = &agency.Red{Kind: agency.CheckTest, Command: t.Command, Failed: len(red), Last: []string{says}}
		for _, n := range red {
			t.Red.Tests = append(t.Red.Tests, agency.RedTest{Name: n})
		}
		answer = fmt.Sprintf("exit code 1\npassed %d, failed %d in %d ms\n%v %s", passed, len(red), s.r.IntN(5000), red, says)
	}
	return step{tool: "run_tests", answer: answer, check: &t}
}

// lint is a run of the linter with a number of findings.
func (s *story) builds(errors int) step {
	var found []string
	for i := range errors {
		found = append(found, fmt.Sprintf("%s:%d: undefined: name%d", s.file(i), 10+i, s.r.IntN(1000)))
	}
	t := agency.TestsRun{Command: "go build ./...", Failed: errors, Stage: "work"}
	if errors > 0 {
		t.ExitCode = 1
		t.Red = &agency.Red{Kind: agency.CheckBuild, Command: t.Command, Failed: errors, Findings: found}
	}
	return step{tool: "run_type_check", answer: fmt.Sprintf("exit code %d\n%v", t.ExitCode, found), check: &t}
}

// works is an ordinary beginning: some files are read, one is changed, tests pass.
func (s *story) works(turns int) {
	for i := range turns {
		switch {
		case i < 2:
			s.does(s.read(s.file(i)))
		case i%3 == 2:
			s.does(s.edit(s.file(i)))
		default:
			s.pass["go"]++
			s.does(s.tests(s.pass["go"]+i, ""))
		}
	}
}
