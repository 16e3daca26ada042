package native

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/budget"
	"agency/internal/flow"
	"agency/internal/llm"
	"agency/internal/session"
	"agency/internal/session/record"
	"agency/internal/store"
	"agency/internal/tool"
)

// deadly is a toolset on which a command, a look into the history or a folder's
// end the process, and counts what runs.
type deadly struct {
	*stage
	mu   sync.Mutex
	dead bool
	runs map[string]int
}

func (d *deadly) Toolset(ctx context.Context, s session.Spec) (*session.Toolset, error) {
	tools, err := d.stage.Toolset(ctx, s)
	if err == nil {
		tools.Commands, tools.History = deadlyCommands{d, tools.Commands}, deadlyHistory{tools.History, d}
	}
	return tools, err
}

// runs counts, and says whether it was the last that the process does.
func (d *deadly) run(what string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.runs[what]++
	if strings.Contains(what, "kill") {
		d.dead = true
		return errDied
	}
	if strings.Contains(what, "panic") {
		panic(what)
	}
	return nil
}

func (d *deadly) between(string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dead {
		return errDied
	}
	return nil
}

type deadlyCommands struct {
	d *deadly
	tool.Shell
}

func (c deadlyCommands) Command(_ context.Context, line string, _ time.Duration) (tool.Output, error) {
	return tool.Output{Text: []byte("ran " + line)}, dying(c.d.run(line))
}

type deadlyHistory struct {
	tool.History
	d *deadly
}

func (h deadlyHistory) Diff(_ context.Context, p string) (string, error) {
	return "diff of " + p, dying(h.d.run(p))
}

// dying is an error that nobody but the process's end can make of it.
func dying(err error) error {
	if err != nil {
		return agency.Errorf(agency.KindTransient, "%w", err)
	}
	return nil
}

// live runs a part in one process after another until it ends, and counts them.
func (d *deadly) live(t *testing.T, s session.Spec) (out session.Outcome, hosts int) {
	t.Helper()
	d.host = d
	for {
		d.dead = false
		hosts++
		out, err := d.process(d.between)(flow.WithScope(t.Context(), flow.Scope{Run: s.Run, Fence: d.fence}), "", s)
		if err == nil {
			return out, hosts
		}
		if !errors.Is(err, errDied) || hosts > 20 {
			t.Fatalf("host %d: %v", hosts, err)
		}
		d.takeOver()
	}
}

// results are what the calls of a session answered, by the id of the call.
func (d *deadly) results(t *testing.T) map[string]string {
	out := map[string]string{}
	d.read(func(q *store.Snapshot) error {
		_, msgs, err := record.Transcript(q, spec().ID())
		must(t, err)
		names := map[string]string{}
		for _, m := range msgs {
			for _, u := range m.Calls() {
				names[u.ID] = string(u.Args)
			}
			for _, b := range m.Blocks {
				if r, ok := b.(llm.ToolResult); ok {
					out[names[r.ID]] = r.Text
				}
			}
		}
		return nil
	})
	return out
}

// A call that ended the host twice is not run a third time; those beside it
// and behind it are.
func TestCallThatEndsTheHostIsNotRunForEver(t *testing.T) {
	for name, tc := range map[string]struct {
		say   []any
		kills string
		also  []string
	}{
		"a command": {
			[]any{calls("run_command", `{"command":"a"}`, "run_command", `{"command":"kill"}`, "run_command", `{"command":"b"}`), complete}, "kill", []string{"a", "b"},
		},
		"the first": {[]any{calls("run_command", `{"command":"kill"}`, "run_command", `{"command":"b"}`), complete}, "kill", []string{"b"}},
		"a read beside others": {
			[]any{calls("get_git_diff", `{"path":"a"}`, "get_git_diff", `{"path":"kill"}`, "get_git_diff", `{"path":"b"}`), complete}, "kill", []string{"a", "b"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := &deadly{stage: newKit(t, budget.Limits{}, tc.say...), runs: map[string]int{}}
			out, hosts := d.live(t, spec())
			if out.Kind != session.Claimed || hosts != maxTries+1 || d.runs[tc.kills] != maxTries {
				t.Errorf("%+v by %d hosts, ran %v", out, hosts, d.runs)
			}
			got := d.results(t)
			for args, text := range got {
				if strings.Contains(args, tc.kills) != strings.Contains(text, "this call ended the host twice") {
					t.Errorf("%s answered %s", args, text)
				}
			}
			for _, what := range tc.also {
				if d.runs[what] == 0 {
					t.Errorf("%s never ran: %v", what, got)
				}
			}
			d.read(func(q *store.Snapshot) error {
				var n int
				err := q.QueryRow(`SELECT count(*) FROM session_try`).Scan(&n)
				if n != 0 {
					t.Errorf("%d counts are left", n)
				}
				return err
			})
		})
	}
}

