package tui

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/api"
)

// filler sets every field of a document to a value that no other has.
type filler struct{ n int }

func (f *filler) fill(v reflect.Value, depth int) {
	f.n++
	switch v.Kind() {
	case reflect.Pointer:
		if depth > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem(), depth-1)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2026, 1, 2, 3, 4, f.n, 0, time.UTC)))
			return
		}
		for i := range v.NumField() {
			f.fill(v.Field(i), depth)
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes([]byte(fmt.Sprint(f.n)))
			return
		}
		if depth > 0 {
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			for i := range v.Len() {
				f.fill(v.Index(i), depth-1)
			}
		}
	case reflect.String:
		v.SetString(fmt.Sprint("word", f.n))
	case reflect.Bool:
		v.SetBool(f.n%2 == 0)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(f.n))
	case reflect.Float64:
		v.SetFloat(float64(f.n))
	}
}

// asked is a run as a client gets it that asks for a tree.
func asked(t *testing.T, whole api.InspectDoc) api.InspectDoc {
	t.Helper()
	dir := t.TempDir()
	token := api.NewToken()
	if err := token.Write(filepath.Join(dir, "token")); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		b, err := api.EncodeTree(whole)
		if err != nil {
			t.Error(err)
		}
		_, _ = w.Write(b)
	}))
	_ = s.Listener.Close() // the test's own is a socket
	s.Listener = l
	s.Start()
	defer s.Close()
	c := api.Dial(filepath.Join(dir, "s"), filepath.Join(dir, "token"))
	defer c.Close()
	tree, err := c.Inspect(t.Context(), "run-1", api.Tree)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// What is drawn of a run that was asked for as a tree is what is drawn of the whole: of
// every key that a document can have.
func TestATreeIsDrawnAsTheWhole(t *testing.T) {
	for first := range 6 { // which values are true and what a key's value is differ
		for _, state := range []agency.RunState{agency.StateRunning, agency.StateSucceeded} {
			for _, agent := range []string{"", "risk-assessor"} {
				f := filler{first}
				var whole api.InspectDoc
				f.fill(reflect.ValueOf(&whole).Elem(), 6)
				whole.State, whole.Agent = state, agent
				for i := range whole.Contracts {
					c := &whole.Contracts[i]
					c.Status = []agency.Status{agency.StatusInProgress, agency.StatusFailed}[i%2]
					for j, s := range whole.Sessions {
						whole.Sessions[j].Contract = []agency.ContractID{c.ID, s.Contract}[(i+j)%2]
						whole.Reviews[j].ContractID, whole.Routing[j].Contract = c.ID, c.ID
					}
				}
				tree := asked(t, whole)
				st := Style{Color: true}
				if got, want := Inspect(st, tree), Inspect(st, whole); got != want {
					t.Errorf("a tree is drawn as\n%s\nthe whole as\n%s", got, want)
				}
				for _, gates := range [][]agency.Gate{nil, {{ID: "answered", Decision: agency.Decision{Verb: agency.Approve, At: time.Date(2026, 1, 2, 3, 6, 0, 0, time.UTC)}}}} {
					cost, g := api.CostDoc{}, agency.Gate{ID: "g"}
					got := SoFar(st, tree, cost) + Anomalies(st, tree, gates, g)
					if want := SoFar(st, whole, cost) + Anomalies(st, whole, gates, g); got != want {
						t.Errorf("beside a gate a tree is\n%s\nthe whole\n%s", got, want)
					}
				}
				if all := Messages(st, nil, tree.Conflicts); all != Messages(st, nil, whole.Conflicts) {
					t.Errorf("conflicts:\n%s", all)
				}
			}
		}
	}
}
