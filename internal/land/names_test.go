package land_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/code"
	"agency/internal/event"
	"agency/internal/git/gittest"
	"agency/internal/land"
	"agency/internal/registry"
	"agency/internal/reservation"
	"agency/internal/store"
)

// reserve gives a contract of the run a name.
func (w *world) reserve(contract agency.ContractID, name string) agency.Reservation {
	w.t.Helper()
	var r agency.Reservation
	if err := w.db.Write(w.t.Context(), func(tx *store.Tx) error {
		var got bool
		var err error
		r, got, err = reservation.Reserve(tx, agency.Reservation{Run: runID, Contract: contract, By: agency.AgentID("scaffolder-" + contract), Name: name, Why: "mine"})
		if err == nil && !got {
			err = fmt.Errorf("%s", r.Holder())
		}
		return err
	}); err != nil {
		w.t.Fatal(err)
	}
	return r
}

// refusedNames are the events of changes that take names of others.
func (w *world) refusedNames() (out []string) {
	w.t.Helper()
	if err := w.db.Read(w.t.Context(), func(s *store.Snapshot) error {
		evs, err := event.Since(s, 0, event.Filter{Run: runID, Types: []agency.EventType{agency.NameRefusedType}}, 0)
		for _, ev := range evs {
			d, err := agency.DecodeDetail(ev)
			if err != nil {
				return err
			}
			r := d.(*agency.NameRefused)
			out = append(out, fmt.Sprintf("%s by %s held by %s at %s", r.Name, ev.ContractID, r.HeldBy, r.Place))
		}
		return err
	}); err != nil {
		w.t.Fatal(err)
	}
	return out
}

