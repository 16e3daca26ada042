package native

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/budget"
	"agency/internal/llm"
	"agency/internal/registry"
	"agency/internal/session"
	"agency/internal/session/record"
	"agency/internal/store"

	"github.com/google/go-cmp/cmp"
)

// worker is a model with a real window: it refuses what is too long, sums up
// when it is asked to, and otherwise does its lines one after the other. Which
// line is next it reads off the files, so that a request that is made again
// gets the same answer, whatever the conversation still holds.
type worker struct {
	k       *stage
	window  int64 // tokens, by four bytes
	lines   func(n int) llm.Answer
	summary func() any
	records int // summaries asked for
}

func (w *worker) answer(_ context.Context, req llm.Request) any {
	if n := llm.Bytes(req)/4 + req.MaxOutput; n > w.window {
		return &llm.Fault{Kind: llm.ContextOverflow, Provider: "test", Detail: fmt.Sprintf("prompt is too long: %d tokens > %d maximum", n, w.window)}
	}
	if len(req.Tools) == 0 {
		w.records++
		return w.summary()
	}
	a := w.lines(w.k.turns())
	a.Usage = agency.Usage{In: llm.Bytes(req) / 4, Out: 20}
	return a
}

// turns are those that are settled.
func (k *stage) turns() (n int) {
	k.read(func(q *store.Snapshot) error {
		return q.QueryRow(`SELECT count(*) FROM session_turn WHERE phase = 'settled'`).Scan(&n)
	})
	return n
}

// play makes every line of the player the worker's.
func (w *worker) play(k *stage) {
	w.k = k
	k.model.say = nil
	for range 400 {
		k.model.say = append(k.model.say, w.answer)
	}
}

func summing() any {
	return llm.Answer{
		Message: llm.Message{Role: llm.Assistant, Blocks: []llm.Block{llm.Text{Text: "I appended lines to main.txt."}}},
		Stop:    llm.StopEndTurn, Usage: agency.Usage{In: 700, Out: 30}, CacheKnown: true,
	}
}

// bound gives the contract of the test what must survive.
func (k *stage) bound() {
	k.write(func(tx *store.Tx) error {
		if err := board.Send(tx, agency.Message{ID: "m1", RunID: testRun, From: "human", To: "generalist", Type: agency.MessageNote, Body: "Never touch check.sh, says ANN."}); err != nil {
			return err
		}
		if err := registry.OpenGate(tx, agency.Gate{ID: "test-run.q", RunID: testRun, Kind: agency.GateQuestion, ContractID: "long", Summary: "Which form?", Body: "Which form?"}); err != nil {
			return err
		}
		if _, err := registry.Decide(tx, "test-run.q", agency.Decision{Verb: agency.Approve, Note: "the ROMAN form"}); err != nil {
			return err
		}
		return registry.CreateContract(tx, agency.Contract{
			ID: "long", RunID: testRun, AssignedRole: "generalist", Title: "long work", Description: "work for long",
			GoalAnchor: "append lines for EVER", RetryBudget: 3,
			AcceptanceCriteria: []agency.Criterion{{ID: "goal", Text: "main.txt has many lines"}, {ID: "tidy", Text: "no other file changes"}},
			Constraints:        []string{"add no DEPENDENCY", "keep lines SHORT", "write ASCII only"},
		})
	})
}

// binding is what every request must hold once it is known.
func binding() []string {
	return []string{
		"append lines for EVER", "main.txt has many lines", "no other file changes",
		"add no DEPENDENCY", "keep lines SHORT", "write ASCII only", "Never touch check.sh, says ANN.",
	}
}

