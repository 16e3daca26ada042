package agentfile

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agency/internal/agency"
	"agency/internal/config"
)

// A few files that name each other twice are more agents than there is memory for: that is
// said of the first that is too large, and before anything begins.
func TestCompositionsAreBounded(t *testing.T) {
	files := map[string]string{"z.md": "agents: [a00, b00]"}
	for i := range 40 {
		for _, side := range []string{"a", "b"} {
			files[fmt.Sprintf("%s%02d.md", side, i)] = fmt.Sprintf("advisors: [a%02d, b%02d]", i+1, i+1)
		}
	}
	files["a40.md"], files["b40.md"] = "chat: false", "chat: false"
	err := load(t, files).Check()
	var faults config.Faults
	if !errors.As(err, &faults) || len(faults) != 2 || !strings.Contains(faults[0].Error(), "agent a30 comes to 2047 agents for one input, more than 2000") {
		t.Errorf("%d faults: %v", len(faults), err)
	}
	wide := map[string]string{"a.md": "router: {destinations: [b, c]}", "b.md": "chat: false", "c.md": "advisors: ["}
	for i := range 100 {
		wide[fmt.Sprintf("x%d.md", i)] = "chat: false"
		wide["c.md"] += fmt.Sprintf("x%d, ", i)
	}
	wide["c.md"] += "b]"
	if err := load(t, wide).Check(); err != nil {
		t.Errorf("a hundred advisors: %v", err)
	}
}