// Every kind of name against changes that take it and changes that do not.
func TestLandingTakesNoNameOfOthers(t *testing.T) {
	syntax := code.New(code.Options{})
	t.Cleanup(func() { _ = syntax.Close() })
	base := []string{
		"a.go", "package a\n\nfunc Parse() {}\n\nfunc Use() { Parse() }\n", "a.py", "class C:\n    def m(self):\n        pass\n", "notes", "port 9090\nParse of old\n",
		"docs/x.md", "x\n", "old/0041_first.sql", "1\n",
	}
	n := 0
	for name, tt := range map[string]struct {
		reserved string
		change   []string
		place    string // "" where it may land
	}{
		"a number in a new path":          {"0042", []string{"db/0042_users.sql", "x\n"}, "db/0042_users.sql"},
		"a number on an added line":       {"8080", []string{"conf", "a\nlisten :8080\n"}, "conf:2"},
		"a part of a number":              {"8080", []string{"conf", "18080 80801\n"}, ""},
		"a number on an edited line":      {"9090", []string{"notes", "the port 9090\nParse of old\n"}, ""},
		"a number that moves":             {"0041", []string{"old/0041_first.sql", "-", "new/0041_first.sql", "1\n"}, ""},
		"a number that goes":              {"9090", []string{"notes", "Parse of old\n"}, ""},
		"a route":                         {"/v1/users", []string{"r.txt", "GET /v1/users list\n"}, "r.txt:1"},
		"a route with a slash":            {"/v1/users/", []string{"r.txt", `mux("/v1/users")` + "\n"}, "r.txt:1"},
		"a longer route":                  {"/v1/users", []string{"r.txt", "/v1/users/{id} /v1/users-old /api/v1/users\n"}, ""},
		"a word":                          {"user.created", []string{"e.txt", "emit user.created\n"}, "e.txt:1"},
		"a longer word":                   {"user.created", []string{"e.txt", "user.created_at superuser.created\n"}, ""},
		"a file that is there":            {"docs/x.md", []string{"docs/x.md", "y\n"}, "docs/x.md"},
		"a file that is named only":       {"docs/x.md", []string{"r.txt", "see docs/x.md\n"}, ""},
		"a new file in another case":      {"./docs/New.md", []string{"docs/new.md", "y\n"}, "docs/new.md"},
		"a file that goes":                {"docs/x.md", []string{"docs/x.md", "-"}, "docs/x.md"},
		"a folder":                        {"docs/", []string{"docs/sub/y.md", "y\n"}, "docs/sub/y.md"},
		"beside a folder":                 {"docs/", []string{"docs2/y.md", "y\n"}, ""},
		"a symbol that is altered":        {"a.go#Parse", []string{"a.go", "package a\n\nfunc Parse() { _ = 1 }\n\nfunc Use() { Parse() }\n"}, "a.go"},
		"a symbol that is used":           {"a.go#Parse", []string{"a.go", "package a\n\nfunc Parse() {}\n\nfunc Use() { Parse(); Parse() }\n"}, ""},
		"a symbol that moves in its file": {"a.go#Parse", []string{"a.go", "package a\n\nfunc Use() { Parse() }\n\nfunc Parse() {}\n"}, ""},
		"a new type":                      {"a.go#Tree", []string{"a.go", "package a\n\ntype Tree struct{}\n\nfunc Parse() {}\n\nfunc Use() { Parse() }\n"}, "a.go"},
		"the symbol of another file":      {"a.go#Tree", []string{"b.go", "package a\n\ntype Tree struct{}\n"}, ""},
		"a method of a class":             {"a.py#C.m", []string{"a.py", "class C:\n    def m(self):\n        return 1\n"}, "a.py"},
		"another method of the class":     {"a.py#C.m", []string{"a.py", "class C:\n    def m(self):\n        pass\n    def n(self):\n        pass\n"}, ""},
		"the class":                       {"a.py#C", []string{"a.py", "class C:\n    def m(self):\n        pass\n    def n(self):\n        pass\n"}, "a.py"},
		"a symbol where nobody reads it":  {"notes#Parse", []string{"notes", "port 9090\nParse of new\n"}, "notes:2"},
		"a symbol that stays there":       {"notes#Parse", []string{"notes", "port 9091\nParse of old\n"}, ""},
		"a symbol of a broken file":       {"a.go#Parse", []string{"a.go", "package a\n\nfunc Parse( {\n"}, "a.go:3"},
	} {
		if n++; testing.Short() && n%3 > 0 { // each is a repository of its own
			continue
		}
		t.Run(name, func(t *testing.T) {
			w := begin(t, gittest.New(t, base...), false)
			w.opts.Syntax = syntax
			r := w.reserve("other", tt.reserved)
			out := w.land("land", w.claim("main", w.run().Base(), tt.change...))
			if tt.place == "" {
				if out.Landed == nil || out.Landed.Empty || len(w.refusedNames()) > 0 {
					t.Fatalf("did not land: %+v", out)
				}
				return
			}
			if out.Refused == nil || out.Refused.Cause != land.CauseReserved {
				t.Fatalf("landed: %+v", out)
			}
			for _, want := range []string{tt.place + " takes a name", "reserved by contract other, scaffolder-other", "; choose another name, or ask scaffolder-other by send_message"} {
				if !strings.Contains(out.Reason, want) {
					t.Errorf("the reason does not say %q: %s", want, out.Reason)
				}
			}
			if strings.Contains(out.Reason, "mine") || strings.Contains(out.Reason, "Title of other") {
				t.Errorf("the holder's own words go to whoever reads it: %s", out.Reason)
			}
			if got := w.refusedNames(); len(got) != 1 || got[0] != fmt.Sprintf("%s by main held by other at %s", r.Name, tt.place) {
				t.Errorf("events %q", got)
			}
			w.clean()
			// Whoever has it lands it.
			if out := w.land("own", w.claim("other", w.run().Base(), tt.change...)); out.Landed == nil {
				t.Errorf("its holder did not land: %+v", out)
			}
		})
	}
}

