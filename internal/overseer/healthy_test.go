package overseer

import (
	"fmt"
	"strings"
	"time"

	"agency/internal/agency"
)

// green is a run of tests of which so many pass.
func (s *story) green(passed int) step { return s.tests(passed, "") }

func reds(n int) []string {
	var out []string
	for i := range n {
		out = append(out, "TestCase"+string(rune('A'+i)))
	}
	return out
}

// as lets the story be told of an agent of another role.
func (s *story) as(role agency.RoleID) {
	for i := range s.events {
		s.events[i].Role = role
	}
}

func (s *story) wrote(path string, lines int) step {
	return s.write(path, strings.Join(s.lines(lines), "\n"))
}

func times(n int, f func(i int)) {
	for i := range n {
		f(i)
	}
}

// sound are sessions that get on, by pattern.
var sound = map[string]func(s *story){
	// Reading.
	"reads twelve files": func(s *story) { times(12, func(i int) { s.does(s.read(s.file(i))) }); s.works(12) },
	"reads thirty, two a turn": func(s *story) {
		times(15, func(i int) { s.does(s.read(s.file(i)), s.read(s.file(i+30))) })
		s.works(12)
	},
	"lists, then reads": func(s *story) {
		times(6, func(i int) { s.does(s.call("list_directory", s.file(i), s.text(12)), s.read(s.file(i))) })
		s.works(9)
	},
	"reads by commands": func(s *story) { times(14, func(i int) { s.does(s.run("cat "+s.file(i), s.text(90))) }); s.works(9) },
	"pages through a file": func(s *story) {
		times(12, func(i int) { s.does(s.run(fmt.Sprintf("sed -n %d,%dp big.go", 30*i+1, 30*i+30), part(30*i, 30))) })
		s.works(9)
	},
	"looks for a name": func(s *story) {
		times(7, func(i int) { s.does(s.call("symbol_search", fmt.Sprint("Name", string(rune('A'+i))), s.text(20))) })
		s.works(9)
	},
	"history first": func(s *story) {
		times(6, func(i int) { s.does(s.run("git show "+s.text(1), s.text(120))) })
		s.works(9)
	},
	"reads, works, reads again": func(s *story) { s.works(8); times(5, func(i int) { s.does(s.read(s.file(30 + i))) }); s.works(8) },
	"three files again": func(s *story) {
		f := []step{s.read("a"), s.read("b"), s.read("c")}
		s.does(f...)
		s.works(5)
		s.does(f...)
		s.works(5)
		s.does(f...)
		s.works(4)
	},
	"searches find nothing": func(s *story) {
		times(5, func(i int) { s.does(s.call("search_files", s.text(2), "no matches")) })
		s.works(9)
	},
	"four looks, nothing new": func(s *story) { s.works(3); times(4, func(int) { s.does(s.call("get_git_diff", "", "")) }); s.works(6) },
	"four looks, something new": func(s *story) {
		s.works(3)
		times(4, func(i int) { s.does(s.call("get_git_diff", "", s.text(30))) })
		s.works(6)
	},
	"reads what it changes": func(s *story) {
		times(9, func(i int) { s.does(s.read("a.go")); s.does(s.edit("a.go")) })
		s.does(s.green(9))
	},
	"one folder after the other": func(s *story) {
		times(9, func(i int) { s.does(s.run("ls "+strings.Repeat("sub/", i), s.text(9))) })
		s.works(6)
	},

	"polls a build by its share": func(s *story) {
		s.works(3)
		times(14, func(i int) { s.does(s.run("make status", fmt.Sprintf("[%d/340] compiling", 3+20*i))) })
		s.works(3)
	},
	"polls a build by its log": func(s *story) {
		s.works(3)
		times(24, func(i int) { s.does(s.run("tail -n 1 build.log", fmt.Sprintf("Building: %d%% done, %d s", 4*i, 9*i))) })
		s.works(3)
	},
	"mends what does not compile, one by one": func(s *story) {
		s.works(3)
		times(14, func(i int) {
			s.does(s.edit(s.file(i)), step{tool: shell, args: "make", answer: fmt.Sprintf("exit code 2\n%s:%d: %s", s.file(i), 10+i, s.text(5)), failed: true})
		})
		s.does(s.run("make", ""))
	},
	"one value, one failure less each time": func(s *story) {
		s.works(3)
		times(11, func(i int) {
			s.new()
			s.does(s.swap("a.go", fmt.Sprint("limit = ", i), fmt.Sprint("limit = ", i+1)), s.tests(30+i, "too small", reds(11-i)...))
		})
		s.does(s.green(41))
	},
	"fewer errors of a command": func(s *story) {
		s.works(3)
		times(12, func(i int) {
			s.does(s.edit("a.ts"), s.red("tsc -p .", fmt.Sprintf("Found %d errors in 1 file.", 30-2*i)))
		})
		s.works(3)
	},
	"a value tuned, each time measured": func(s *story) {
		s.works(3)
		times(11, func(i int) {
			s.new()
			s.does(s.swap("a.go", fmt.Sprint("batch = ", i), fmt.Sprint("batch = ", i+1)), s.run("./bench", fmt.Sprintf("%d ns", 900-17*i)))
		})
		s.works(3)
	},
	"bisects by a script": func(s *story) {
		s.works(3)
		times(11, func(i int) {
			line := fmt.Sprintf("./bisect.sh %d", 9000-700*i)
			s.does(of1(i/2, s.red(line, "bad"), s.run(line, "good")))
		})
		s.works(3)
	},
	"a sweep over sizes": func(s *story) {
		s.works(3)
		times(6, func(i int) { s.does(s.run(fmt.Sprintf("./bench -n %d", 1000<<i), fmt.Sprintf("%d ns", 100*i+7))) })
		s.works(3)
	},
	"a bisection": func(s *story) {
		times(9, func(i int) {
			s.new()
			s.does(s.run(of1(i, "git bisect good", "git bisect bad"), fmt.Sprintf("Bisecting: %d revisions left to test after this\n[%x] %s", 90>>i, i*7777777, s.text(5))))
			s.does(of1(i, s.run("go test ./x", "ok x 0.1s"), s.red("go test ./x", "FAIL: TestX")))
		})
		s.works(3)
	},
	"a constant tuned by its figures": func(s *story) {
		s.works(3)
		times(6, func(i int) {
			s.new()
			s.does(s.swap("a.go", fmt.Sprint("batch = ", 8<<i), fmt.Sprint("batch = ", 16<<i)))
			s.does(s.run("go test -bench Batch", fmt.Sprintf("BenchmarkBatch 100 %d ns/op", 900-i*31)))
		})
		s.works(3)
	},
	"one replacement in numbered files": func(s *story) {
		times(30, func(i int) { s.new(); s.does(s.swap(fmt.Sprintf("migrations/%03d.sql", i), "int", "bigint")) })
		s.does(s.green(9))
	},
	"polls a service": func(s *story) {
		s.works(3)
		times(14, func(i int) {
			s.at = s.at.Add(30 * time.Second)
			s.does(s.run("curl -s http://localhost:8080/health | head -n 1", "starting"))
		})
		s.works(3)
	},
	"one test, mended step by step": func(s *story) {
		s.works(3)
		times(9, func(i int) { s.does(s.edit("a.go")); s.does(s.tests(9, s.text(9), "TestWhole")) })
		s.does(s.green(10))
	},
	"a check without names, mended step by step": func(s *story) {
		s.works(3)
		times(9, func(i int) {
			s.does(s.edit("a.go"))
			s.does(s.tests(0, s.text(9)))
		})
		s.does(s.green(10))
	},
	"thirty edits of one file": func(s *story) {
		times(30, func(i int) { s.does(s.edit("a.go")) })
		s.does(s.green(9))
	},
	"tests first, then the code": func(s *story) {
		s.works(3)
		times(9, func(i int) {
			s.does(s.edit("pkg/a_test.go"))
			s.does(s.tests(3, "not written", reds(i+1)...))
		})
		times(9, func(i int) { s.does(s.edit("pkg/a.go")); s.does(s.tests(4+i, "not written", reds(8-i)...)) })
	},

	// Changing.
	"one edit in sixty files": func(s *story) {
		times(60, func(i int) { s.prompt = 3000; s.does(s.swap(fmt.Sprintf("m%d/a.go", i), "oldName()", "newName()")) })
		s.does(s.green(60))
	},
	"four edits a turn": func(s *story) {
		times(15, func(i int) {
			var e []step
			times(4, func(n int) { e = append(e, s.swap(fmt.Sprintf("m%d/a.go", 4*i+n), "old", "new")) })
			s.does(e...)
		})
		s.does(s.green(60))
	},
	"sed over files": func(s *story) {
		times(9, func(i int) {
			s.tree = agency.OID(fmt.Sprint("t", i))
			s.does(s.run("sed -i s/old/new/ "+s.file(i), ""))
		})
		s.does(s.green(9))
	},
	"one file, small edits": func(s *story) {
		times(7, func(i int) { s.does(s.edit("a.go")) })
		s.does(s.green(9))
		times(6, func(i int) { s.does(s.edit("a.go")) })
		s.does(s.green(10))
	},
	"one file, edit and build": func(s *story) {
		times(12, func(i int) { s.does(s.edit("a.go"), s.run("go build ./...", "")) })
		s.does(s.green(9))
	},
	"one file, edit and test": func(s *story) { times(12, func(i int) { s.does(s.edit("a.go"), s.green(3+i)) }) },
	"writes many files":       func(s *story) { times(14, func(i int) { s.does(s.wrote(s.file(i), 40)) }); s.does(s.green(9)) },
	"a document that grows": func(s *story) {
		text := ""
		times(9, func(i int) { text += strings.Join(s.lines(20), "\n"); s.does(s.write("README.md", text)) })
	},
	"moves files": func(s *story) {
		times(9, func(i int) { s.tree = agency.OID(fmt.Sprint("t", i)); s.does(s.run("git mv "+s.file(i)+" new/", "")) })
		s.does(s.green(9))
	},
	"deletes what is dead": func(s *story) {
		times(9, func(i int) { s.does(step{tool: "delete_file", path: s.file(i), answer: "deleted"}) })
		s.does(s.green(9))
	},
	"a change taken back once": func(s *story) {
		s.works(4)
		s.does(s.swap("a.go", "a", "b"))
		s.does(s.tests(3, "broken", "TestA"))
		s.does(s.swap("a.go", "b", "a"))
		s.works(8)
	},
	"two ideas taken back": func(s *story) {
		times(2, func(i int) {
			a, b := s.text(3), s.text(3)
			s.does(s.swap("a.go", a, b))
			s.does(s.tests(3, s.text(3), "TestA"))
			s.does(s.swap("a.go", b, a))
		})
		s.works(8)
	},
	"prints for a while": func(s *story) {
		s.does(s.swap("a.go", "x", "x; print"))
		s.does(s.run("go run .", s.text(9)))
		s.does(s.swap("a.go", "x; print", "x"))
		s.works(8)
	},
	"formats now and then": func(s *story) {
		times(5, func(i int) { s.does(s.edit(s.file(i))); s.does(s.run("gofmt -l .", "")) })
		s.does(s.green(9))
	},
	"imports and their order": func(s *story) {
		times(10, func(i int) {
			s.does(s.swap(s.file(i), `import "old"`, `import "new"`), s.run("goimports -l "+s.file(i), ""))
		})
		s.does(s.green(9))
	},
	"one symbol everywhere": func(s *story) {
		times(9, func(i int) {
			s.does(s.call("rename_symbol", fmt.Sprint("Old", string(rune('A'+i)), " New"), "renamed"))
		})
		s.does(s.green(9))
	},

	// Checks that fail and get better.
	"red, green, red, green": func(s *story) {
		times(6, func(i int) {
			s.does(s.edit("a_test.go"), s.tests(i, "undefined", "Test"+string(rune('A'+i))))
			s.does(s.edit("a.go"), s.green(i+1))
		})
	},
	"red, green in turns": func(s *story) {
		times(5, func(i int) {
			s.does(s.edit("a_test.go"))
			s.does(s.tests(i, "not implemented", "Test"+string(rune('A'+i))))
			s.does(s.edit("a.go"))
			s.does(s.green(i + 1))
		})
	},
	"ever fewer fail": func(s *story) {
		for n := 20; n > 0; n -= 3 {
			s.does(s.edit(s.file(n)), s.tests(40-n, "no", reds(n)...))
		}
		s.does(s.green(40))
	},
	"ever fewer build errors": func(s *story) {
		for _, n := range []int{25, 21, 17, 17, 9, 4, 1, 0} {
			s.does(s.edit(s.file(n)), s.builds(n))
		}
		s.does(s.green(40))
	},
	"errors rise once": func(s *story) {
		for _, n := range []int{2, 9, 6, 3, 0} {
			s.does(s.edit(s.file(n)), s.builds(n))
		}
		s.does(s.green(40))
	},
	"a hard test, three tries": func(s *story) {
		times(3, func(i int) {
			s.does(s.read(s.file(30 + i)))
			s.does(s.edit("a.go"))
			s.does(s.tests(7, "want 3, got 4", "TestHard"))
		})
		s.does(s.edit("a.go"), s.green(8))
	},
	"a hard test, new words": func(s *story) {
		times(5, func(i int) { s.does(s.edit("a.go"), s.tests(7, s.text(6), "TestHard")) })
		s.does(s.green(8))
	},
	"a new failure each time": func(s *story) {
		times(8, func(i int) { s.does(s.edit("a.go"), s.tests(7, s.text(4), "Test"+string(rune('A'+i)))) })
		s.does(s.green(15))
	},
	"lint, one by one": func(s *story) {
		for n := 9; n >= 0; n-- {
			s.add(s.lint(min(n, 1), s.lines(n)...))
			s.does(s.edit(s.file(n)), s.call("run_lint", "", fmt.Sprintf("exit code %d\n%s", min(n, 1), s.text(n))))
		}
	},
	"types, by a command": func(s *story) {
		times(7, func(i int) { s.does(s.edit(s.file(i)), s.red("mypy .", s.file(i)+": error: "+s.text(4))) })
		s.does(s.run("mypy .", "Success"))
	},
	"tests by a command": func(s *story) {
		times(6, func(i int) {
			s.does(s.edit(s.file(i)), s.red("pytest -q", fmt.Sprintf("FAILED test_%s.py\n%d failed", s.text(1), 12-2*i)))
		})
		s.does(s.run("pytest -q", "30 passed"))
	},
	"compiles, then runs": func(s *story) {
		times(5, func(i int) { s.does(s.edit("main.c")); s.does(s.run("gcc -o main main.c && ./main", s.text(9))) })
		s.works(4)
	},
	"a test that flickers": func(s *story) {
		times(10, func(i int) {
			if i%4 == 0 {
				s.does(s.edit(s.file(i)), s.tests(50, "timeout", "TestSlow"))
			} else {
				s.does(s.edit(s.file(i)), s.green(51))
			}
		})
	},
	"golden numbers fall": func(s *story) {
		times(6, func(i int) { s.does(s.edit("a.go"), s.tests(7, fmt.Sprintf("%d lines differ", 60-9*i), "TestGolden")) })
		s.does(s.green(8))
	},
	"bisects": func(s *story) {
		times(6, func(i int) {
			s.does(s.run("git checkout "+s.text(1), ""))
			s.does(s.run("go test ./...", fmt.Sprint(of1(i, "ok ", "FAIL "), s.text(3))))
		})
		s.works(5)
	},
	"coverage rises": func(s *story) {
		times(6, func(i int) {
			s.does(s.edit(s.file(i)+"_test.go"), s.call("run_tests_with_coverage", "", fmt.Sprintf("exit code 0\ncoverage: %d.%d%%", 50+6*i, i)))
		})
	},
	"measures": func(s *story) {
		times(6, func(i int) {
			s.does(s.edit("a.go"), s.run("go test -bench .", fmt.Sprintf("BenchmarkA %d ns/op", 900-80*i)))
		})
	},

	// Networks, builds and waiting.
	"the network comes back": func(s *story) {
		s.works(3)
		times(3, func(int) { s.does(s.red("npm install", "ETIMEDOUT")) })
		s.does(s.run("npm install", "added 90 packages"))
		s.works(8)
	},
	"asks again, with pauses": func(s *story) {
		s.works(3)
		times(3, func(i int) {
			s.does(s.red(fmt.Sprintf("sleep %d; curl -fsS https://x.example/a", 5<<i), "curl: (28) timeout"))
		})
		s.does(s.run("curl -fsS https://x.example/a", s.text(9)))
		s.works(8)
	},
	"a long build": func(s *story) {
		s.does(s.run("make -j2 &", "job 7"))
		times(15, func(i int) {
			s.at = s.at.Add(time.Minute)
			s.does(s.call("command_output", "7", fmt.Sprintf("[%d/90] cc", 6*i)))
		})
		s.works(8)
	},
	"a build that says nothing": func(s *story) {
		times(12, func(i int) { s.at = s.at.Add(time.Minute); s.does(s.call("command_output", "7", "still running")) })
		s.works(8)
	},
	"sleeps and looks": func(s *story) {
		times(10, func(i int) { s.does(s.run("sleep 30 && tail -n 1 build.log", "linking")) })
		s.works(8)
	},
	"a log that grows": func(s *story) { times(10, func(i int) { s.does(s.run("tail -n 3 build.log", s.text(9))) }); s.works(8) },
	"waits for a port": func(s *story) { times(4, func(i int) { s.does(s.red("nc -z localhost 8080", "")) }); s.works(8) },
	"one long check":   func(s *story) { s.works(3); s.at = s.at.Add(14 * time.Minute); s.does(s.green(900)); s.works(4) },
	"a manager who waits": func(s *story) {
		s.as(agency.RoleProjectManager)
		times(12, func(i int) { s.at = s.at.Add(time.Minute); s.does(s.call("wait_for_agents", "all", "2 are at work")) })
	},
	"a manager who looks": func(s *story) {
		s.as(agency.RoleProjectManager)
		times(12, func(i int) {
			s.does(s.call("get_subcontract_status", "", "a in_progress, b pending"), s.call("wait_for_agents", "a", "a is at work"))
		})
	},
	"a manager who plans": func(s *story) {
		s.as(agency.RoleProjectManager)
		times(5, func(i int) { s.does(s.read(s.file(i))) })
		times(8, func(i int) { s.does(s.call("create_subcontract", s.text(9), "created")) })
		s.add(agency.PlanSubmitted{Contracts: 8})
	},
	"a manager who collects": func(s *story) {
		s.as(agency.RoleProjectManager)
		times(8, func(i int) {
			s.does(s.call("collect_results", fmt.Sprint("c", string(rune('a'+i))), s.text(40)))
			s.does(s.call("mark_subcontract_complete", "c"+string(rune('a'+i)), "noted"))
		})
	},
	"parked and woken": func(s *story) {
		s.works(5)
		s.add(agency.SessionParked{Session: "s1", For: "human"})
		s.at = s.at.Add(20 * time.Hour)
		s.works(9)
	},
	"waits for a server": func(s *story) {
		s.does(s.run("./server &", "job 1"))
		times(3, func(i int) { s.does(s.red("curl -s localhost:8080/health", "connection refused")) })
		s.does(s.run("curl -s localhost:8080/health", "ok"))
		s.works(8)
	},

	// Reviews.
	"a reviewer who reads": func(s *story) {
		s.as(agency.RoleReviewer)
		times(16, func(i int) { s.does(s.read(s.file(i)), s.call("get_git_diff", s.file(i), s.text(40))) })
		s.does(s.call("submit_review", s.text(9), "noted"))
		s.add(agency.ReviewSubmitted{Verdict: "request_changes", Issues: 2, Major: 2, Places: []string{"a.go"}})
	},
	"reviews that end": func(s *story) {
		for i, n := range []int{4, 2, 1} {
			s.does(s.edit(s.file(i)))
			s.reviewed(i, n, reds(n)...)
		}
		s.add(agency.ReviewSubmitted{Verdict: "approve"})
	},
	"reviews of other things": func(s *story) {
		times(4, func(i int) { s.does(s.edit(s.file(i))); s.reviewed(i, 2, s.file(i)) })
		s.add(agency.ReviewSubmitted{Verdict: "approve"})
	},
	"two reviews rise": func(s *story) {
		for i, n := range []int{1, 3, 2, 0} {
			s.does(s.edit(s.file(i)))
			s.reviewed(i, n, s.file(i))
		}
	},
	"a verifier": func(s *story) {
		s.as(agency.RoleReviewer)
		times(6, func(i int) { s.does(s.read(s.file(i)), s.run("go test -run "+s.text(1), s.text(5))) })
		s.does(s.call("submit_verdict", s.text(5), "noted"))
	},

	// Claims.
	"two claims fail alike": func(s *story) { times(2, func(i int) { s.works(4); s.claims("TestA") }); s.works(3) },
	"claims fail in new ways": func(s *story) {
		times(4, func(i int) { s.does(s.edit(s.file(i)), s.green(9+i)); s.claims("Test" + string(rune('A'+i))) })
	},
	"claims prove more": func(s *story) {
		times(4, func(i int) {
			s.does(s.edit(s.file(i)))
			s.add(agency.Claimed{Session: "s1"})
			s.add(agency.VerdictSubmitted{Verdict: "fail", Reasons: []string{"criteria without proof"}, Criteria: 5, Shown: i + 1})
		})
	},

	// Words, thought, tokens.
	"thinks long": func(s *story) { s.out = 12_000; s.works(8); s.out = 0 },
	"thinks long and reads": func(s *story) {
		s.out = 9_000
		times(7, func(i int) { s.does(s.read(s.file(i))) })
		s.out = 0
		s.works(4)
	},
	"a large context": func(s *story) {
		times(20, func(i int) {
			s.prompt = 90_000 + int64(i)*100
			s.cached = s.prompt - 400
			s.does(s.edit(s.file(i)), s.green(i+1))
		})
	},
	"nothing is cached": func(s *story) { s.cached = -1; s.works(45) },
	"writes to others": func(s *story) {
		times(7, func(i int) { s.does(s.call("send_message", s.text(9), "sent")); s.does(s.edit(s.file(i))) })
		s.does(s.green(9))
	},
	"notes beside work": func(s *story) {
		times(12, func(i int) { s.does(s.call("todo", fmt.Sprint("step ", i), "noted"), s.edit(s.file(i))) })
	},
	"three turns of talk": func(s *story) {
		s.works(4)
		times(3, func(i int) { s.does(s.call("send_message", s.text(9), "sent")) })
		s.works(6)
	},
	"two silent turns": func(s *story) { s.works(4); s.does(); s.does(); s.works(6) },
	"checkpoints beside work": func(s *story) {
		times(8, func(i int) { s.does(s.edit(s.file(i)), s.call("create_checkpoint", fmt.Sprint("step ", i), "made")) })
		s.does(s.green(9))
	},
	"answers the team": func(s *story) {
		times(8, func(i int) { s.does(s.call("answer", s.text(9), "sent"), s.read(s.file(i))) })
		s.works(5)
	},

	// Mistakes that pass.
	"three edits do not fit": func(s *story) {
		times(3, func(i int) {
			s.does(step{tool: "edit_file", path: "a.go", old: s.text(4), failed: true, answer: "a.go: old_text is not in the file"})
			s.does(s.read("a.go"))
		})
		s.works(8)
	},
	"three refusals": func(s *story) {
		times(3, func(i int) { s.does(step{tool: "write_file", path: s.file(i), refused: true, answer: "outside"}) })
		s.works(8)
	},
	"tries commands": func(s *story) {
		for _, c := range []string{"python", "python3", "py", "pypy"} {
			s.does(s.red(c+" --version", c+": not found"))
		}
		s.does(s.run("uv run python --version", "3.12"))
		s.works(8)
	},
	"installs one by one": func(s *story) {
		times(8, func(i int) { s.does(s.run("pip install "+s.text(1), "Successfully installed "+s.text(2))) })
		s.works(8)
	},
	"a document is compacted": func(s *story) {
		times(8, func(i int) { s.does(s.read(s.file(i))) })
		s.add(agency.EpochBegun{Session: "s1", Epoch: 2, Folded: 9})
		times(6, func(i int) { s.does(s.call("read_file", s.file(i), fmt.Sprint("   1\t", s.file(i), part(9*i, 9)))) })
		s.works(8)
	},
	"starts a server": func(s *story) {
		times(4, func(i int) {
			s.does(s.edit("server.go"), s.run("pkill server; ./server & sleep 1; curl localhost:8080", s.text(4)))
		})
	},
	"asks the database": func(s *story) {
		times(9, func(i int) { s.does(s.run(`sqlite3 a.db "select * from `+s.text(1)+`"`, s.text(30))) })
		s.works(5)
	},
	"tries inputs": func(s *story) {
		times(9, func(i int) { s.does(s.run(fmt.Sprintf("./calc %d %d", i, i*7), fmt.Sprint(i*i*7))) })
		s.works(5)
	},
	"tree after tree": func(s *story) {
		times(14, func(i int) { s.tree = agency.OID(fmt.Sprint("t", i)); s.does(s.run("python gen.py", "")) })
		s.works(3)
	},
	"publishes": func(s *story) {
		times(6, func(i int) { s.does(s.edit(s.file(i))); s.does(s.call("publish_artifact", s.text(4), "published")) })
	},
	"a second attempt": func(s *story) {
		s.works(9)
		s.add(agency.Failed{Session: "s1", Reason: "x"})
		s.add(agency.Spawned{Session: "s1", Attempt: 2})
		s.works(9)
	},
}