// A session of 200 turns in a window that holds a few of them never sends a
// request that does not fit, and each request holds all that binds it.
func TestLongSessionInASmallWindow(t *testing.T) {
	k := newKit(t, budget.Limits{})
	k.bound()
	w := &worker{window: 16_000, summary: summing}
	w.lines = func(n int) llm.Answer {
		switch {
		case n == 1:
			return calls("edit_file", `{"path":"main.txt","old_text":"two","new_text":"two and more"}`, "create_checkpoint", `{"label":"begun"}`)
		case n == 2:
			return calls("run_tests", `{}`)
		case n < 199:
			a := calls("read_file", `{"path":"big.txt"}`, "list_directory", `{"path":"."}`)
			return a
		}
		return calls("signal_complete", `{"evidence":"done"}`)
	}
	w.play(k)
	k.lineup.Window, k.setup.Limits.Turns, k.setup.Limits.Tokens, k.setup.Limits.Seconds = w.window, 0, 0, 0
	s := spec()
	s.Contract = "long"
	must(t, writeText(t, k, s, "big.txt", strings.Repeat("a line of text\n", 150)))
	out := k.must(s)
	if out.Kind != session.Claimed || k.turns() != 200 {
		t.Fatalf("ended %+v after %d turns", out, k.turns())
	}
	if n := k.count("epoch_begun"); n < 5 || n != w.records {
		t.Errorf("%d epochs were logged, %d summaries asked for", n, w.records)
	}
	facts, epochs := 0, 0
	for i, msgs := range k.model.msgs {
		if k.forRecord(i) {
			continue // the request for a summary
		}
		text := fmt.Sprint(msgs)
		for _, want := range binding() {
			if strings.Contains(text, want) {
				facts++
			} else {
				t.Errorf("request %d does not hold %q", i, want)
			}
		}
		if strings.Contains(text, "## Where this session stands") {
			epochs++
			for _, want := range []string{"the ROMAN form", "M main.txt", "sh ./check.sh", "cp-1-2-2 (begun)", "I appended lines to main.txt."} {
				if !strings.Contains(text, want) {
					t.Errorf("request %d of a later epoch does not hold %q", i, want)
				}
			}
			if n := strings.Count(text, "says ANN."); n != 1 {
				t.Errorf("request %d holds the message %d times", i, n)
			}
		}
	}
	t.Logf("%d facts survived in %d requests, %d of them in later epochs, %d summaries", facts, len(k.model.msgs)-w.records, epochs, w.records)
	checkEpochs(t, k)
	k.checkSpent(t)
}

func writeText(t *testing.T, k *stage, s session.Spec, name, text string) error {
	d, err := k.Toolset(t.Context(), s)
	if err != nil {
		return err
	}
	defer func() { _ = d.Files.Close() }()
	res, err := toolNamed("write_file").Run(t.Context(), k.toolEnv(d), fmt.Appendf(nil, `{"path":%q,"content":%q}`, name, text))
	if err == nil && res.Failed {
		t.Fatal(res.Text)
	}
	return err
}

// forRecord tells whether a request asks for a summary: it offers no tool.
func (k *stage) forRecord(i int) bool {
	head, _, _ := bytes.Cut(k.model.seen[i], []byte("\n"))
	return bytes.Contains(head, []byte(`"tools":[]`))
}

// checkEpochs asserts what a provider demands: each request is valid, and
// within an epoch a byte prefix of the next.
func checkEpochs(t *testing.T, k *stage) {
	t.Helper()
	var before []byte
	head := ""
	for i, msgs := range k.model.msgs {
		calls := map[string]bool{}
		for n, m := range msgs {
			if n > 0 && m.Role == msgs[n-1].Role && m.Role == llm.Assistant {
				t.Errorf("request %d: two answers in a row", i)
			}
			for _, b := range m.Blocks {
				switch b := b.(type) {
				case llm.ToolUse:
					calls[b.ID] = true
				case llm.ToolResult:
					if !calls[b.ID] {
						t.Errorf("request %d, message %d: result of unknown call %s", i, n, b.ID)
					}
					delete(calls, b.ID)
				}
			}
			if m.Role == llm.User && len(calls) > 0 {
				t.Errorf("request %d, message %d: calls without result: %v", i, n, calls)
			}
		}
		if k.forRecord(i) {
			continue
		}
		if h := fmt.Sprint(msgs[0]); h == head && !bytes.HasPrefix(k.model.seen[i], before) {
			t.Errorf("request %d is no continuation within its epoch", i)
		} else {
			head = h
		}
		before = k.model.seen[i]
	}
}

