package decision_test

import (
	"fmt"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/board/state"
	"agency/internal/decision"
	"agency/internal/store"
)

const later = agency.RunID("run-2")

func (f table) keep(keys ...string) (out []agency.KeptDecision, err error) {
	err = f.Write(f.Context(), func(tx *store.Tx) (err error) {
		out, err = decision.Keep(tx, run, keys, "ann")
		return err
	})
	return out, err
}

func (f table) drop(keys ...string) error {
	return f.Write(f.Context(), func(tx *store.Tx) error {
		_, err := decision.Drop(tx, keys)
		return err
	})
}

// said are decisions as KEY=VALUE, those that are kept with a star.
func said(all []agency.SharedDecision) string {
	out := make([]string, len(all))
	for i, d := range all {
		out[i] = d.Key + "=" + d.Value
		if d.Kept() {
			out[i] += "*"
		}
	}
	return strings.Join(out, " ")
}

func (f table) want(what, want string, read func(q store.Querier) ([]agency.SharedDecision, error)) {
	f.Helper()
	var all []agency.SharedDecision
	err := f.Read(f.Context(), func(q *store.Snapshot) (err error) { all, err = read(q); return err })
	if got := said(all); err != nil || got != want {
		f.Errorf("%s: %q, %v; want %q", what, got, err, want)
	}
}

func inForce(run agency.RunID) func(q store.Querier) ([]agency.SharedDecision, error) {
	return func(q store.Querier) ([]agency.SharedDecision, error) { return decision.InForce(q, run, "") }
}

func allOf(run agency.RunID) func(q store.Querier) ([]agency.SharedDecision, error) {
	return func(q store.Querier) ([]agency.SharedDecision, error) { return decision.All(q, run) }
}

func standing(run agency.RunID) func(q store.Querier) ([]agency.SharedDecision, error) {
	return func(q store.Querier) ([]agency.SharedDecision, error) { return decision.Standing(q, run) }
}

