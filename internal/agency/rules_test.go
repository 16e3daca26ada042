package agency

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestAdvance(t *testing.T) {
	done := Contract{ID: "a", RetryBudget: 3}
	for _, f := range []Fact{
		Started{Agent: "x"},
		Parking{For: "human"},
		Unparked{},
		ClaimMade{},
		Returned{Reason: "red"},
		Started{},
		ClaimMade{},
		Verified{},
		LandingBegun{},
		HasLanded{},
	} {
		var err error
		if done, err = Advance(done.orPending(), f); err != nil {
			t.Fatalf("%T: %v", f, err)
		}
	}
	if done.Status != StatusComplete || done.Attempts != 2 {
		t.Errorf("ended %s after %d attempts", done.Status, done.Attempts)
	}
}

// What a contract came to is what was measured at its landing, not what its
// agent says.
func TestResultsAreMeasured(t *testing.T) {
	did := Measure("c1", Files{Created: []string{"b.go"}, Modified: []string{"a.go"}, Deleted: []string{"old.go"}}, []string{"TestB"})
	c := Contract{ID: "a", Status: StatusPending, RetryBudget: 1}
	for _, f := range []Fact{
		Started{}, ClaimMade{Outputs: Outputs{FilesCreated: []string{"boast.go"}}}, Verified{}, LandingBegun{}, HasLanded{Results: &did},
	} {
		var err error
		if c, err = Advance(c, f); err != nil {
			t.Fatal(err)
		}
		if slices.Contains(c.ActualOutputs.FilesCreated, "boast.go") {
			t.Errorf("after %s the outputs are the agent's words", f.fact())
		}
	}
	raw, err := json.Marshal(c.ActualOutputs)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"files_created":["b.go"],"files_modified":["a.go"],"tests_passing":["TestB"],"files_deleted":["old.go"],"commit":"c1"}`; string(raw) != want {
		t.Errorf("results are %s, want %s", raw, want)
	}
	many := Measure("c1", Files{Created: make([]string, mostNames+7)}, make([]string, mostNames+1))
	if len(many.FilesCreated) != mostNames || many.LeftOut != 8 {
		t.Errorf("of long lists %d names stay and %d are left out", len(many.FilesCreated), many.LeftOut)
	}
}

func (c Contract) orPending() Contract {
	if c.Status == "" {
		c.Status = StatusPending
	}
	return c
}

func TestAdvanceRefuses(t *testing.T) {
	all := []Fact{
		Started{},
		Parking{},
		Unparked{},
		ClaimMade{},
		Verified{},
		Returned{},
		Reviewed{},
		LandingBegun{},
		HasLanded{},
		Blocking{},
		Unblocked{},
		GaveUp{},
		Withdrawn{},
	}
	positions := append(slices.Clone(anywhereAlive), atComplete, atFailed, atCancelled)
	for _, f := range all {
		allowed := transitions[f.fact()].from
		for _, p := range positions {
			_, err := Advance(Contract{ID: "a", Status: p.status, Stage: p.stage}, f)
			if got, want := err == nil, slices.Contains(allowed, p); got != want {
				t.Errorf("%T from %v: allowed %v, want %v", f, p, got, want)
			}
			if p.status.Final() && err == nil {
				t.Errorf("%T leaves the final status %s", f, p.status)
			}
		}
	}
	_, err := Advance(Contract{ID: "a", Status: StatusPending, Attempts: 3, RetryBudget: 3}, Started{})
	if KindOf(err) != KindExhausted {
		t.Errorf("a fourth attempt of three: %v", err)
	}
	_, err = Advance(Contract{ID: "a", Status: StatusPending}, HasLanded{})
	if err == nil || !strings.Contains(err.Error(), "cannot be landed while pending") {
		t.Errorf("error says %v", err)
	}
}

func TestOverlap(t *testing.T) {
	shared := []string{"**/go.sum", "CHANGELOG.md"}
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"a.go", "a.go", true},
		{"a.go", "b.go", false},
		{"a.go#F", "a.go#G", false},
		{"a.go#F", "a.go#F", true},
		{"a.go#F", "a.go", true},
		{"pkg/", "pkg/x/y.go", true},
		{"pkg/**", "pkg2/x.go", false},
		{"**/*.go", "cmd/main.go", true},
		{"**/*.go", "cmd/main.md", false},
		{"**/*.go", "**/*_test.go", true},
		{"a*/x", "b*/x", false},
		{"**", "anything/at/all", true},
		{"go.sum", "go.sum", false},
		{"x/go.sum", "x/go.sum", false},
		{"CHANGELOG.md", "**", false},
		{"./a.go", "a.go", true},
		{"a/**/z", "a/z", true},
	} {
		for _, swap := range []bool{false, true} {
			a, b := tt.a, tt.b
			if swap {
				a, b = b, a
			}
			if _, _, got := Overlap([]string{a}, []string{b}, shared); got != tt.want {
				t.Errorf("Overlap(%s, %s) = %v", a, b, got)
			}
		}
	}
}

func TestAdmissible(t *testing.T) {
	running := []Contract{{ID: "r", ParentID: "p", Writes: []string{"a.go"}}}
	for _, tt := range []struct {
		c    Contract
		want bool
	}{
		{Contract{ID: "x", Writes: []string{"b.go"}}, true},
		{Contract{ID: "x", Writes: []string{"*.go"}}, false},
		{Contract{ID: "x"}, true},
		{Contract{ID: "x", ParentID: "p", ExecutionMode: ExecutionSequential}, false},
		{Contract{ID: "x", ParentID: "q", ExecutionMode: ExecutionSequential}, true},
		{Contract{ID: "x", ExpectedOutputs: Outputs{FilesModified: []string{"a.go"}}}, false},
	} {
		if reason, got := Admissible(tt.c, running, nil); got != tt.want || got != (reason == "") {
			t.Errorf("%+v: %v %q", tt.c, got, reason)
		}
	}
}

func TestValidatePlan(t *testing.T) {
	crit := []Criterion{{ID: "c", Text: "t"}}
	ok := func(id string) Contract {
		return Contract{ID: ContractID(id), AssignedRole: "scaffolder", AcceptanceCriteria: crit}
	}
	rules := PlanRules{MaxFiles: 2, MaxLines: 10, RequireCriteria: true, Holders: map[RoleID]bool{"scaffolder": true}, Resources: []string{"build", "gpu"}}
	with := func(c Contract, f func(*Contract)) Contract { f(&c); return c }
	for name, tt := range map[string]struct {
		plan []Contract
		want string // a part of the one fault; empty: none
	}{
		"valid":       {[]Contract{ok("a"), with(ok("b"), func(c *Contract) { c.DependsOn = []ContractID{"a"} })}, ""},
		"empty":       {nil, "no contracts"},
		"case":        {[]Contract{ok("a"), ok("A")}, "taken by a"},
		"dots":        {[]Contract{ok("a..b")}, "contains '..'"},
		"lock":        {[]Contract{ok("a.lock")}, "ends in"},
		"dash":        {[]Contract{ok("-x")}, "want a letter or digit"},
		"climb":       {[]Contract{ok("../x")}, "want a letter or digit"},
		"nowhere":     {[]Contract{with(ok("a"), func(c *Contract) { c.DependsOn = []ContractID{"z"} })}, "depends on z"},
		"parent":      {[]Contract{with(ok("a"), func(c *Contract) { c.ParentID = "z" })}, "parent z"},
		"self":        {[]Contract{with(ok("a"), func(c *Contract) { c.DependsOn = []ContractID{"a"} })}, "a -> a"},
		"no criteria": {[]Contract{with(ok("a"), func(c *Contract) { c.AcceptanceCriteria = nil })}, "no acceptance criteria"},
		"role":        {[]Contract{with(ok("a"), func(c *Contract) { c.AssignedRole = "overseer" })}, "holds no contracts"},
		"files":       {[]Contract{with(ok("a"), func(c *Contract) { c.Writes = []string{"a", "b", "c", "c#F"} })}, "changes 3 files"},
		"again":       {[]Contract{with(ok("a"), func(c *Contract) { c.Inputs = TextInputs(map[string]string{AgainInput: AgainAll}) })}, `has an input called "again", which only the run gives`},
		"resource":    {[]Contract{with(ok("a"), func(c *Contract) { c.Resources = []string{"build", "gqu"} })}, `names the resource "gqu" (did you mean gpu?); there are build, gpu`},
		"twice":       {[]Contract{with(ok("a"), func(c *Contract) { c.Resources = []string{"gpu", "gpu"} })}, "names the resource gpu twice"},
		"lines":       {[]Contract{with(ok("a"), func(c *Contract) { c.EstimatedLines = 11 })}, "11 lines"},
		"outside":     {[]Contract{with(ok("a"), func(c *Contract) { c.Writes = []string{"x/../../y"} })}, "leaves the repository"},
		"git":         {[]Contract{with(ok("a"), func(c *Contract) { c.Writes = []string{"sub/.GIT/config"} })}, "git's own"},
	} {
		faults := ValidatePlan(tt.plan, rules)
		switch {
		case tt.want == "" && len(faults) != 0:
			t.Errorf("%s: %v", name, faults)
		case tt.want != "" && (len(faults) != 1 || !strings.Contains(faults[0].String(), tt.want)):
			t.Errorf("%s: got %v, want one that says %q", name, faults, tt.want)
		}
	}
	cycle := []Contract{ok("a"), ok("b"), ok("c")}
	cycle[0].DependsOn, cycle[1].DependsOn, cycle[2].DependsOn = []ContractID{"b"}, []ContractID{"c"}, []ContractID{"b"}
	if got := fmt.Sprint(ValidatePlan(cycle, rules)); !strings.Contains(got, "b -> c -> b") {
		t.Errorf("cycle is printed as %s", got)
	}
}

func TestProve(t *testing.T) {
	checks := Checks{
		Claim:  map[string]TestStatus{"p.TestOld": TestPassed, "p.TestRed": TestPassed, "p.TestBad": TestFailed},
		Worth:  map[string]TestWorth{"p.TestRed": {Ground: GroundStood, Existed: true}},
		Refs:   map[Check]RefWorth{{Command: "a"}: {Passes: true, Proves: true}, {Command: "c"}: {Passes: true, Why: "before too"}, {File: "f"}: {Passes: true, Why: "the run wrote it"}},
		Theirs: map[Check][]string{{Command: "theirs"}: {"p.TestBad"}},
	}
	for name, tt := range map[string]struct {
		check *Check
		want  ProofKind
	}{
		"test that was red":      {&Check{Test: "TestRed"}, ProofVerified},
		"test green before":      {&Check{Test: "TestOld"}, ProofAsserted},
		"failing test":           {&Check{Test: "TestBad"}, ProofOpen},
		"unknown test":           {&Check{Test: "TestNone"}, ProofOpen},
		"command":                {&Check{Command: "a"}, ProofVerified},
		"file":                   {&Check{File: "f"}, ProofAsserted},
		"command green before":   {&Check{Command: "c"}, ProofAsserted},
		"command red":            {&Check{Command: "d"}, ProofOpen},
		"red by what is others'": {&Check{Command: "theirs"}, ProofAsserted},
		"none":                   {nil, ProofAsserted},
	} {
		got := Prove([]Criterion{{ID: "x", Check: tt.check}}, nil, checks)
		if got[0].Proof != tt.want {
			t.Errorf("%s: %s (%s), want %s", name, got[0].Proof, got[0].Note, tt.want)
		}
	}
}

func TestWeakened(t *testing.T) {
	base := map[string]TestStatus{"a": TestPassed, "b": TestPassed, "c": TestSkipped, "d": TestFailed}
	claim := map[string]TestStatus{"b": TestSkipped, "d": TestFailed, "e": TestPassed}
	if got := fmt.Sprint(WeakenedTests(base, claim)); got != "[test deleted: a test newly skipped: b]" {
		t.Error(got)
	}
	if got := fmt.Sprint(WeakenedTests(base, nil)); got != "[no tests found any more: all (a, b, c, d)]" {
		t.Error(got)
	}
}

func TestErrors(t *testing.T) {
	cause := errors.New("cause")
	err := fmt.Errorf("outer: %w", Errorf(KindTransient, "inner: %w", cause).WithMend("try again"))
	if KindOf(err) != KindTransient || MendOf(err) != "try again" || !errors.Is(err, cause) || err.Error() != "outer: inner: cause" {
		t.Errorf("%v %v %q", KindOf(err), err, MendOf(err))
	}
	if KindOf(cause) != KindInternal || MendOf(cause) != "" {
		t.Error("a plain error has a kind or a mend")
	}
	for k := KindInternal; k <= KindTransient; k++ {
		if ParseKind(k.String()) != k {
			t.Errorf("kind %d does not survive its name", k)
		}
	}
}

func TestRunID(t *testing.T) {
	for _, goal := range []string{"Parse durations like 1h30m in config.Load; add tests", "", "日本語", "-- --", strings.Repeat("a", 100)} {
		id, err := NewRunID(goal, strings.NewReader("12345678"))
		if err != nil {
			t.Fatal(err)
		}
		if err := CheckRunID(id); err != nil {
			t.Errorf("%q: %v", goal, err)
		}
	}
}

func TestMoneyAddsUp(t *testing.T) {
	p := Price{In: 3, CachedIn: 0.3, Out: 15}
	u := Usage{In: 1000, Cached: 600, CacheWrite: 100, Out: 10}
	if got, want := p.Cost(u), USD((300*3+600*0.3+100*3*1.25+10*15)/1e6); got != want {
		t.Errorf("cost %d, want %d", got, want)
	}
	if u.Billed() != 410 {
		t.Errorf("billed %d", u.Billed())
	}
}

func TestDetails(t *testing.T) {
	for word, mk := range details {
		d := mk()
		ev := NewEvent("r", SeverityInfo, "s", d)
		if ev.Type != word || ev.Category == "" {
			t.Errorf("%s: made an event of type %s in category %q", word, ev.Type, ev.Category)
		}
		if _, err := DecodeDetail(ev); err != nil {
			t.Errorf("%s: %v", word, err)
		}
	}
	if len(details) != 41+16 { // the interface lists 46, of which the five of locks and tokens went; epoch_begun, message_delivered, model_routed, plan_estimated, merge_requested, joint_verdict, run_judged, published, swarm_started, model_chosen, charged, three of names and two of resources were added
		t.Errorf("%d types of events, want 57", len(details))
	}
}

func TestIDForms(t *testing.T) {
	for id, want := range map[string]bool{
		"a": true, "A.b_c-9": true, "9": true, strings.Repeat("x", 64): true,
		"": false, strings.Repeat("x", 65): false, "-a": false, ".a": false, "_a": false, "a b": false, "a/b": false,
		"a$b": false, "ä": false, "a..b": false, "a.": false, "a.lock": false, "a\n": false, "a\x00": false,
	} {
		if got := CheckContractID(ContractID(id)) == nil; got != want {
			t.Errorf("contract id %q: %v", id, got)
		}
	}
	for id, want := range map[string]bool{
		"abcd": true, "a-1-b": true, strings.Repeat("a", 40): true,
		"abc": false, strings.Repeat("a", 41): false, "ABCD": false, "a.bc": false, "../x": false, "ab\ncd": false,
	} {
		if got := CheckRunID(RunID(id)) == nil; got != want {
			t.Errorf("run id %q: %v", id, got)
		}
	}
}

// What a contract blocks depends on it, once; what nobody knows is a fault.
func TestOrdered(t *testing.T) {
	plan := []Contract{
		{ID: "a", Blocks: []ContractID{"b", "c", "later"}},
		{ID: "b", DependsOn: []ContractID{"a"}},
		{ID: "c", Blocks: []ContractID{"b"}},
	}
	got := Ordered(plan)
	for i, want := range []string{"", "a c", "a"} {
		if s := JoinIDs(got[i].DependsOn, " "); s != want {
			t.Errorf("%s depends on %q, want %q", got[i].ID, s, want)
		}
	}
	if s := JoinIDs(got[0].Blocks, " "); s != "later" || len(got[2].Blocks) > 0 || len(plan[2].DependsOn) > 0 {
		t.Errorf("a still blocks %q, c %v; the plan given has %v", s, got[2].Blocks, plan)
	}
	faults := ValidatePlan(got, PlanRules{})
	if len(faults) != 1 || faults[0].String() != "a: blocks later, which is not in the plan" {
		t.Errorf("faults %v", faults)
	}
	if faults := ValidatePlan(Ordered([]Contract{{ID: "a", Blocks: []ContractID{"b"}}, {ID: "b", Blocks: []ContractID{"a"}}}), PlanRules{}); len(faults) != 1 {
		t.Errorf("a circle of blocks has the faults %v", faults)
	}
}

// Many ** in an entry that a model wrote cost no more than their number times the
// other's segments: tried one after the other, these would not end.
func TestOverlapOfManyGlobs(t *testing.T) {
	deep := strings.Repeat("a/", 200)
	for _, tt := range []struct {
		glob, path string
		want       bool
	}{
		{strings.Repeat("**/a/", 100) + "b", deep + "c", false},
		{strings.Repeat("**/a/", 100) + "b", deep + "b", true},
		{strings.Repeat("**/a/", 100) + "b", strings.Repeat("**/a/", 99) + "c", false},
		{strings.Repeat("**/", 500) + "x", "**/y", false},
	} {
		if _, _, got := Overlap([]string{tt.glob}, []string{tt.path}, nil); got != tt.want {
			t.Errorf("%.20s... and %.20s...: %t", tt.glob, tt.path, got)
		}
	}
}

// The table of segments says what taking ** for each number of them in turn would.
func TestMeetIsExact(t *testing.T) {
	var slow func(a, b []string) bool
	slow = func(a, b []string) bool {
		switch {
		case len(a) == 0 && len(b) == 0:
			return true
		case len(a) > 0 && a[0] == "**":
			return slow(a[1:], b) || len(b) > 0 && slow(a, b[1:])
		case len(b) > 0 && b[0] == "**":
			return slow(b, a)
		case len(a) == 0 || len(b) == 0:
			return false
		}
		return segmentMeets(a[0], b[0]) && slow(a[1:], b[1:])
	}
	r := rand.New(rand.NewPCG(1, 2))
	some := func() (out []string) {
		for range r.IntN(6) {
			out = append(out, []string{"a", "b", "**", "*", "a*"}[r.IntN(5)])
		}
		return out
	}
	for range 20_000 {
		if a, b := some(), some(); meet(a, b) != slow(a, b) {
			t.Fatalf("%q and %q: %t", a, b, meet(a, b))
		}
	}
}
