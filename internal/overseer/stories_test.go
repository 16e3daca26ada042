package overseer

import (
	"fmt"
	"strings"
	"time"

	"agency/internal/agency"
)

// stuck are the stories of agents that do not get on, by name: what they do from
// the turn on at which it begins.
var stuck = map[string]func(s *story){
	"exact loop": func(s *story) {
		s.starts(InfiniteLoop)
		same := s.search("TODO")
		for range 9 {
			s.does(same)
		}
	},
	"loop over a command": func(s *story) {
		s.starts(InfiniteLoop, RepeatedFailures)
		line := s.run("make all", "")
		line.answer = "exit code 2\nmake: *** no rule to make target all"
		for range 9 {
			s.does(line)
		}
	},
	"loop with changing white space": func(s *story) {
		s.starts(InfiniteLoop)
		for i := range 10 {
			s.does(step{tool: "search_files", args: fmt.Sprintf("func%*s main", i+1, " "), answer: "no matches"})
		}
	},
	"loop with counters": func(s *story) {
		s.starts(InfiniteLoop)
		for i := range 10 {
			s.does(step{tool: "run_command", args: fmt.Sprintf("./try.sh %d", i), answer: fmt.Sprintf("exit code 1\nattempt %d failed after %d ms", i, s.r.IntN(900))})
		}
	},
	"round of two": func(s *story) {
		s.starts(InfiniteLoop, Stagnation)
		a, b := s.read("a.go"), s.search("a")
		for range 6 {
			s.does(a)
			s.does(b)
		}
	},
	"round of three in one turn": func(s *story) {
		s.starts(InfiniteLoop, Stagnation)
		a, b, c := s.read("a.go"), s.search("a"), s.run("ls", "a.go b.go")
		for range 8 {
			s.does(a, b, c)
		}
	},
	"edit and undo": func(s *story) {
		s.starts(InfiniteLoop)
		there, back := s.edit("a.go"), s.edit("a.go")
		back.old, back.with = there.with, there.old
		for range 6 {
			s.does(there)
			s.does(back)
		}
	},
	"edit, test and undo": func(s *story) {
		s.starts(InfiniteLoop, RepeatedFailures)
		there, back := s.edit("a.go"), s.edit("a.go")
		back.old, back.with = there.with, there.old
		for range 4 {
			s.does(there, s.tests(3, "want 1, got 2", "TestA"))
			s.does(back, s.tests(3, "want 1, got 3", "TestB"))
		}
	},
	"two files by turns": func(s *story) {
		s.starts(InfiniteLoop, RepeatedFailures)
		a, b := s.edit("a.go"), s.edit("b.go")
		undoA, undoB := a, b
		undoA.old, undoA.with, undoB.old, undoB.with = a.with, a.old, b.with, b.old
		for range 3 {
			for _, e := range []step{a, b, undoA, undoB} {
				s.does(e)
			}
		}
	},
	"same failing test, other edits": func(s *story) {
		s.starts(RepeatedFailures)
		for i := range 6 {
			s.does(s.edit(s.file(i)))
			s.does(s.tests(4, "want 7, got 8", "TestTotal"))
		}
	},
	"same failing test, edits in the turn": func(s *story) {
		s.starts(RepeatedFailures)
		for i := range 9 {
			s.does(s.edit(s.file(i)), s.tests(4, "want 7, got 8", "TestTotal"))
		}
	},
	"growing errors": func(s *story) {
		s.starts(RepeatedFailures)
		for i := range 7 {
			s.does(s.edit(s.file(i)), s.builds(2+4*i))
		}
	},
	"errors that grow slowly": func(s *story) {
		s.starts(RepeatedFailures)
		for i := range 9 {
			s.does(s.edit(s.file(i)), s.builds(1+3*i))
		}
	},
	"edits that never fit": func(s *story) {
		s.starts(RepeatedFailures, InfiniteLoop)
		for i := range 9 {
			s.does(step{tool: "edit_file", path: "a.go", old: s.text(5), with: s.text(4), failed: true, answer: fmt.Sprintf("a.go: old_text is not in the file (%d)", i)})
		}
	},
	"talk without change": func(s *story) {
		s.starts(Stagnation)
		for range 9 {
			s.does(step{tool: "send_message", args: s.text(40), answer: "sent"})
		}
	},
	"silence": func(s *story) {
		s.starts(Stagnation)
		for range 9 {
			s.does()
		}
	},
	"reading the same again": func(s *story) {
		var files []step
		for i := range 3 {
			files = append(files, s.read(s.file(i)))
			s.does(files[i])
		}
		s.starts(Stagnation, InfiniteLoop)
		for range 10 {
			s.does(files[s.r.IntN(3)])
		}
	},
	"slow drip": func(s *story) {
		s.starts(Inefficiency, InfiniteLoop)
		last := s.text(8)
		for range 10 {
			e := s.edit("a.go")
			e.old, e.with = last, s.text(8)
			last = e.with
			s.does(e)
		}
	},
	"notes alone": func(s *story) {
		s.starts(Stagnation, InfiniteLoop)
		for i := range 9 {
			s.does(step{tool: "todo", args: fmt.Sprint("step ", i, s.text(9)), answer: "noted"})
		}
	},
	"reviews by turns": func(s *story) {
		s.starts(Oscillation)
		for i := range 5 {
			s.does(s.edit(s.file(i)))
			place := []string{"a.go", "b.go"}[i%2]
			s.add(agency.ReviewSubmitted{Verdict: "request_changes", Issues: 1, Iteration: i + 1, Major: 1, Places: []string{place}})
		}
	},
	"reviews that find more": func(s *story) {
		s.starts(ScopeCreep)
		for i := range 5 {
			s.does(s.edit(s.file(i)))
			var places []string
			for n := range i + 1 {
				places = append(places, s.file(n+i))
			}
			s.add(agency.ReviewSubmitted{Verdict: "request_changes", Issues: i + 1, Iteration: i + 1, Major: i + 1, Places: places})
		}
	},
	"refused again and again": func(s *story) {
		s.starts(RepeatedFailures, Inefficiency, InfiniteLoop, Stagnation)
		for i := range 9 {
			s.does(step{tool: "write_file", path: "../" + s.file(i), with: s.text(8), refused: true, answer: s.file(i) + " is outside of the workspace"})
		}
	},
	"failures by turns": func(s *story) {
		s.starts(RepeatedFailures)
		for i := range 9 {
			says, red := "nil pointer", "TestA"
			if i%2 == 1 {
				says, red = "want empty", "TestB"
			}
			s.does(s.edit("a.go"), s.tests(40, says, red))
		}
	},
	"the same tests by turns": func(s *story) {
		s.starts(RepeatedFailures)
		for i := range 9 {
			s.does(s.edit(s.file(i%2)), s.tests(40, s.text(7), []string{"TestA", "TestB"}[i%2]), s.read(s.file(20+i)))
			s.does(s.tests(40, s.text(7), []string{"TestB", "TestA"}[i%2]))
		}
	},
	"a command in other words": func(s *story) {
		s.starts(RepeatedFailures)
		for i := range 10 {
			c := s.run("pytest -q tests/test_x.py"+[]string{"", " -x", " -vv"}[i%3]+[]string{"", " --tb=short"}[i%2], "")
			c.answer = "exit code 1\nFAILED tests/test_x.py::test_hard - assert 3 == 4"
			s.does(s.edit(s.file(i)), c)
		}
	},
	"commands that are not there": func(s *story) {
		s.starts(RepeatedFailures)
		for i := range 9 {
			c := s.run(s.text(2), "")
			c.answer = fmt.Sprintf("exit code 127\nsh: %s: not found", s.text(1+i))
			s.does(c)
		}
	},
	"a file written whole again": func(s *story) {
		s.starts(Inefficiency)
		for range 9 {
			s.does(step{tool: "write_file", path: "a.go", with: strings.Join(s.lines(60), "\n"), answer: "wrote a.go"})
		}
	},
	"wandering by commands": func(s *story) {
		lines := s.lines(300)
		s.does(s.run("cat a.go", strings.Join(lines, "\n")))
		s.starts(Stagnation, InfiniteLoop)
		for i := range 10 {
			from := s.r.IntN(200)
			line := fmt.Sprintf("sed -n %d,%dp a.go", from, from+60)
			if i%3 == 2 {
				line = fmt.Sprintf("head -n %d a.go | tail -n 60", from+60)
			}
			s.does(s.run(line, strings.Join(lines[from:from+60], "\n")))
		}
	},
	"thinking aloud by commands": func(s *story) {
		s.starts(Stagnation)
		for range 10 {
			words := s.text(40)
			s.does(s.run(`echo "`+words+`"`, words))
		}
	},
	"nothing found, again and again": func(s *story) {
		s.starts(InfiniteLoop)
		for range 9 {
			s.does(step{tool: "search_files", args: s.text(3), answer: "no matches"})
		}
	},
	"round of five": func(s *story) {
		var round []step
		for i := range 5 {
			round = append(round, s.read(s.file(i)))
			s.does(round[i])
		}
		s.starts(InfiniteLoop, Stagnation)
		for i := range 10 {
			s.does(round[i%5])
		}
	},
	"the same look beside others": func(s *story) {
		s.starts(InfiniteLoop)
		same := s.read("a.go")
		for i := range 9 {
			if i%3 == 2 {
				s.does(same, s.read(s.file(i)))
			} else {
				s.does(same)
			}
		}
	},
	"claims refused for the same": func(s *story) {
		s.starts(RepeatedFailures)
		for range 5 {
			s.does(s.edit(s.file(s.r.IntN(50))))
			s.claims("TestHard")
		}
	},
	"refused over many tools": func(s *story) {
		s.starts(Inefficiency, RepeatedFailures)
		for i := range 9 {
			tool := []string{"write_file", "edit_file", "delete_file"}[i%3]
			no := step{tool: tool, path: "../" + s.file(i), with: s.text(8), refused: true, answer: s.text(3) + "is outside of the workspace"}
			if i%2 == 1 {
				s.does(no, s.read(s.file(i)))
			} else {
				s.does(no)
			}
		}
	},
	"undone by a command": func(s *story) {
		s.starts(InfiniteLoop)
		for i := range 9 {
			s.tree = agency.OID([]string{"t1", "t0"}[i%2])
			if i%2 == 0 {
				s.does(s.run(fmt.Sprintf("sed -i s/a/b%s/ a.go", s.text(1)), s.text(6)))
			} else {
				s.does(s.run("git checkout -- a.go", s.text(6)))
			}
		}
	},
	"reviews that do not get fewer": func(s *story) {
		s.starts(Oscillation)
		for i := range 6 {
			s.does(s.edit(s.file(i)))
			s.add(agency.ReviewSubmitted{Verdict: "request_changes", Issues: 1 + i%2, Iteration: i + 1, Major: 1 + i%2, Places: []string{s.file(i)}})
		}
	},
	"a secret printed": func(s *story) {
		s.starts(Danger)
		c := s.run("printenv", agency.Redacted)
		c.danger = []agency.DangerKind{agency.DangerSecret}
		s.does(c)
		s.works(4)
	},
	"rewriting history": func(s *story) {
		s.starts(Danger)
		c := s.run("git filter-branch --all", "rewrote 30 commits")
		c.danger = []agency.DangerKind{agency.DangerHistory}
		s.does(c)
		s.works(4)
	},
	"trying the walls": func(s *story) {
		s.starts(Danger)
		for i := range 6 {
			c := s.run(fmt.Sprintf("unshare -r %d", i), s.text(4))
			c.danger = []agency.DangerKind{agency.DangerEscape}
			s.does(c)
		}
	},
}