func TestCheck(t *testing.T) {
	const other = "chat: false"
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  []string // the first line of each fault
	}{
		{"all fits", map[string]string{
			"a": "handoff: b\nadvisors: [c]\nagents: [d]\nrole: reviewer\ntools: [read_file]", "b": "router: {destinations: [c, d]}",
			"c": "team: {members: [d], supervisor: e}", "d": other, "e": other,
		}, nil},
		{"unknown agents", map[string]string{
			"aa": "handoff: bbb2\nadvisors: [bbb1, no]\nagents: [bbx]\nteam: {members: [n1], supervisor: n2}", "bbb": other, "r": "router: {destinations: [n3]}",
		}, []string{
			"aa.md:2:10: handoff: agent bbb2 is not known (did you mean bbb?)", "aa.md:3:12: advisors: agent bbb1 is not known (did you mean bbb?)",
			"aa.md:3:18: advisors: agent no is not known", "aa.md:4:10: agents: agent bbx is not known (did you mean bbb?)",
			"aa.md:5:18: team.members: agent n1 is not known", "aa.md:5:35: team.supervisor: agent n2 is not known",
			"r.md:2:25: router.destinations: agent n3 is not known",
		}},
		{"a cycle of handoffs", map[string]string{"a": "handoff: b", "b": "handoff: c", "c": "handoff: a"}, []string{"c.md:2:10: handoff closes a cycle: a -> b -> c -> a"}},
		{"a cycle across all", map[string]string{
			"a": "advisors: [b]", "b": "agents: [c]", "c": "team: {members: [d], supervisor: s}", "d": "team: {members: [s], supervisor: e}", "e": "router: {destinations: [f]}", "f": "handoff: a", "s": other,
		}, []string{"f.md:2:10: handoff closes a cycle: a -> b -> c -> d -> e -> f -> a"}},
		{"a cycle beside the way to it", map[string]string{"a": "handoff: b", "b": "agents: [c]", "c": "agents: [b]"}, []string{"c.md:2:10: sub-agent closes a cycle: b -> c -> b"}},
		{"itself", map[string]string{"a": "agents: [a]"}, []string{"a.md:2:10: sub-agent closes a cycle: a -> a"}},
		{"two ways to one", map[string]string{"a": "agents: [b, c]", "b": "handoff: c", "c": other}, nil},
		{"a router without destinations", map[string]string{"a": "router: {destinations: []}", "b": "router: {}", "c": "router:"}, []string{
			"a.md:2:1: router has no destinations: name the agents that it may hand over to", "b.md:2:1: router has no destinations: name the agents that it may hand over to",
			"c.md:2:1: router has no destinations: name the agents that it may hand over to",
		}},
		{"a router that advises", map[string]string{"a": "advisors: [b]", "b": "router: {destinations: [c]}", "c": other}, []string{"a.md:2:12: advisors: b is a router: it hands over and advises nobody"}},
		{"a router with a handoff and a team", map[string]string{"a": "router: {destinations: [b]}\nhandoff: b\nteam: {members: [b], supervisor: c}", "b": other, "c": other}, []string{
			"a.md:3:10: handoff beside router: a router hands over by itself", "a.md:4:1: team beside router: a team ends with its supervisor's report, a router by handing over",
		}},
		{"a team without members", map[string]string{"a": "team: {supervisor: b}", "b": other}, []string{"a.md:2:1: team has no members"}},
		{"a team without a supervisor", map[string]string{"a": "team: {members: [b]}", "b": other}, []string{"a.md:2:1: team has no supervisor: its report is the team's answer"}},
		{"an empty team", map[string]string{"a": "team:"}, []string{"a.md:2:1: team has no members", "a.md:2:1: team has no supervisor: its report is the team's answer"}},
		{"its own member", map[string]string{"a": "team: {members: [b, a], supervisor: b2}", "b": other, "b2": other}, []string{"a.md:2:21: team a is its own member"}},
		{"its own supervisor", map[string]string{"a": "team: {members: [b], supervisor: a}", "b": other}, []string{"a.md:2:34: team a is its own supervisor"}},
		{"a supervisor that is a team", map[string]string{"a": "team: {members: [b], supervisor: c}", "b": other, "c": "team: {members: [d], supervisor: e}", "d": other, "e": other}, []string{
			"a.md:2:34: team: the supervisor c is itself a team: it speaks to no other",
		}},
		{"a member that supervises", map[string]string{"a": "team: {members: [b, c], supervisor: b}", "b": other, "c": other}, []string{"a.md:2:18: team: b is a member and the supervisor"}},
		{"formats that do not fit", map[string]string{"a": "output: json\nhandoff: b", "b": "handoff: c", "c": "input: json"}, []string{
			"a.md:3:10: handoff: the output of a is json, and b wants markdown as input", "b.md:2:10: handoff: the output of b is markdown, and c wants json as input",
		}},
		{"formats that fit", map[string]string{"a": "output: json\nhandoff: b", "b": "input: json"}, nil},
		{"an unknown role", map[string]string{"a": "role: reviever", "b": "role: Wizard", "c": "role: agent"}, []string{
			`a.md:2:7: role "reviever" is not known (did you mean reviewer?)`, `b.md:2:7: role "Wizard" is not known`, `c.md:2:7: role "agent" is not known`,
		}},
		{"tools that the role does not have", map[string]string{"a": "role: reviewer\ntools: [read_file, write_file]", "b": "tools: Read, Bash\nrole: t5_verifier", "c": "tools: [write_file]"}, []string{
			"a.md:3:20: tools: role reviewer does not have write_file", "b.md:2:8: tools: role t5_verifier does not have run_command",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := map[string]string{}
			for name, head := range tt.files {
				files[name+".md"] = head
			}
			err := load(t, files).Check()
			var got []string
			if err != nil {
				if agency.KindOf(err) != agency.KindInvalid {
					t.Errorf("kind %s", agency.KindOf(err))
				}
				for line := range strings.SplitSeq(err.Error(), "\n") {
					if _, what, ok := strings.Cut(line, "config: "); ok {
						got = append(got, what)
					}
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The whole of a fault, with its line.
func TestCheckShowsTheLine(t *testing.T) {
	l := load(t, map[string]string{"a.md": "name: a\nadvisors:\n  - b\n  - nobody", "b.md": "chat: true"})
	want := "config: a.md:5:5: advisors: agent nobody is not known\n    5 |   - nobody\n      |     ^"
	for range 2 { // it keeps nothing
		if err := l.Check(); err == nil || err.Error() != want {
			t.Errorf("%v\nwant\n%s", err, want)
		}
	}
}

// crowd is a library of as many files as there may be, each of which names as many
// agents as it may.
func crowd(name string) map[string]string {
	files := map[string]string{}
	for i := range maxFiles {
		var names []string
		for j := range maxNamed {
			names = append(names, fmt.Sprintf(name, (i+j+1)%maxFiles))
		}
		files[fmt.Sprintf("agent-with-a-long-name-%d.md", i)] = "agents: [" + strings.Join(names, ", ") + "]"
	}
	return files
}

// A library made to hurt is judged in time that nobody waits for, with few words.
func TestCheckIsBounded(t *testing.T) {
	for _, name := range []string{"agent-with-a-lang-name-%d", "agent-with-a-long-name-%d"} {
		l := load(t, crowd(name))
		start := time.Now()
		if err := l.Check(); err == nil || len(err.Error()) > 100_000 {
			t.Errorf("%.1000v", err)
		}
		got := l.Draw("agent-with-a-long-name-0")
		if lines, cut := strings.Count(got, "\n"), strings.HasSuffix(got, "\nand more\n"); lines > maxDrawn+1 || cut != (lines > maxDrawn) || !cut && lines > maxNamed+6 {
			t.Errorf("%d lines, cut: %v", lines, cut)
		}
		if got := l.Mermaid("agent-with-a-long-name-0"); len(got) > 1<<20 {
			t.Errorf("%d bytes", len(got))
		}
		if took := time.Since(start); took > limit {
			t.Errorf("%s: took %v", name, took)
		}
	}
	files := crowd("a%d")
	for name := range files {
		files[name] = strings.Repeat("x: y\n", 2000)
	}
	start := time.Now()
	if _, err := Load(Source{User, "u", folder(files), ""}); err == nil || time.Since(start) > limit {
		t.Errorf("took %v: %.1000v", time.Since(start), err)
	}
}
