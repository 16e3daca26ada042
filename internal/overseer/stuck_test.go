package overseer

import (
	"fmt"
	"strings"

	"agency/internal/agency"
)

// trouble is a way of being stuck, in one of several shapes.
type trouble struct {
	behaviour string // as the table names it
	wants     []Behaviour
	turn      func(s *story, i int) // what it does in its turn i, from 0
	// hidden names the forms in which nobody could see it.
	hidden string
	review bool // it is told by reviews
}

var (
	anyLoop  = []Behaviour{InfiniteLoop, Stagnation, RepeatedFailures, Inefficiency}
	anyTalk  = []Behaviour{Stagnation, InfiniteLoop}
	anyFail  = []Behaviour{RepeatedFailures, InfiniteLoop}
	anyRead  = []Behaviour{Stagnation, InfiniteLoop}
	anyDrip  = []Behaviour{Inefficiency, InfiniteLoop, Stagnation}
	anyWaste = []Behaviour{TokenExhaustion, Stagnation}
)

const (
	wordless = "two digests;gists;gists of calls and turns" // forms without shapes or without answers
	answers  = "gists;gists of calls and turns"
	events   = "gists of calls and turns"
)

// red is a command that fails.
func (s *story) red(line, answer string) step {
	return step{tool: shell, args: line, answer: "exit code 1\n" + answer}
}

func (s *story) call(tool, args, answer string) step {
	return step{tool: tool, args: args, answer: answer}
}

func (s *story) write(path, text string) step {
	return step{tool: "write_file", path: path, with: text, answer: "wrote " + path}
}

func (s *story) swap(path, old, with string) step {
	return step{tool: "edit_file", path: path, old: old, with: with, answer: "edited " + path}
}

// swaps puts one text for another and back.
func (s *story) swaps(path string, i int) step {
	old, with := "timeout = 5 // "+path, "timeout = 50 // "+path
	if i%2 == 1 {
		old, with = with, old
	}
	return s.swap(path, old, with)
}

func (s *story) lint(exit int, findings ...string) agency.LintRun {
	l := agency.LintRun{Command: "golangci-lint run", Kind: agency.CheckLint, ExitCode: exit, Stage: "work"}
	if exit != 0 {
		l.Red = &agency.Red{Kind: agency.CheckLint, Command: l.Command, Findings: findings, ExitCode: exit}
	}
	return l
}

func (s *story) reviewed(i, issues int, places ...string) {
	s.add(agency.ReviewSubmitted{Verdict: "request_changes", Issues: issues, Iteration: i + 1, Major: issues, Places: places})
}

func of1[T any](i int, all ...T) T { return all[i%len(all)] }