// checkSpent asserts that every answer is paid for once.
func (k *stage) checkSpent(t *testing.T) {
	t.Helper()
	if s := k.spent(); s.Reserved != 0 {
		t.Errorf("reserved %v", s.Reserved)
	}
	k.read(func(q *store.Snapshot) error {
		var settled, turns, records, open int
		err := q.QueryRow(`SELECT (SELECT count(*) FROM budget_requests WHERE state = 'settled'),
			(SELECT count(*) FROM session_turn WHERE phase <> 'asked'),
			(SELECT count(*) FROM session_compaction WHERE written_by = 'model'),
			(SELECT count(*) FROM budget_requests WHERE state = 'reserved')`).Scan(&settled, &turns, &records, &open)
		if settled != turns+records || open != 0 {
			t.Errorf("%d requests settled for %d turns and %d summaries, %d still reserved", settled, turns, records, open)
		}
		var infos []record.Info
		must(t, err)
		infos, err = record.Sessions(q, testRun)
		if err == nil && (infos[0].Turns != turns || infos[0].Epochs != records+1) {
			t.Errorf("the session shows %d turns and %d epochs, not %d and %d", infos[0].Turns, infos[0].Epochs, turns, records+1)
		}
		return err
	})
}

// shortWork is a session of a few turns with one compaction.
func shortWork(t *testing.T) (*stage, *worker, session.Spec) {
	k := newKit(t, budget.Limits{})
	k.bound()
	w := &worker{window: 14_000, summary: summing}
	w.lines = func(n int) llm.Answer {
		switch {
		case n < 4:
			return calls("read_file", `{"path":"big.txt"}`, "run_command", fmt.Sprintf(`{"command":"echo %d >> main.txt"}`, n))
		}
		return calls("signal_complete", `{"evidence":"done"}`)
	}
	w.play(k)
	k.lineup.Window = w.window
	s := spec()
	s.Contract = "long"
	must(t, writeText(t, k, s, "big.txt", strings.Repeat("a line of text\n", 400)))
	return k, w, s
}

// A process that dies at any point of a compaction resumes to the same end: a
// stored summary is never asked for again, and each request is paid for once.
func TestDeathAroundACompaction(t *testing.T) {
	calm, w, s := shortWork(t)
	var points []string
	var mu sync.Mutex
	calm.between = func(point string) error {
		mu.Lock()
		defer mu.Unlock()
		points = append(points, point)
		return nil
	}
	want := calm.must(s)
	if w.records != 1 {
		t.Fatalf("%d summaries", w.records)
	}
	first := slices.Index(points, "compact")
	for n := first; n <= slices.Index(points, "epoch begun")+3; n++ {
		k, w, s := shortWork(t)
		died := k.dieAt(n + 1)
		if _, err := k.do(t.Context(), s); !errors.Is(err, errDied) {
			t.Fatalf("at point %d, %s: %v", n, points[n], err)
		}
		stored, records := k.epochs(), w.records
		k.takeOver()
		k.between = nil
		out := k.must(s)
		where := fmt.Sprintf("died at point %d, %s", n, died())
		if diff := cmp.Diff(want, out); diff != "" {
			t.Errorf("%s: outcome\n%s", where, diff)
		}
		if k.epochs() != 1 || stored == 1 && w.records != records || w.records > 2 {
			t.Errorf("%s: %d epochs; %d stored before and %d summaries asked for, %d after", where, k.epochs(), stored, records, w.records)
		}
		checkEpochs(t, k)
		k.checkSpent(t)
	}
}

func (k *stage) epochs() (n int) {
	k.read(func(q *store.Snapshot) error { return q.QueryRow(`SELECT count(*) FROM session_compaction`).Scan(&n) })
	return n
}