// A change that takes a name which a person took from its own contract does not land before
// that has it again.
func TestFreedNameDoesNotLand(t *testing.T) {
	w := begin(t, gittest.New(t, "a.txt", "a\n"), false)
	w.reserve("main", "0042")
	if err := w.db.Write(t.Context(), func(tx *store.Tx) error {
		_, err := reservation.Free(tx, runID, "0042", "ann")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	spec := w.claim("main", w.run().Base(), "0042_users.sql", "x\n")
	out := w.land("land", spec)
	if out.Refused == nil || out.Refused.Cause != land.CauseReserved || !strings.Contains(out.Reason, "a person took from this contract") || !strings.Contains(out.Reason, "reserve it again") {
		t.Fatalf("%+v", out)
	}
	w.reserve("main", "0042")
	if out := w.land("again", spec); out.Landed == nil {
		t.Fatalf("%+v", out)
	}
	w.clean()
}

// A name that is reserved while a landing is verified is compared, too: before the branch
// moves, in the transaction of the intent.
func TestNameReservedDuringALanding(t *testing.T) {
	w := begin(t, gittest.New(t, "a.txt", "a\n"), false)
	w.judge = func(land.Candidate) []string {
		w.reserve("other", "0042")
		w.reserve("other", "9999") // which the change does not take
		return nil
	}
	spec := w.claim("main", w.run().Base(), "0042_users.sql", "x\n")
	if out := w.land("land", spec); out.Refused == nil || len(w.log(branch)) > 0 || len(w.refusedNames()) != 1 {
		t.Fatalf("%+v, %q", out, w.refusedNames())
	}
	w.judge = func(land.Candidate) []string { w.reserve("other", "7777"); return nil }
	was := w.verified.Load()
	if out := w.land("again", w.claim("main", w.run().Base(), "0042_users.sql", "-", "0043_users.sql", "x\n")); out.Landed == nil {
		t.Fatalf("%+v", out)
	}
	if n := w.verified.Load() - was; n != 1 {
		t.Errorf("verified %d times for a name that it does not take", n)
	}
	w.clean()
}

// Of a batch who takes what another of it holds is left out, and told alone.
func TestBatchTakesNoNameOfOthers(t *testing.T) {
	w := begin(t, gittest.New(t, "a.txt", "a\n"), false)
	w.reserve("other", "0042")
	mine := w.claim("other", w.run().Base(), "0042_users.sql", "x\n")
	theirs := w.claim("main", w.run().Base(), "0042_items.sql", "x\n")
	outs, err := w.landTogether(t.Context(), append(w.contracts("first", "second"), theirs, mine))
	if err != nil {
		t.Fatal(err)
	}
	if outs["main"].Refused == nil || outs["other"].Landed == nil || outs["second"].Landed.Batch != 2 || len(w.refusedNames()) != 1 {
		t.Fatalf("%+v, %q", outs, w.refusedNames())
	}
	w.landedOnce("first", "second", "other")
}

// Who builds on a contract, or stands below it, uses its names; who has landed keeps them,
// and who has failed does not.
func TestNamesByWhoHasThem(t *testing.T) {
	w := begin(t, gittest.New(t, "a.txt", "a\n"), false)
	advance := func(id agency.ContractID, facts ...agency.Fact) {
		t.Helper()
		if err := w.db.Write(t.Context(), func(tx *store.Tx) error {
			for i, f := range facts {
				c, err := registry.Advance(tx, runID, id, agency.StepKey(fmt.Sprint(id, i)), f)
				if err == nil && c.Status.Final() {
					err = reservation.Ended(tx, c)
				}
				if err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.db.Write(t.Context(), func(tx *store.Tx) error {
		for _, c := range []agency.Contract{
			{ID: "tests", DependsOn: []agency.ContractID{"other"}, RetryBudget: 3}, {ID: "fix", ParentID: "tests"}, {ID: "lost", RetryBudget: 3},
		} {
			c.RunID, c.Title, c.Description = runID, string(c.ID), "d"
			if err := registry.CreateContract(tx, c); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	w.reserve("other", "/v1/users")
	w.reserve("lost", "/v1/items")
	for i, c := range []string{"tests", "fix"} {
		if out := w.land(agency.StepKey(c), w.claim(c, w.run().Base(), fmt.Sprint(i), "get /v1/users\n")); out.Landed == nil {
			t.Errorf("%s did not land: %+v", c, out)
		}
	}
	advance("lost", agency.Started{Agent: "x"}, agency.GaveUp{Reason: "no"})
	if out := w.land("items", w.claim("main", w.run().Base(), "items", "get /v1/items\n")); out.Landed == nil {
		t.Errorf("a name of a contract that failed: %+v", out)
	}
	other := agency.ContractID("other")
	landWhole(t, w, other, advance)
	out := w.land("users", w.claim("main", w.run().Base(), "users", "get /v1/users\n"))
	if out.Refused == nil || !strings.Contains(out.Reason, `"/v1/users" is taken by contract other`) || !strings.Contains(out.Reason, "which has landed; choose another name") {
		t.Errorf("%+v", out)
	}
}

// landWhole takes a contract to its landing.
func landWhole(t *testing.T, w *world, id agency.ContractID, advance func(agency.ContractID, ...agency.Fact)) {
	t.Helper()
	out := w.land(agency.StepKey(id+"/land"), w.claim(string(id), w.run().Base(), "made", "/v1/users\n"))
	if out.Landed == nil {
		t.Fatalf("%+v", out)
	}
	r := agency.Measure(out.Landed.Commit, *out.Landed.Files, nil)
	advance(id, agency.Granted{Attempts: 1}, agency.Started{Agent: "x"}, agency.ClaimMade{}, agency.Verified{}, agency.LandingBegun{}, agency.HasLanded{Results: &r})
}

// Killed after it was compared, and after it was told, a landing is refused once more and
// tells it once.
func TestRefusedLandingSurvivesAKill(t *testing.T) {
	w := begin(t, gittest.New(t, "a.txt", "a\n"), false)
	w.reserve("other", "0042")
	spec := w.claim("main", w.run().Base(), "0042_users.sql", "x\n")
	w = killed(t, w, crashSpec{Point: "land.names", Land: &spec})
	for range 2 {
		if out := w.land("land", spec); out.Refused == nil {
			t.Fatalf("%+v", out)
		}
	}
	if got := w.refusedNames(); len(got) != 1 {
		t.Errorf("told %q", got)
	}
	w.clean()
}

// A workstream's line brings what its tasks reserved, and is held against what others did.
func TestLineBringsTheNamesOfItsTasks(t *testing.T) {
	w := begin(t, gittest.New(t, "a.txt", "1\n"), false)
	for _, c := range []agency.Contract{{ID: "w.1"}, {ID: "one", ParentID: "w.1"}, {ID: "stranger"}} {
		c.RunID, c.Title = runID, "Title of "+string(c.ID)
		if err := w.db.Write(t.Context(), func(tx *store.Tx) error { return registry.CreateContract(tx, c) }); err != nil {
			t.Fatal(err)
		}
	}
	w.line(lineW, w.run().Base())
	w.reserve("one", "0042")
	if out := w.land("one", onLine(lineW, w.claim("one", w.run().Base(), "db/0042.sql", "port 8080\n"))); out.Landed == nil {
		t.Fatalf("%+v", out)
	}
	rise := land.Spec{Run: runID, Contract: "w.1", Source: lineW}
	w.reserve("stranger", "8080")
	if out := w.land("rise", rise); out.Refused == nil || out.Refused.Cause != land.CauseReserved || strings.Contains(out.Reason, "0042 ") {
		t.Fatalf("landed: %+v", out)
	}
	if err := w.db.Write(t.Context(), func(tx *store.Tx) error { return reservation.Forget(tx, runID) }); err != nil {
		t.Fatal(err)
	}
	w.reserve("one", "0042")
	if out := w.land("rise again", rise); out.Landed == nil {
		t.Fatalf("%+v", out)
	}
}

// What landed of a file is anybody's to change again, a word is not; who does work once more
// has both; and what was dropped with its line is nobody's.
func TestNamesOfWhatLanded(t *testing.T) {
	w := begin(t, gittest.New(t, "a.txt", "1\n"), false)
	for _, c := range []agency.Contract{
		{ID: "w.1"},
		{ID: "one", ParentID: "w.1"},
		{ID: "later"},
		{ID: "one-r2", Inputs: agency.TextInputs(map[string]string{agency.AgainInput: "one"})},
		{ID: "rework", Inputs: agency.TextInputs(map[string]string{agency.AgainInput: agency.AgainAll})},
	} {
		c.RunID, c.Title, c.RetryBudget = runID, "Title of "+string(c.ID), 3
		if err := w.db.Write(t.Context(), func(tx *store.Tx) error { return registry.CreateContract(tx, c) }); err != nil {
			t.Fatal(err)
		}
	}
	w.reserve("one", "8080")
	w.reserve("one", "b.txt")
	blocked := func(c agency.ContractID) (names []string) {
		t.Helper()
		if err := w.db.Read(t.Context(), func(q *store.Snapshot) error {
			all, err := reservation.Others(q, runID, c, "")
			for _, r := range all {
				names = append(names, r.Name)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return names
	}
	if got := blocked("later"); len(got) != 2 {
		t.Errorf("while it works: %q", got)
	}
	out := w.land("one", w.claim("one", w.run().Base(), "b.txt", "port 8080\n"))
	if err := w.db.Write(t.Context(), func(tx *store.Tx) error {
		for _, f := range []agency.Fact{agency.Started{Agent: "a"}, agency.ClaimMade{}, agency.Verified{}, agency.LandingBegun{}, agency.HasLanded{Results: &agency.Results{Commit: out.Landed.Commit}}} {
			if _, err := registry.Advance(tx, runID, "one", agency.StepKey(fmt.Sprintf("%T", f)), f); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for c, want := range map[agency.ContractID][]string{"later": {"8080"}, "one-r2": nil, "rework": nil} {
		if got := blocked(c); !slices.Equal(got, want) {
			t.Errorf("%s may not take %q, want %q", c, got, want)
		}
	}
	w.reserve("later", "b.txt")
	w.reserve("one-r2", "8080")
	if err := w.db.Write(t.Context(), func(tx *store.Tx) error { return reservation.Drop(tx, runID, "w.1") }); err != nil {
		t.Fatal(err)
	}
	if got := blocked("rework"); !slices.Equal(got, []string{"8080", "b.txt"}) && !slices.Equal(got, []string{"b.txt", "8080"}) {
		t.Errorf("of others than the dropped: %q", got)
	}
}

// A contract keeps of its names what its change took, and no file that another's plan names
// can be reserved.
func TestLandingKeepsOnlyTheNamesThatItTook(t *testing.T) {
	w := begin(t, gittest.New(t, "a.txt", "1\n"), false)
	w.contracts("beta")
	w.reserve("main", "8080")
	w.reserve("main", "9090")
	if out := w.land("land", w.claim("main", w.run().Base(), "conf", "port 8080\n")); out.Landed == nil {
		t.Fatalf("%+v", out)
	}
	if err := w.db.Read(t.Context(), func(q *store.Snapshot) error {
		kept, err := reservation.List(q, runID)
		if len(kept) != 1 || kept[0].Name != "8080" {
			t.Errorf("kept %+v", kept)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := w.db.Write(t.Context(), func(tx *store.Tx) error {
		for _, name := range []string{"beta.md", "beta.md#Title"} {
			_, _, err := reservation.Reserve(tx, agency.Reservation{Run: runID, Contract: "main", By: "x", Name: name})
			if kind := agency.KindOf(err); kind != agency.KindConflict {
				t.Errorf("%s: %v", name, err)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}