var troubles = map[string]trouble{
	// The same call with the same answer.
	"list the same folder":        {"exact loop", anyLoop, func(s *story, _ int) { s.does(s.call("list_directory", "src", "a.go\nb.go")) }, "", false},
	"look at the same difference": {"exact loop", anyLoop, func(s *story, _ int) { s.does(s.call("get_git_diff", "", "diff --git a/a.go b/a.go\n+x")) }, "", false},
	"the same read, silent turns": {"exact loop", anyLoop, func(s *story, i int) {
		if i%2 == 1 {
			s.does()
			return
		}
		s.does(s.call("read_file", "a.go", "package a"))
	}, "", false},
	"the same vet": {"exact loop", anyLoop, func(s *story, _ int) { s.does(s.run("go vet ./...", "")) }, "", false},
	"twice a turn": {"exact loop", anyLoop, func(s *story, _ int) { r := s.call("read_file", "a.go", "package a"); s.does(r, r) }, "", false},
	"a write that fails": {"exact loop", anyLoop, func(s *story, _ int) {
		s.does(step{tool: "write_file", path: "go.sum", with: "x", failed: true, answer: "go.sum: may not be written"})
	}, "", false},
	"a look and a note": {"exact loop", anyLoop, func(s *story, i int) {
		s.does(s.call("symbol_search", "Parse", "parse.go:12 func Parse"), s.call("todo", fmt.Sprint("step ", i), "noted"))
	}, "", false},
	"a tool of somebody else":  {"exact loop", anyLoop, func(s *story, _ int) { s.does(s.call("mcp_tickets_list", "open", "T-1, T-2")) }, "", false},
	"the same test, no change": {"exact loop", anyLoop, func(s *story, _ int) { s.does(s.tests(9, "want 3, got 4", "TestSum")) }, "", false},

	// The same with what does not matter changed.
	"another time": {"varied loop", anyLoop, func(s *story, i int) { s.does(s.run(fmt.Sprintf("git log --since=2026-01-02T03:%02d:00", i), "")) }, "", false},
	"another path": {"varied loop", anyLoop, func(s *story, i int) {
		s.does(s.call("read_file", of1(i, "a.go", "./a.go", "././a.go", "src/../a.go"), "package a\nfunc A() {}"))
	}, answers, false},
	"another name": {"varied loop", anyLoop, func(s *story, i int) {
		n := fmt.Sprintf("%08x", 0xabc00000+i*7919)
		s.does(s.red("./run --id "+n, "run "+n+" failed"))
	}, "", false},
	"another quote": {"varied loop", anyLoop, func(s *story, i int) {
		s.does(s.run(of1(i, `grep -rn "Parse" .`, `grep -rn 'Parse' .`, `grep -rn Parse .`), "parse.go:12: func Parse"))
	}, answers, false},
	"another order": {"varied loop", anyLoop, func(s *story, i int) {
		s.does(s.red(of1(i, "go test -v -run TestSum .", "go test -run TestSum -v ."), fmt.Sprintf("--- FAIL: TestSum (%d.0%ds)", i, i)))
	}, "", false},
	"another shell": {"varied loop", anyLoop, func(s *story, i int) {
		s.does(s.red(of1(i, "make all", `bash -c "make all"`, "sh -c 'make all'", "(make all)", "env make all", "timeout 60 make all"), "make: *** No rule to make target 'all'. Stop."))
	}, "", false},
	"another file":    {"varied loop", anyLoop, func(s *story, i int) { s.does(s.red(fmt.Sprintf("./build.sh > /tmp/out%d.log 2>&1", i), "")) }, "", false},
	"another comment": {"varied loop", anyLoop, func(s *story, i int) { s.does(s.run(fmt.Sprintf("ls -la # try %d", i), "a.go")) }, "", false},
	"another version": {"varied loop", anyLoop, func(s *story, i int) {
		s.does(s.red(fmt.Sprintf("pip install left-pad==1.%d", i), "ERROR: No matching distribution"))
	}, "", false},
	"another white": {"varied loop", anyLoop, func(s *story, i int) { s.does(s.run("cat  a.go"+strings.Repeat(" ", i), "package a")) }, "", false},
	"an ever new pid": {"varied loop", anyLoop, func(s *story, i int) {
		s.does(s.run("./serve --check", fmt.Sprintf("pid %d: not ready after %dms", 4000+i*13, 100+i)))
	}, "two digests", false},
	"rounds of four": {"varied loop", anyLoop, func(s *story, i int) {
		s.does(s.call("read_file", of1(i, "a.go", "b.go", "c.go", "d.go"), of1(i, "a", "b", "c", "d")))
	}, "", false},
	"numbered attempt": {"varied loop", anyLoop, func(s *story, i int) {
		s.does(s.red(fmt.Sprintf("./deploy.sh attempt-%d", i), fmt.Sprintf("attempt-%d: connection refused", i)))
	}, "", false},

	// Done and undone.
	"written to and fro": {"edit and undo", anyLoop, func(s *story, i int) { s.does(s.write("a.go", of1(i, "package a\nvar x = 1", "package a\nvar x = 2"))) }, answers, false},
	"edit and checkout":  {"edit and undo", anyLoop, func(s *story, i int) { s.does(of1(i, s.swap("a.go", "x", "y"), s.run("git checkout -- a.go", ""))) }, answers, false},
	"edit and roll back": {"edit and undo", anyLoop, func(s *story, i int) {
		s.does(of1(i, s.swap("a.go", "x", "y"), s.call("rollback_checkpoint", "c1", "rolled back")))
	}, answers, false},
	"made and deleted": {"edit and undo", anyLoop, func(s *story, i int) {
		s.does(of1(i, s.write("new.go", "package n"), step{tool: "delete_file", path: "new.go", answer: "deleted"}))
	}, "", false},
	"three texts in turn": {"edit and undo", anyLoop, func(s *story, i int) {
		t := []string{"red", "green", "blue"}
		s.does(s.swap("a.css", t[i%3], t[(i+1)%3]))
	}, answers, false},
	"renamed and back":        {"edit and undo", anyLoop, func(s *story, i int) { s.does(s.call("rename_symbol", of1(i, "Foo Bar", "Bar Foo"), "renamed")) }, answers, false},
	"undone after a look":     {"edit and undo", anyLoop, func(s *story, i int) { s.does(s.read("a.go"), s.swaps("a.go", i)) }, answers, false},
	"a switch, run each time": {"edit and undo", anyLoop, func(s *story, i int) { s.does(s.swaps("conf.yaml", i), s.red("./run.sh", "cannot connect")) }, "", false},

	// Between two files.
	"moved to and fro": {"ping-pong", anyLoop, func(s *story, i int) {
		s.does(of1(i, s.swap("a.go", "", "import x"), s.swap("b.go", "import x", ""), s.swap("b.go", "", "import x"), s.swap("a.go", "import x", "")))
	}, answers, false},
	"one breaks the other": {"ping-pong", anyFail, func(s *story, i int) {
		s.does(s.edit(of1(i, "a.go", "b.go")), s.tests(20, of1(i, "a is 1", "b is 2"), of1(i, "TestA", "TestB")))
	}, events, false},
	"an error that wanders": {"ping-pong", anyFail, func(s *story, i int) {
		s.does(s.edit(of1(i, "a.go", "b.go")), s.red("go build ./...", of1(i, "a.go:3: undefined: X", "b.go:9: undefined: Y")))
	}, "", false},
	"three in a circle": {"ping-pong", anyLoop, func(s *story, i int) {
		s.does(s.edit(of1(i, "a.go", "b.go", "c.go")), s.tests(20, "x", of1(i, "TestA", "TestB", "TestC")))
	}, events, false},
	"both swapped": {"ping-pong", anyLoop, func(s *story, i int) { s.does(s.swaps("a.go", i), s.swaps("b.go", i)) }, answers, false},

	// The same check fails.
	"one test, new edits": {"same failing test", anyFail, func(s *story, i int) {
		s.does(s.edit(s.file(i)), s.tests(4, fmt.Sprintf("(0.%ds) want 7, got 8", i), "TestTotal"))
	}, "", false},
	"one test by a command": {"same failing test", anyFail, func(s *story, i int) {
		s.does(s.edit(s.file(i)), s.red("go test ./...", fmt.Sprintf("--- FAIL: TestTotal (0.%ds)\n    a_test.go:%d: want 7, got 8", i, 10+i)))
	}, "", false},
	"one test in wrappers": {"same failing test", anyFail, func(s *story, i int) {
		s.does(s.edit(s.file(i)), s.red(of1(i, "pytest -q", "python -m pytest -q", "bash -c 'pytest -q'", "timeout 90 pytest -q"), "FAILED test_a.py::test_total - assert 7 == 8"))
	}, answers, false},
	"one finding of lint": {"same failing test", anyFail, func(s *story, i int) {
		s.add(s.lint(1, "a.go: unused x"))
		s.does(s.edit(s.file(i)), s.call("run_lint", "", "exit code 1\na.go: unused x"))
	}, "", false},
	"one type error": {"same failing test", anyFail, func(s *story, i int) { s.does(s.edit(s.file(i)), s.red("mypy .", "a.py:3: error: Incompatible types")) }, "", false},
	"one build, no event": {"same failing test", anyFail, func(s *story, i int) {
		s.does(s.edit(s.file(i)), s.call("run_type_check", "", "exit code 2\na.ts(3,1): error TS2304: Cannot find name 'x'"))
	}, "", false},
	"two tests in any order": {"same failing test", anyFail, func(s *story, i int) {
		s.does(s.edit(s.file(i)), s.tests(4, "no", of1(i, "TestA", "TestB"), of1(i, "TestB", "TestA")))
	}, events, false},
	"edit, look, test": {"same failing test", anyFail, func(s *story, i int) {
		s.does(s.edit(s.file(i)), s.read(s.file(50+i)), s.tests(4, "want 7, got 8", "TestTotal"))
	}, "", false},

	// More and more fails.
	"build errors grow": {"growing errors", anyFail, func(s *story, i int) { s.does(s.edit(s.file(i)), s.builds(1+i*(i+1)/2)) }, events, false},
	"failing tests grow": {"growing errors", anyFail, func(s *story, i int) {
		s.does(s.edit(s.file(i)), s.tests(30-3*i, "no", strings.Fields("A B C D E F G H I J K L M N O P Q R S T U V W")[:1+2*i]...))
	}, events, false},
	"findings of lint grow": {"growing errors", anyFail, func(s *story, i int) {
		s.add(s.lint(1, s.lines(2+2*i)...))
		s.does(s.edit(s.file(i)), s.call("run_lint", "", fmt.Sprintf("exit code 1\n%d findings", 2+2*i)))
	}, "", false},
	"errors of a command": {"growing errors", anyFail, func(s *story, i int) {
		s.does(s.edit(s.file(i)), s.red("tsc --noEmit", fmt.Sprintf("Found %d errors.", 3+4*i)))
	}, "", false},
	"they grow, with a dip": {"growing errors", anyFail, func(s *story, i int) {
		s.does(s.edit(s.file(i)), s.builds([]int{2, 5, 4, 9, 14, 13, 20, 26, 33, 41}[i]))
	}, events, false},

	// Words alone.
	"tells all": {"talk", anyTalk, func(s *story, _ int) { s.does(s.call("team_broadcast", s.text(30), "sent")) }, "", false},
	"words in all ways": {"talk", anyTalk, func(s *story, i int) {
		s.does(s.call(of1(i, "send_message", "note_decision", "todo"), s.text(20), "noted"))
	}, "", false},
	"echo":         {"talk", anyTalk, func(s *story, _ int) { w := s.text(12); s.does(s.run("echo '"+w+"'", w)) }, "", false},
	"says nothing": {"talk", anyTalk, func(s *story, _ int) { s.does() }, "", false},
	"checkpoints": {"talk", anyTalk, func(s *story, i int) {
		s.does(s.call("create_checkpoint", fmt.Sprint("step ", i), fmt.Sprint("checkpoint ", i)))
	}, "", false},
	"asks and looks": {"talk", anyTalk, func(s *story, _ int) {
		s.does(s.call("send_message", s.text(20), "sent"), s.run("git status --short", "M a.go"))
	}, "", false},
	"proposals": {"talk", anyTalk, func(s *story, _ int) { s.does(s.call("propose_improvement", s.text(25), "noted")) }, "", false},
	"printf and colons": {"talk", anyTalk, func(s *story, i int) {
		w := s.text(9)
		s.does(s.run(of1(i, "printf '%s' '"+w+"'", ": "+"'"+w+"'", "true # "+w), ""))
	}, "", false},
}