// A model whose window nobody knows refuses a request as too long: its words
// are learned from, the conversation is compacted, and no attempt is lost.
func TestWindowIsLearned(t *testing.T) {
	k, w, s := shortWork(t)
	k.lineup.Window = 0
	if out := k.must(s); out.Kind != session.Claimed {
		t.Fatalf("ended %+v", out)
	}
	if w.records != 1 || k.count("failed") != 0 {
		t.Errorf("%d summaries, %d failures", w.records, k.count("failed"))
	}
	var learned int64
	k.read(func(q *store.Snapshot) error {
		return q.QueryRow(`SELECT tokens FROM session_window WHERE model = 'test/model'`).Scan(&learned)
	})
	if learned != w.window {
		t.Errorf("learned a window of %d, it is %d", learned, w.window)
	}
	checkEpochs(t, k)
	k.checkSpent(t)
	// The next session of the run knows.
	k.model.seen, k.model.msgs = nil, nil
	s.Attempt = 2
	c := k.alone(s)
	c.lineup = k.lineup
	must(t, c.recall(t.Context()))
	if c.window.tokens() != w.window {
		t.Errorf("the next session believes in %d", c.window.tokens())
	}
}

func TestToldWindow(t *testing.T) {
	for text, want := range map[string]int64{
		"This model's maximum context length is 8192 tokens. However, you requested 10226 tokens (2034 in the messages, 8192 in the completion).": 8192,
		"prompt is too long: 210000 tokens > 200000 maximum":                                                 200_000,
		"input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length": 200_000,
		"the request exceeds the available context size (n_ctx = 4,096)":                                     4096,
		"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).":            1_048_576,
		"too long": 0,
		"":         0,
	} {
		if got := toldWindow(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

// Where the model cannot sum up, the harness does, and the session goes on.
func TestSummaryWithoutAModel(t *testing.T) {
	for name, say := range map[string]any{
		"fault":   &llm.Fault{Kind: llm.Server, Provider: "test"},
		"refusal": stop(llm.StopRefusal),
		"empty":   stop(llm.StopEmpty),
		"a call":  calls("read_file", `{"path":"main.txt"}`),
	} {
		k, w, s := shortWork(t)
		w.summary = func() any { return say }
		if out := k.must(s); out.Kind != session.Claimed {
			t.Errorf("%s: ended %+v", name, out)
		}
		last := fmt.Sprint(k.model.msgs[len(k.model.msgs)-1])
		if !strings.Contains(last, "- run_command echo 0 >> main.txt: exit code 0") {
			t.Errorf("%s: the extract is not there:\n%s", name, last)
		}
		checkEpochs(t, k)
		if s := k.spent(); s.Reserved != 0 {
			t.Errorf("%s: reserved %v", name, s.Reserved)
		}
	}
}

// The results of one turn cannot fill the window.
func TestHugeTurn(t *testing.T) {
	k, w, s := shortWork(t)
	w.lines = func(n int) llm.Answer {
		if n > 2 {
			return calls("signal_complete", `{"evidence":"done"}`)
		}
		var pairs []string
		for range 7 {
			pairs = append(pairs, "read_file", `{"path":"big.txt"}`)
		}
		return calls(pairs...)
	}
	if out := k.must(s); out.Kind != session.Claimed {
		t.Fatalf("ended %+v", out)
	}
	checkEpochs(t, k)
	for i, msgs := range k.model.msgs {
		if n := llm.Bytes(llm.Request{Messages: msgs}) / 4; n > w.window {
			t.Errorf("request %d has %d tokens", i, n)
		}
	}
}

// Another model's answer begins an epoch, and says so.
func TestAnotherModelIsAnEpoch(t *testing.T) {
	k := newKit(t, budget.Limits{}, complete)
	c := k.alone(spec())
	k.must(spec())
	k.write(func(tx *store.Tx) error {
		w := &draft{c: c, tx: tx, st: state{Model: "a/b"}}
		if err := w.switched("a/c"); err != nil || w.st.Epoch != 2 || w.st.Model != "a/c" {
			t.Errorf("%+v, %v", w.st, err)
		}
		return w.switched("a/c")
	})
	if n := k.count("epoch_begun"); n != 1 {
		t.Errorf("%d epochs logged", n)
	}
}
