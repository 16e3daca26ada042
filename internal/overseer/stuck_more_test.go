package overseer

import (
	"fmt"
	"strings"

	"agency/internal/agency"
)

// long is a text of which parts are shown.
var long = func() (out []string) {
	for i := range 400 {
		out = append(out, fmt.Sprintf("func part%c%c%c(v int) error { return step%c(v) }", 'a'+i%26, 'a'+i/26%26, 'a'+i*7%26, 'a'+i*11%26))
	}
	return out
}()

func part(from, n int) string { return strings.Join(long[from:from+n], "\n") }

var moreTroubles = map[string]trouble{
	// It reads, and does nothing with it.
	"four files in any order": {"wandering", anyRead, func(s *story, i int) { n := s.r.IntN(4); s.does(s.call("read_file", s.file(n), part(40*n, 40))) }, "", false},
	"parts of one file": {"wandering", anyRead, func(s *story, i int) {
		from := s.r.IntN(60)
		s.does(s.run(fmt.Sprintf("sed -n %d,%dp a.go", from, from+60), part(from, 60)))
	}, "", false},
	"all ways to see a file": {"wandering", anyRead, func(s *story, i int) {
		s.does(s.run(of1(i, "cat a.go", "head -n 99 a.go", "tail -n 99 a.go", "nl a.go", "less a.go", "awk 1 a.go"), part(0, 99)))
	}, "", false},
	"ever new files": {"wandering", anyRead, func(s *story, i int) {
		s.does(s.call("read_file", fmt.Sprintf("lib/%c/%s.go", 'a'+i, s.text(1)), s.text(120)))
	}, "", false},
	"ever new searches": {"wandering", anyRead, func(s *story, i int) { s.does(s.run("grep -rn "+s.text(2)+" .", s.text(80))) }, "", false},
	"old commits": {"wandering", anyRead, func(s *story, i int) {
		s.does(s.run(of1(i, "git log --oneline", "git show HEAD", "git blame a.go", "git log -p a.go"), of1(i, part(0, 9), part(9, 20), part(29, 40), part(9, 60))))
	}, "", false},
	"folders": {"wandering", anyRead, func(s *story, i int) {
		s.does(s.run("ls "+of1(i, "src", "lib", "test", "."), of1(i, "a.go", "b.go", "c_test.go", "src lib test")))
	}, "", false},
	"reads two, thinks": {"wandering", anyRead, func(s *story, i int) {
		s.does(s.call("read_file", of1(i, "a.go", "b.go", "c.go"), part(30*(i%3), 30)), s.call("outline", of1(i, "a.go", "b.go", "c.go"), part(30*(i%3), 3)))
	}, "", false},

	// The same sought in other words.
	"the same in other words": {"same search", anyRead, func(s *story, i int) {
		s.does(s.call("search_files", of1(i, "parse", "parser", "Parse(", "func Parse", "parsing", "parse_", "Parses", "parsed"), part(7, 9)))
	}, answers, false},
	"a question in other words": {"same search", anyRead, func(s *story, i int) {
		from := i % 3
		s.does(s.call("query_codebase", of1(i, "where is the parser", "which file parses", "the parser's place", "parser location", "where do we parse", "find parsing", "code that parses", "who parses input"), part(20+from, 12)))
	}, answers, false},
	"nothing in many words": {"same search", anyRead, func(s *story, i int) { s.does(s.call("search_files", s.text(2), "no matches")) }, "gists;gists of calls and turns", false},

	// Much work, little gain.
	"comments, one at a time":  {"drip", anyDrip, func(s *story, i int) { s.does(s.swap("a.go", s.text(1), "// "+s.text(4))) }, "", false},
	"one word a turn":          {"drip", anyDrip, func(s *story, i int) { s.does(s.swap("README.md", s.text(1), s.text(1)+fmt.Sprint(i))) }, "", false},
	"blank lines by a command": {"drip", anyDrip, func(s *story, i int) { s.does(s.run("echo >> a.go", "")) }, "", false},
	"a place changed over":     {"drip", anyDrip, func(s *story, i int) { s.does(s.swap("a.go", fmt.Sprint("limit = ", i), fmt.Sprint("limit = ", i+1))) }, "", false},
	"edits and their look": {"drip", anyDrip, func(s *story, i int) {
		s.does(s.swap("a.go", s.text(1), "// "+s.text(3)), s.run("git diff --stat", "a.go | 2 +-"))
	}, "", false},
	"tried and copied back": {"edit and undo", anyLoop, func(s *story, i int) {
		if s.new(); i%2 == 1 {
			s.tree = "as it was"
		}
		s.does(of1(i, s.run("sed -i s/"+s.text(1)+"/"+s.text(2)+"/ a.go", ""), s.run("cp a.go.orig a.go", "")))
	}, wordless + ";no ids, sessions, turns, tokens", false},
	"renamed in two files by turns": {"ping-pong", anyDrip, func(s *story, i int) {
		s.does(s.swap(of1(i, "a.go", "b.go"), fmt.Sprint("load", string(rune('a'+i/2)), of1(i, "", "()")), fmt.Sprint("load", string(rune('b'+i/2)), of1(i, "", "()"))))
	}, wordless + ";words for digests;words in summaries", false},
	"one test among others": {"same failing test", anyFail, func(s *story, i int) {
		s.does(s.edit(s.file(i)), s.tests(9-i%2, s.text(9), append([]string{"TestCore"}, reds(3)[:i%2]...)...))
	}, events, false},
	"one test in a new folder": {"same failing test", anyFail, func(s *story, i int) {
		s.does(s.edit(s.file(i)), s.tests(9, "want 3, got 4 in /tmp/"+strings.ReplaceAll(s.text(1), " ", "")+fmt.Sprintf("%x", i*7919)+"/out", "TestCore"))
	}, events, false},
	"errors that a command counts": {"growing errors", anyFail, func(s *story, i int) {
		s.does(s.edit(s.file(i)), s.red("tsc -p .", s.text(20)+fmt.Sprintf("\nFound %d errors in %d files.", 2+4*i, 1+i)))
	}, events + ";gists;two digests", false},

	"counts by a program":   {"counting", anyLoop, func(s *story, i int) { s.does(s.run(fmt.Sprintf("python3 -c 'print(%d)'", i), fmt.Sprint(i))) }, wordless, false},
	"counts in a file":      {"counting", anyLoop, func(s *story, i int) { s.new(); s.does(s.run(fmt.Sprintf("echo %d > n.txt", i), "")) }, wordless, false},
	"two counters by turns": {"counting", anyDrip, func(s *story, i int) { s.new(); s.does(s.write(of1(i, "a.txt", "b.txt"), fmt.Sprint("version ", i))) }, wordless, false},
	"a version, then tests": {"counting", anyDrip, func(s *story, i int) {
		s.new()
		s.does(s.swap("v.go", fmt.Sprint("v = ", i), fmt.Sprint("v = ", i+1)), s.green(9))
	}, wordless, false},
	"two versions, then tests": {"counting", anyDrip, func(s *story, i int) {
		s.new()
		s.does(of1(i, s.swap("v.go", fmt.Sprint("v = ", i), fmt.Sprint("v = ", i+2)), s.swap("w.go", fmt.Sprint("w = ", i), fmt.Sprint("w = ", i+2))), s.green(9))
	}, wordless, false},

	"written whole anew":            {"rewriting", anyDrip, func(s *story, _ int) { s.does(s.write("a.go", strings.Join(s.lines(40), "\n"))) }, "", false},
	"written whole, a word changed": {"rewriting", anyDrip, func(s *story, i int) { s.does(s.write("a.go", part(0, 60)+fmt.Sprint("\n// v", i))) }, "", false},
	"deleted and written": {"rewriting", anyDrip, func(s *story, i int) {
		s.does(step{tool: "delete_file", path: "a.go", answer: "deleted"}, s.write("a.go", strings.Join(s.lines(30), "\n")))
	}, "", false},
	"written whole by a command": {"rewriting", append(anyDrip, RepeatedFailures), func(s *story, i int) {
		s.does(s.run("cat > a.py <<'E'\n"+strings.Join(s.lines(9), "\n")+"\nE", ""), s.red("python a.py", "SyntaxError: invalid syntax"))
	}, "", false},

	// Reviews.
	"two reviews by turns":   {"reviews by turns", []Behaviour{Oscillation}, func(s *story, i int) { s.does(s.edit(s.file(i))); s.reviewed(i, 1, of1(i, "a.go", "b.go")) }, events, true},
	"three reviews by turns": {"reviews by turns", []Behaviour{Oscillation}, func(s *story, i int) { s.does(s.edit(s.file(i))); s.reviewed(i, 1, of1(i, "a.go", "b.go", "c.go")) }, events, true},
	"the same review":        {"reviews by turns", []Behaviour{Oscillation}, func(s *story, i int) { s.does(s.edit(s.file(i))); s.reviewed(i, 2, "a.go", "criterion 2") }, events, true},
	"reviews without places": {"reviews by turns", []Behaviour{Oscillation}, func(s *story, i int) { s.does(s.edit(s.file(i))); s.reviewed(i, 3) }, events, true},
	"each review finds more": {"scope creep", []Behaviour{ScopeCreep}, func(s *story, i int) { s.does(s.edit(s.file(i))); s.reviewed(i, 2+i*2, s.lines(2+i)...) }, events, true},
	"ever more small things": {"scope creep", []Behaviour{ScopeCreep}, func(s *story, i int) {
		s.does(s.edit(s.file(i)))
		s.add(agency.ReviewSubmitted{Verdict: "request_changes", Issues: 1 + i, Minor: 1 + i, Iteration: i + 1})
	}, events, true},
	"more, with a pause": {"scope creep", []Behaviour{ScopeCreep, Oscillation}, func(s *story, i int) {
		s.does(s.edit(s.file(i)))
		s.reviewed(i, []int{1, 3, 3, 5, 8, 8, 12, 14, 17, 20}[i], s.lines(3)...)
	}, events, true},

	// Tokens.
	"a hundred thousand said":  {"token burn", anyWaste, func(s *story, i int) { s.out = 100_000; s.does(s.edit(s.file(i))); s.out = 0 }, "no ids, sessions, turns, tokens", false},
	"a hundred thousand read":  {"token burn", anyWaste, func(s *story, i int) { s.prompt = 500_000; s.does(s.edit(s.file(i))) }, "no ids, sessions, turns, tokens", false},
	"forty thousand for words": {"token burn", anyWaste, func(s *story, i int) { s.out = 40_000; s.does(s.call("send_message", s.text(30), "sent")); s.out = 0 }, "", false},

	// Claims.
	"claims for one test":    {"claims refused", anyFail, func(s *story, i int) { s.does(s.edit(s.file(i))); s.claims("TestHard") }, events, false},
	"claims for one reason":  {"claims refused", anyFail, func(s *story, i int) { s.verdict(fmt.Sprintf("%d of 5 criteria have no proof", 3)) }, events, false},
	"claims, numbers change": {"claims refused", anyFail, func(s *story, i int) { s.verdict(fmt.Sprintf("coverage is %d.%d %%, 80 wanted", 41+i%3, i)) }, events, false},
	"a claim that is refused": {"claims refused", anyLoop, func(s *story, i int) {
		s.does(step{tool: "signal_complete", args: s.text(4), refused: true, answer: "the tests were not run"})
	}, events, false},
	"verdicts alone": {"claims refused", anyFail, func(s *story, i int) {
		s.does(s.edit(s.file(i)))
		s.add(agency.VerdictSubmitted{Verdict: "fail", Reasons: []string{"a.go is missing"}})
	}, events, false},

	// Failures by turns, and others.
	"two failures by turns": {"failures by turns", anyFail, func(s *story, i int) { s.does(s.edit("a.go"), s.red("./check.sh", of1(i, "too long", "too short"))) }, "", false},
	"three failures by turns": {"failures by turns", anyFail, func(s *story, i int) {
		s.does(s.edit("a.go"), s.tests(9, of1(i, "x", "y", "z"), of1(i, "TestA", "TestB", "TestC")))
	}, events, false},
	"a host that is not there": {"failures by turns", anyLoop, func(s *story, i int) {
		s.does(s.red(of1(i, "curl", "wget", "nc", "ping", "git clone")+" https://"+s.text(1)+".example", "network is unreachable"))
	}, "", false},
	"paths that may not be": {"failures by turns", anyLoop, func(s *story, i int) {
		s.does(step{tool: "write_file", path: fmt.Sprintf("/etc/%c", 'a'+i), refused: true, answer: fmt.Sprintf("/etc/%c is outside", 'a'+i)})
	}, events, false},
	"edits that do not fit": {"failures by turns", anyLoop, func(s *story, i int) {
		s.does(s.call("read_file", "a.go", part(0, 30)), step{tool: "edit_file", path: "a.go", old: s.text(4), failed: true, answer: "a.go: old_text is not in the file"})
	}, "", false},
	"packages one by one": {"failures by turns", anyLoop, func(s *story, i int) {
		s.does(s.red("pip install "+strings.TrimSpace(s.text(1))+fmt.Sprint(i), "ERROR: Could not find a version"))
	}, "", false},
}

// verdict is a claim that is refused for a reason.
// new is a tree that was not there before.
func (s *story) new() { s.tree = agency.OID(fmt.Sprint("t", len(s.events))) }

func (s *story) verdict(why string) {
	s.does(s.edit(s.file(s.r.IntN(90))), step{tool: "signal_complete", args: s.text(6), answer: "noted"})
	s.add(agency.Claimed{Session: "s1", Summary: s.text(4)})
	s.add(agency.VerdictSubmitted{Verdict: "fail", Reasons: []string{why}})
}