// A host that ends in order, however often, is no call's fault.
func TestOrderlyEndsCountForNoCall(t *testing.T) {
	k := newKit(t, budget.Limits{}, calls("run_command", `{"command":"while [ ! -e go ]; do sleep 0.05; done; echo done"}`), complete)
	for range maxTries + 2 {
		ctx, cancel := context.WithCancel(t.Context())
		began := make(chan struct{}, 8)
		process := k.process(func(point string) error {
			if point == "call" {
				began <- struct{}{}
			}
			return nil
		})
		go func() { <-began; cancel() }()
		if _, err := process(flow.WithScope(ctx, flow.Scope{Run: testRun, Fence: k.fence}), "", spec()); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		k.takeOver()
	}
	k.between = func(point string) error { // the tree before is restored: what ends the command must be new
		if point == "call" {
			w, err := k.workspace(t.Context(), spec())
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(w.Path(), "go"), nil, 0o600)
		}
		return nil
	}
	if out := k.must(spec()); out.Kind != session.Claimed || !strings.Contains(fmt.Sprint(k.model.msgs[len(k.model.msgs)-1]), "exit code 0") {
		t.Errorf("%+v: %v", out, k.model.msgs[len(k.model.msgs)-1])
	}
}

// A panic within a call is that call's error, alone or beside others.
func TestPanicIsTheCallsError(t *testing.T) {
	d := &deadly{stage: newKit(t, budget.Limits{},
		calls("get_git_diff", `{"path":"a"}`, "get_git_diff", `{"path":"panic"}`, "get_git_diff", `{"path":"b"}`),
		calls("run_command", `{"command":"panic"}`), complete), runs: map[string]int{}}
	out, hosts := d.live(t, spec())
	if out.Kind != session.Claimed || hosts != 1 {
		t.Fatalf("%+v by %d hosts", out, hosts)
	}
	for args, text := range d.results(t) {
		if strings.Contains(args, "panic") != strings.Contains(text, "error: the tool itself failed: it panicked: panic") {
			t.Errorf("%s answered %s", args, text)
		}
	}
}

// What may have acted on files that cannot be restored is not run again: a line
// that was appended would be there twice.
func TestNoReplayOverUnknownFiles(t *testing.T) {
	k := newKit(t, budget.Limits{},
		calls("run_command", `{"command":"mkdir sub && cd sub && git init -q . && echo a > a && git add a && git -c user.name=a -c user.email=a@b commit -qm a"}`),
		calls("run_command", `{"command":"echo x >> main.txt"}`, "read_file", `{"path":"main.txt"}`),
		calls("run_command", `{"command":"rm -rf sub"}`), complete)
	acted := 0
	k.between = func(point string) error {
		if point == "acted" {
			acted++
		}
		if acted >= 2 { // the second turn has run, and nothing of it is stored
			return errDied
		}
		return nil
	}
	if _, err := k.do(t.Context(), spec()); !errors.Is(err, errDied) {
		t.Fatal(err)
	}
	k.takeOver()
	k.between = nil
	if out := k.must(spec()); out.Kind != session.Claimed || k.file("main.txt") != "one\ntwo\nx\n" {
		t.Errorf("%+v, main.txt is %q", out, k.file("main.txt"))
	}
	if last := fmt.Sprint(k.model.msgs[len(k.model.msgs)-1]); !strings.Contains(last, "not run again: the host ended while this turn ran") {
		t.Errorf("the agent is not told: %s", last)
	}
	checkRequests(t, k.model)
}
