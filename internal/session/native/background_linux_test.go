package native

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/budget"
	"agency/internal/linux"
	"agency/internal/session"
	"agency/internal/tool"
)

// server answers connections at a port of its own network, and leaves a daemon. The mark is
// how its processes are found.
func server(t *testing.T, mark string) string {
	t.Helper()
	if _, err := os.Stat("/usr/bin/perl"); err != nil {
		t.Skip("needs perl")
	}
	line := `setsid sh -c 'setsid sleep ` + mark + ` &' ; exec perl -MIO::Socket::INET -e '$|=1; $l = IO::Socket::INET->new(Listen => 9, LocalAddr => "127.0.0.1:4243") or die; print "listens\n"; while ($c = $l->accept) { print "asked\n"; print $c "hello\n"; close $c }' ` + mark
	args, err := json.Marshal(map[string]any{"command": line, "background": true})
	must(t, err)
	return string(args)
}

const client = `{"command":"until (exec 3<>/dev/tcp/127.0.0.1/4243) 2>/dev/null; do :; done; exec 3<>/dev/tcp/127.0.0.1/4243; cat <&3; date >>main.txt"}`

// lives are the processes whose command line has a mark.
func lives(mark string) (out []string) {
	for _, pid := range linux.Processes() {
		b, _ := os.ReadFile("/proc/" + pid + "/cmdline")
		if strings.Contains(string(b), mark) && linux.Running(pid) {
			out = append(out, linux.Command(pid))
		}
	}
	return out
}

func markOf(n int) string { return fmt.Sprintf("%d.%d", 100_000+os.Getpid(), n) }

// said is the last message that a model was shown.
func (p *player) said(request int) string { return fmt.Sprint(p.msgs[request][len(p.msgs[request])-1]) }

// A server that is started is reached by later commands while the files are recorded beside
// it, tells what it wrote, and ends with its daemons by a call, or with the session.
func TestBackground(t *testing.T) {
	one, two := markOf(1), markOf(2)
	k := newKit(t, budget.Limits{},
		calls("run_command", server(t, one)),
		calls("run_command", client), calls("run_command", client),
		calls("command_output", `{"command_id":"bg-9-1"}`, "run_tests", `{}`),
		calls("stop_command", `{"command_id":"bg-1-1"}`),
		calls("run_command", `{"command":"exec 3<>/dev/tcp/127.0.0.1/4243 && echo reached"}`),
		calls("run_command", server(t, two)), complete)
	k.model.hook = func(n int) {
		if left := lives(one); n == 6 && len(left) > 0 {
			t.Errorf("after it was stopped live %v", left)
		}
	}
	if out := k.must(spec()); out.Kind != session.Claimed {
		t.Fatalf("%+v", out)
	}
	for n, want := range []string{1: "goes on as command_id bg-1-1", 2: "hello", 3: "hello", 4: "those that go on: bg-1-1", 5: "listens\nasked\nasked\n", 6: "refused"} {
		if said := k.model.said(n); n > 0 && !strings.Contains(said, want) {
			t.Errorf("request %d does not say %q: %s", n, want, said)
		}
	}
	if left := lives(two); len(left) > 0 {
		t.Errorf("after the session live %v", left)
	}
	checkRequests(t, k.model)
}

// An agent that is resumed is told what has ended meanwhile, once, wherever its host died, and
// nothing of that lives.
func TestBackgroundOfADeadHost(t *testing.T) {
	for n := 1; ; n += 3 {
		mark := markOf(100 + n)
		k := newKit(t, budget.Limits{}, calls("run_command", server(t, mark)), calls("read_file", `{"path":"main.txt"}`), calls("read_file", `{"path":"main.txt"}`), complete)
		died := k.dieAt(n)
		_, err := k.do(t.Context(), spec())
		if died() == "" {
			must(t, err)
			break
		}
		k.takeOver()
		if left := lives(mark); len(left) > 0 {
			t.Errorf("died at %s: %v live", died(), left)
		}
		var settled bool // the call that started it
		for _, e := range k.events() {
			settled = settled || e.Type == "turn_completed"
		}
		k.between = nil
		asked := len(k.model.seen)
		if out := k.must(spec()); out.Kind != session.Claimed {
			t.Fatalf("%+v", out)
		}
		all := fmt.Sprint(k.model.msgs[len(k.model.msgs)-1])
		if told := strings.Count(all, "has ended meanwhile"); (told == 1) != (settled && len(k.model.seen) > asked) || told > 1 {
			t.Errorf("died at point %d, %s, settled %v: told %d times", n, died(), settled, told)
		}
		checkRequests(t, k.model)
	}
}

// background is that of a session, which ends with the test.
func background(t *testing.T, k *stage) tool.Commands {
	t.Helper()
	tools, err := k.Toolset(t.Context(), spec())
	must(t, err)
	t.Cleanup(tools.Close)
	return k.toolEnv(tools).Commands
}

// output asks until something is told, or the command has ended.
func output(t *testing.T, b tool.Commands, id string) tool.Going {
	t.Helper()
	for until := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		out, err := b.Output(t.Context(), id)
		must(t, err)
		if len(out.Text) > 0 || out.Ended {
			return out
		}
		if time.Now().After(until) {
			t.Fatalf("it says nothing: %+v", out)
		}
	}
}

// What it writes is told in parts, whole lines, the end of it where it is much, and never a
// secret, in whatever pieces it comes.
func TestBackgroundOutput(t *testing.T) {
	k := newKit(t, budget.Limits{})
	k.secrets = agency.NewRedactor(hostKey)
	b := background(t, k)
	id, err := b.Start(t.Context(), `echo one; printf 'two %s' `+hostKey[:20]+`; echo `+hostKey[20:]+`; seq 100000; printf half; sleep 0.3; echo " of it"; exit 3`)
	must(t, err)
	var all strings.Builder
	lost := int64(0)
	for {
		out := output(t, b, id)
		if n := len(out.Text); !out.Ended && n > 0 && out.Text[n-1] != '\n' || n > tool.MaxShown {
			t.Errorf("%d bytes, which end %q", n, out.Text[max(0, n-20):])
		}
		all.Write(out.Text)
		lost += out.Dropped
		if out.Ended {
			if out.ExitCode != 3 {
				t.Errorf("%+v", out)
			}
			break
		}
	}
	if said := all.String(); strings.Contains(said, hostKey[:20]) || strings.Contains(said, hostKey[20:]) || !strings.HasSuffix(said, "99999\n100000\nhalf of it\n") {
		t.Errorf("%d bytes, which end %q", len(said), said[max(0, len(said)-200):])
	}
	t.Logf("%d bytes were told, %d were gone", all.Len(), lost)
}

// No more than four go on; a place is free again when one has ended.
func TestBackgroundIsBounded(t *testing.T) {
	b := background(t, newKit(t, budget.Limits{}))
	for range 4 {
		_, err := b.Start(t.Context(), "exec sleep 1000")
		must(t, err)
	}
	if _, err := b.Start(t.Context(), "true"); agency.KindOf(err) != agency.KindConflict {
		t.Error(err)
	}
	out, err := b.Stop(t.Context(), "bg-0-1")
	if must(t, err); !out.Ended || out.Cause != "cancelled" {
		t.Errorf("%+v", out)
	}
	if _, err := b.Start(t.Context(), "true"); err != nil {
		t.Error(err)
	}
}