// What is kept holds in later runs, whatever becomes of its own, until it is dropped; a run
// that decides otherwise goes by that alone.
func TestKept(t *testing.T) {
	f := newTable(t)
	for i, d := range []agency.SharedDecision{of("ada", "a", "api/errors", "typed"), of("ben", "b", "id", "uuid")} {
		if _, _, err := f.note(d, fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	f.want("nothing is kept", "", inForce(later))
	kept, err := f.keep("id")
	if err != nil || len(kept) != 1 || kept[0].Before != nil || kept[0].Same || kept[0].KeptBy != "ann" || kept[0].By != "ben" || kept[0].Run != run || kept[0].Why != "it is so" {
		t.Fatalf("%+v, %v", kept, err)
	}
	f.want("the run itself", "api/errors=typed id=uuid", inForce(run))
	f.want("as people see it", "api/errors=typed id=uuid*", allOf(run))
	f.want("a later run", "id=uuid*", inForce(later))
	f.want("its brief", "id=uuid*", standing(later))

	own := of("cy", "c", "id", "number")
	own.Run = later
	if now, _, err := f.note(own, "own"); err != nil || now.Version != 1 {
		t.Fatalf("a run may not decide otherwise: %+v, %v", now, err)
	}
	f.want("a run that decided otherwise", "id=number", inForce(later))
	f.want("its brief", "id=number", standing(later))
	f.want("as people see it", "id=number id=uuid*", allOf(later))

	f.Do(func(tx *store.Tx) error {
		for _, id := range []agency.RunID{run, later} {
			if err := state.Prune(tx, id); err != nil {
				return err
			}
			if err := state.Forget(tx, id); err != nil {
				return err
			}
		}
		return nil
	})
	f.want("its run is removed", "id=uuid*", inForce("run-3"))
	f.want("of no run", "id=uuid*", allOf(""))
	if err := f.drop("id"); err != nil {
		t.Fatal(err)
	}
	f.want("dropped", "", inForce("run-3"))
}

func TestKeepAgain(t *testing.T) {
	f := newTable(t)
	note := func(key, value string, version int64) {
		t.Helper()
		d := of("ada", "a", key, value)
		d.Version = version
		if _, _, err := f.note(d, key+value); err != nil {
			t.Fatal(err)
		}
	}
	note("id", "uuid", 0)
	note("style", "plain", 0)
	for range 2 { // all, in the order of keys
		if kept, err := f.keep(); err != nil || len(kept) != 2 || kept[0].Key != "id" {
			t.Fatalf("%+v, %v", kept, err)
		}
	}
	note("id", "number", 1)
	kept, err := f.keep("id", "style", "id")
	if err != nil || len(kept) != 3 {
		t.Fatalf("%+v, %v", kept, err)
	}
	if k := kept[0]; k.Before == nil || k.Before.Value != "uuid" || k.Value != "number" || k.Same {
		t.Errorf("what was kept before is not named: %+v", k)
	}
	if !kept[1].Same || !kept[2].Same || kept[2].Value != "number" {
		t.Errorf("what was kept already: %+v", kept[1:])
	}
	f.want("kept", "id=number* style=plain*", allOf(""))
	f.Do(func(tx *store.Tx) error {
		e, err := state.Get(tx, state.Key{Namespace: state.Global, Name: "decision/style"})
		if e.Version != 1 {
			t.Errorf("what is kept already was written %d times", e.Version)
		}
		return err
	})
}

// A key that is not there is an error with what there is, and changes nothing.
func TestKeepUnknown(t *testing.T) {
	f := newTable(t)
	if _, err := f.keep(); agency.KindOf(err) != agency.KindNotFound {
		t.Errorf("a run without decisions: %v", err)
	}
	for i, key := range []string{"api/errors", "style"} {
		if _, _, err := f.note(of("ada", "a", key, "typed"), fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	for key, want := range map[string]string{
		"api/error": "run run-1 has not decided api/error (did you mean api/errors?)",
		"zebra":     "run run-1 has not decided zebra; there are: api/errors, style",
	} {
		_, err := f.keep("style", key)
		if agency.KindOf(err) != agency.KindNotFound || err.Error() != want || agency.MendOf(err) != "agency decisions list run-1" {
			t.Errorf("%v, mend %q; want %q", err, agency.MendOf(err), want)
		}
	}
	f.want("kept", "", allOf(""))
	if _, err := f.keep("style"); err != nil {
		t.Fatal(err)
	}
	err := f.drop("style", "stile")
	if agency.KindOf(err) != agency.KindNotFound || !strings.Contains(err.Error(), "does not keep stile") {
		t.Errorf("%v", err)
	}
	f.want("nothing was dropped", "style=typed*", allOf(""))
	if err := f.drop("stile"); err == nil || !strings.Contains(err.Error(), "did you mean style?") {
		t.Errorf("%v", err)
	}
	if err := f.drop("api/errors"); agency.KindOf(err) != agency.KindNotFound {
		t.Errorf("a decision that is not kept was dropped: %v", err)
	}
}

// A decision in which a key stands, or stood, is not kept; hashes, ids and prose are no keys.
func TestKeysAreNotKept(t *testing.T) {
	for text, fine := range map[string]bool{
		"use sk-live-4fJ2k8sQ9vXz1LmN0pRt for the tests":      false,
		"AKIAIOSFODNN7EXAMPLE":                                false,
		"password: hunter2-Kx93mQ":                            false,
		"the token is 9f8Zk2LmQx71":                           false,
		"ghp_16C7e42F292c6912E7710c838347Ae178B4a":            false,
		"-----BEGIN RSA PRIVATE KEY-----":                     false,
		"hJ8kQ2mZ5vX9cR4tY7wL1nB6 is what the server takes":   false,
		"what was " + agency.Redacted + " goes in the header": false,
		"postgres://app:S3cr3tPazz@db:5432/x":                 false,
		"the admin password is hunter2horse":                  false,
		"postgres://app:$DB_PASSWORD@db:5432/x":               true,
		"https://db.example.com:5432/x, ssh://git@host:22/y":  true,
		"typed errors, with a code of 8 letters":              true,
		"uuid 123e4567-e89b-12d3-a456-426614174000":           true,
		"commit 2fd4e1c67a2d28fced849ee1bb76e7391b93eb12":     true,
		"the token is read from AGENCY_TOKEN":                 true,
		"the password stands in a file that is not in git":    true,
		"InternalServerErrorHandlerFactory in internal/http2": true,
		"api_key: required":                                   true,
	} {
		f := newTable(t)
		d := of("ada", "a", "api/errors", text)
		if _, _, err := f.note(d, "0"); err != nil {
			t.Fatal(err)
		}
		_, err := f.keep("api/errors")
		if fine != (err == nil) || !fine && (agency.KindOf(err) != agency.KindInvalid || !strings.Contains(err.Error(), "api/errors is not kept")) {
			t.Errorf("%q: %v", text, err)
		}
		if err != nil && strings.Contains(err.Error(), "4fJ2k8sQ9vXz") {
			t.Error("the error tells the key:", err)
		}
	}
}