// healthy are the stories of agents that get on, however it looks.
var healthy = map[string]func(s *story){
	"ordinary work": func(s *story) { s.works(20 + s.r.IntN(20)) },
	"long reads": func(s *story) {
		for i := range 10 + s.r.IntN(9) {
			s.does(s.read(s.file(i)))
		}
		s.works(9)
	},
	"reads a long file in pieces": func(s *story) {
		for i := range 14 {
			r := s.read("long.go")
			r.args = fmt.Sprint("offset ", i*200)
			s.does(r)
		}
		s.works(6)
	},
	"big refactor": func(s *story) {
		for i, n := range []int{14, 12, 9, 9, 7, 4, 2, 0} {
			s.does(s.edit(s.file(i)), s.edit(s.file(i+9)), s.builds(n))
		}
		s.does(s.tests(30, ""))
	},
	"refactor whose errors rise first": func(s *story) {
		for i, n := range []int{3, 12, 11, 8, 5, 1, 0} {
			s.does(s.edit(s.file(i)), s.builds(n))
		}
		s.does(s.tests(30, ""))
	},
	"flaky network": func(s *story) {
		s.works(4)
		failed := s.run("go mod download", "")
		failed.answer = "exit code 1\ndial tcp: i/o timeout"
		for range 2 + s.r.IntN(3) {
			s.does(failed)
		}
		s.does(s.run("go mod download", "done"))
		s.works(5)
	},
	"long build, polled": func(s *story) {
		s.does(s.run("make -j2 & ", "command 7 started"))
		for i := range 12 {
			s.does(step{tool: "command_output", args: "7", answer: "still running" + fmt.Sprint(i/5)})
		}
		s.does(step{tool: "command_output", args: "7", answer: "exit code 0"})
		s.works(5)
	},
	"waits for others": func(s *story) {
		for range 10 {
			s.does(step{tool: "wait_for_agents", args: "all", answer: "2 are still at work"})
		}
		s.works(5)
	},
	"polls by a command": func(s *story) {
		same := s.run("sleep 90; tail -n 1 build.log", "compiling")
		for range 9 {
			s.at = s.at.Add(90 * time.Second)
			s.does(same)
		}
		s.works(5)
	},
	"looks at states and waits": func(s *story) {
		for range 6 {
			s.does(step{tool: "get_subcontract_status", args: "{}", answer: "a in_progress"})
			s.does(step{tool: "wait_for_agents", args: "a", answer: "a is at work"})
		}
	},
	"reads forty files": func(s *story) {
		for i := range 45 {
			s.does(s.read(s.file(i)))
			s.prompt = 3000
		}
		s.works(6)
	},
	"searches where nothing is": func(s *story) {
		for _, word := range []string{"alpha", "beta", "gamma", "delta", "epsilon", "zeta"} {
			s.does(step{tool: "search_files", args: word, answer: "no matches"})
		}
		s.works(6)
	},
	"numbers that fall": func(s *story) {
		for i := range 6 {
			s.does(s.edit("a.go"), s.tests(7, fmt.Sprintf("%d lines differ", 93-13*i), "TestGolden"))
		}
		s.does(s.tests(8, ""))
	},
	"many small edits": func(s *story) {
		for i := range 14 {
			s.does(s.edit(s.file(i % 3)))
		}
		s.does(s.tests(20, ""))
	},
	"one test after the other": func(s *story) {
		names := []string{"TestA", "TestB", "TestC", "TestD", "TestE", "TestF"}
		for i := range names {
			s.does(s.edit("a.go"), s.tests(i, "want "+s.text(2), names[i:]...))
		}
		s.does(s.tests(6, ""))
	},
	"one hard test": func(s *story) {
		for range 5 {
			s.does(s.read(s.file(s.r.IntN(50))))
			s.does(s.edit("a.go"))
			s.does(s.tests(7, s.text(5), "TestHard"))
		}
		s.does(s.tests(8, ""))
	},
	"the same command, new answers": func(s *story) {
		for range 4 {
			s.does(s.run("git status --short", "M "+s.text(3)))
			s.does(s.edit(s.file(s.r.IntN(20))))
		}
		s.does(s.tests(9, ""))
	},
	"looks four times": func(s *story) {
		s.works(3)
		same := s.read("a.go")
		for range 4 {
			s.does(same)
		}
		s.works(6)
	},
	"tries and takes back": func(s *story) {
		s.works(3)
		there, back := s.edit("a.go"), s.edit("a.go")
		back.old, back.with = there.with, there.old
		s.does(there)
		s.does(s.tests(3, s.text(3), "TestA"))
		s.does(back)
		s.works(8)
	},
	"reads a long file by a command": func(s *story) {
		lines := s.lines(2800)
		for i := range 14 {
			s.does(s.run(fmt.Sprintf("sed -n %d,%dp long.go", 1+i*200, 200+i*200), strings.Join(lines[i*200:(i+1)*200], "\n")))
			s.prompt = 3000
		}
		s.works(6)
	},
	"greps where nothing is": func(s *story) {
		for _, word := range []string{"alpha", "beta", "gamma", "delta", "epsilon", "zeta"} {
			c := s.run("grep -rn "+word+" .", "")
			c.answer = "exit code 1\n"
			s.does(c)
		}
		s.works(6)
	},
	"a text that grows": func(s *story) {
		lines := s.lines(40)
		for i := range 10 {
			lines = append(lines, s.lines(30)...)
			s.does(step{tool: "write_file", path: "docs/guide.md", with: strings.Join(lines, "\n"), answer: fmt.Sprint("wrote docs/guide.md ", i)})
		}
	},
	"tests first": func(s *story) {
		for i := range s.events {
			s.events[i].Role = agency.RoleTestEngineer
		}
		var red []string
		for i := range 8 {
			red = append(red, "TestSpec"+string(rune('A'+i)))
			s.does(s.edit(s.file(i)), s.tests(10, "not implemented", red...))
		}
	},
	"a flaky test": func(s *story) {
		for i := range 12 {
			if i%3 == 0 {
				s.does(s.edit(s.file(i)), s.tests(50, "timeout waiting", "TestFlaky"))
			} else {
				s.does(s.edit(s.file(i)), s.tests(51, ""))
			}
		}
	},
	"prints put in and taken out": func(s *story) {
		there, back := s.edit("a.go"), s.edit("a.go")
		back.old, back.with = there.with, there.old
		for range 2 {
			s.does(there)
			s.does(s.run("go run .", s.text(30)))
			s.does(back)
			s.does(s.edit(s.file(s.r.IntN(40))))
		}
		s.works(6)
	},
	"works by commands alone": func(s *story) {
		for i := range 12 {
			s.tree = agency.OID(fmt.Sprint("t", i))
			s.does(s.run("gofmt -w "+s.file(i), ""))
		}
		s.does(s.tests(9, ""))
	},
	"files made one after the other": func(s *story) {
		for i := range 12 {
			s.does(step{tool: "write_file", path: s.file(i), with: s.text(90), answer: "wrote " + s.file(i)})
		}
	},
	"claims that fail in other ways": func(s *story) {
		for i := range 4 {
			s.does(s.edit(s.file(i)), s.tests(9+i, ""))
			s.claims("Test" + string(rune('A'+i)))
		}
	},
	"a second look in another order": func(s *story) {
		var files []step
		for i := range 6 {
			files = append(files, s.read(s.file(i)))
			s.does(files[i])
		}
		for _, i := range []int{4, 1, 3} {
			s.does(files[i])
		}
		s.works(6)
	},
	"reads again what it has changed": func(s *story) {
		for range 12 {
			s.does(s.read("a.go"), s.edit("a.go"))
			s.prompt = 3000
		}
	},
	"a plan": func(s *story) {
		for i := range 4 {
			s.does(s.read(s.file(i)))
		}
		for i := range 9 {
			s.does(step{tool: "create_subcontract", args: fmt.Sprint("c", i, s.text(9)), answer: "created"})
		}
		s.does(step{tool: "submit_plan", answer: "accepted"})
	},
	"talks, then works": func(s *story) {
		for i := range 6 {
			s.does(step{tool: "send_message", args: s.text(9), answer: "sent"}, s.read(s.file(i)))
		}
		s.works(9)
	},
	"reviews that find less": func(s *story) {
		for i := range 3 {
			s.does(s.edit(s.file(i)))
			var places []string
			for n := range 3 - i {
				places = append(places, s.file(n))
			}
			s.add(agency.ReviewSubmitted{Verdict: "request_changes", Issues: 3 - i, Iteration: i + 1, Major: 3 - i, Places: places})
		}
		s.add(agency.ReviewSubmitted{Verdict: "approve", Iteration: 4})
	},
	"two mistakes with a tool": func(s *story) {
		s.works(3)
		for range 2 {
			s.does(step{tool: "edit_file", path: "a.go", old: s.text(5), failed: true, answer: "a.go: old_text is not in the file"}, s.read("a.go"))
		}
		s.works(6)
	},
}
