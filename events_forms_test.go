package agency_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/config"
	"agency/internal/doctor"
)

const formsHead = `
## Forms of the details

What ` + "`agency doctor --overseer FILE`" + ` reads may be written by hand: one event a line, each run's in their order. A field
may be left out; one that is not listed is passed over.
`

const examplesHead = `
## Examples

A history that it reads, with one event of each type that it looks at:

` + "```json\n"

// examples is a history written by hand; the page shows it.
const examples = `{"id":1,"run_id":"r","time":"2026-01-02T15:00:00Z","category":"agent","type":"plan_submitted","severity":"info","agent_id":"pm","role":"project_manager","contract_id":"plan","summary":"2 contracts","details":{"contracts":2}}
{"id":2,"run_id":"r","time":"2026-01-02T15:00:01Z","category":"agent","type":"spawned","severity":"info","agent_id":"ada","role":"scaffolder","contract_id":"parser","summary":"ada begins attempt 1","details":{"session_id":"s1","attempt":1,"model":"anthropic/claude"}}
{"id":3,"run_id":"r","time":"2026-01-02T15:00:09Z","category":"agent","type":"tool_called","severity":"info","agent_id":"ada","role":"scaffolder","contract_id":"parser","summary":"edit_file parse.go","details":{"session_id":"s1","turn":1,"tool":"edit_file","path":"parse.go","call":"c1","call_shape":"c1","answer":"a1","answer_shape":"a1","removed":"t1","added":"t2","lines":["l1","l2"]}}
{"id":4,"run_id":"r","time":"2026-01-02T15:00:10Z","category":"agent","type":"tool_refused","severity":"warning","agent_id":"ada","role":"scaffolder","contract_id":"parser","summary":"write_file ../x: outside of the checkout","details":{"session_id":"s1","turn":1,"tool":"write_file","reason":"outside of the checkout","call":"{\"path\":\"../x\"}","danger":["escape"]}}
{"id":5,"run_id":"r","time":"2026-01-02T15:00:20Z","category":"verification","type":"tests_run","severity":"warning","agent_id":"ada","role":"scaffolder","contract_id":"parser","summary":"go test ./...: exit code 1","details":{"command":"go test ./...","passed":3,"failed":1,"skipped":0,"exit_code":1,"stage":"work","red":{"kind":"test","command":"go test ./...","exit_code":1,"failed":1,"tests":[{"name":"TestParse"}],"last_lines":["FAIL"]}}}
{"id":6,"run_id":"r","time":"2026-01-02T15:00:22Z","category":"verification","type":"lint_run","severity":"warning","agent_id":"ada","role":"scaffolder","contract_id":"parser","summary":"go vet ./...: exit code 1","details":{"command":"go vet ./...","kind":"lint","exit_code":1,"stage":"work","red":{"kind":"lint","command":"go vet ./...","exit_code":1,"new_findings":["parse.go:3: unreachable code"]}}}
{"id":7,"run_id":"r","time":"2026-01-02T15:00:23Z","category":"agent","type":"turn_completed","severity":"info","agent_id":"ada","role":"scaffolder","contract_id":"parser","summary":"turn 1","details":{"session_id":"s1","turn":1,"tokens_in":900,"tokens_cached":0,"tokens_out":80,"cost_usd":0.002,"model":"anthropic/claude","run":{"cost_usd":0.004,"tokens":1900},"tree":"4b825dc642cb6eb9a060e54bf8d69288fbee4904","files":{"before":9,"gone":1}}}
{"id":8,"run_id":"r","time":"2026-01-02T15:00:24Z","category":"agent","type":"epoch_begun","severity":"info","agent_id":"ada","role":"scaffolder","contract_id":"parser","summary":"the conversation was compacted","details":{"session_id":"s1","epoch":2,"turn":1,"cause":"near","folded":4,"tokens_before":90000,"tokens_after":9000}}
{"id":9,"run_id":"r","time":"2026-01-02T15:00:25Z","category":"agent","type":"log","severity":"info","agent_id":"ada","role":"scaffolder","contract_id":"parser","summary":"seen: looping: twice","details":{"overseen":{"cause":"looping","session_id":"s1","severity":"medium","confidence":0.8,"evidence":["twice"],"waits_for_cooldown_seconds":60}}}
{"id":10,"run_id":"r","time":"2026-01-02T15:00:26Z","category":"agent","type":"nudged","severity":"warning","agent_id":"ada","role":"scaffolder","contract_id":"parser","summary":"nudged: looping: 5 times","details":{"cause":"looping","session_id":"s1","severity":"medium","evidence":["5 times"],"text":"Try another way."}}
{"id":11,"run_id":"r","time":"2026-01-02T15:00:27Z","category":"coordination","type":"message_sent","severity":"info","agent_id":"ada","role":"scaffolder","contract_id":"parser","summary":"ada to pm: a question","details":{"message_id":"m1","from":"ada","to":"pm","type":"question"}}
{"id":12,"run_id":"r","time":"2026-01-02T15:00:28Z","category":"agent","type":"session_parked","severity":"info","agent_id":"ada","role":"scaffolder","contract_id":"parser","summary":"waits for inbox","details":{"session_id":"s1","for":"inbox"}}
{"id":13,"run_id":"r","time":"2026-01-02T15:01:28Z","category":"coordination","type":"message_delivered","severity":"info","agent_id":"ada","role":"scaffolder","contract_id":"parser","summary":"handed to ada","details":{"message_id":"m2","to":"ada","session_id":"s1"}}
{"id":14,"run_id":"r","time":"2026-01-02T15:01:29Z","category":"state","type":"run_resumed","severity":"info","summary":"the run goes on","details":{"by":"kim"}}
{"id":15,"run_id":"r","time":"2026-01-02T15:01:30Z","category":"state","type":"resumed_after_crash","severity":"warning","summary":"a new host took it up","details":{"epoch":2}}
{"id":16,"run_id":"r","time":"2026-01-02T15:01:31Z","category":"coordination","type":"resource_waited","severity":"info","agent_id":"ada","contract_id":"parser","summary":"waits for gpu (1 of 1 in use) for go test ./...","details":{"resource":"gpu","in_use":1,"of":1,"command":"go test ./...","stage":"work"}}
{"id":17,"run_id":"r","time":"2026-01-02T15:01:35Z","category":"coordination","type":"resource_taken","severity":"info","agent_id":"ada","contract_id":"parser","summary":"has gpu after 4s for go test ./...","details":{"resources":["gpu"],"waited_seconds":4,"command":"go test ./...","stage":"work"}}
{"id":18,"run_id":"r","time":"2026-01-02T15:01:36Z","category":"agent","type":"retried","severity":"warning","agent_id":"ada","role":"scaffolder","contract_id":"parser","summary":"waiting for anthropic: rate limited, next try in 2.0 s, 2 of 6","details":{"session_id":"s1","attempt":1,"cause":"rate_limited","wait_seconds":2,"of":6,"provider":"anthropic","until":"2026-01-02T15:01:38Z"}}
{"id":19,"run_id":"r","time":"2026-01-02T15:01:40Z","category":"agent","type":"claimed","severity":"info","agent_id":"ada","role":"scaffolder","contract_id":"parser","summary":"claims to be complete","details":{"session_id":"s1","summary":"it parses"}}
{"id":20,"run_id":"r","time":"2026-01-02T15:01:50Z","category":"verification","type":"verdict_submitted","severity":"warning","contract_id":"parser","summary":"claim failed its checks","details":{"verdict":"fail","reasons":["go test ./... is red"],"criteria":2,"shown":1,"red":[{"kind":"test","command":"go test ./...","exit_code":1}]}}
{"id":21,"run_id":"r","time":"2026-01-02T15:02:00Z","category":"agent","type":"review_submitted","severity":"info","agent_id":"rev","role":"reviewer","contract_id":"parser","summary":"round 1: revise","details":{"verdict":"revise","issues":1,"iteration":1,"critical":0,"major":1,"minor":0,"nitpick":0,"places":["parse.go"]}}
{"id":22,"run_id":"r","time":"2026-01-02T15:02:01Z","category":"agent","type":"completed","severity":"info","agent_id":"rev","role":"reviewer","contract_id":"parser","summary":"session ended: reviewed","details":{"session_id":"s2","outcome":"reviewed"}}
{"id":23,"run_id":"r","time":"2026-01-02T15:02:02Z","category":"agent","type":"escalated","severity":"error","agent_id":"ada","role":"scaffolder","contract_id":"parser","summary":"paused: looping","details":{"reason":"looping","overseen":{"cause":"looping","session_id":"s1","severity":"high","escalated_to":"human"}}}
{"id":24,"run_id":"r","time":"2026-01-02T15:02:03Z","category":"agent","type":"halted","severity":"critical","agent_id":"ada","role":"scaffolder","contract_id":"parser","summary":"halted: looping","details":{"cause":"looping","session_id":"s1","severity":"critical","evidence":["9 times"]}}
{"id":25,"run_id":"r","time":"2026-01-02T15:02:04Z","category":"agent","type":"failed","severity":"warning","agent_id":"ada","role":"scaffolder","contract_id":"parser","summary":"the overseer halted it","details":{"session_id":"s1","reason":"the overseer halted it"}}
{"id":26,"run_id":"r","time":"2026-01-02T15:02:05Z","category":"state","type":"run_failed","severity":"error","summary":"nothing landed","details":{"reason":"nothing landed"}}
{"id":27,"run_id":"s","time":"2026-01-02T15:02:05Z","category":"state","type":"run_succeeded","severity":"info","summary":"the run succeeded"}
{"id":28,"run_id":"t","time":"2026-01-02T15:02:05Z","category":"state","type":"run_cancelled","severity":"info","summary":"stopped","details":{"by":"kim"}}
`

// source is what package agency says of its types: comments of fields, and the words of
// closed sets.
type source struct {
	says  map[string]string // by Type.Field
	words map[string][]string
}

func readSource(t *testing.T) source {
	t.Helper()
	s := source{says: map[string]string{}, words: map[string][]string{}}
	files, err := filepath.Glob("internal/agency/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range files {
		if strings.HasSuffix(p, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				s.fields(n)
			case *ast.ValueSpec:
				s.word(n)
			}
			return true
		})
	}
	return s
}

func (s source) fields(n *ast.TypeSpec) {
	of, ok := n.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, f := range of.Fields.List {
		for _, name := range f.Names {
			s.says[n.Name.Name+"."+name.Name] = strings.Join(strings.Fields(f.Doc.Text()+" "+f.Comment.Text()), " ")
		}
	}
}

func (s source) word(n *ast.ValueSpec) {
	of, ok := n.Type.(*ast.Ident)
	if !ok || len(n.Values) != 1 {
		return
	}
	if lit, ok := n.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
		if word, err := strconv.Unquote(lit.Value); err == nil && word != "" {
			s.words[of.Name] = append(s.words[of.Name], "`"+word+"`")
		}
	}
}

// form is what a type is in JSON; objects adds those that have a table of their own.
func (s source) form(of reflect.Type, objects map[string]reflect.Type) string {
	switch of.Kind() {
	case reflect.Pointer:
		return s.form(of.Elem(), objects)
	case reflect.Slice, reflect.Array:
		return "list of " + s.form(of.Elem(), objects)
	case reflect.Map:
		return "object of " + s.form(of.Elem(), objects) + " by name"
	case reflect.Struct:
		if of == reflect.TypeFor[time.Time]() {
			return "time as 2026-01-02T15:04:05Z"
		}
		objects[of.Name()] = of
		return "object " + of.Name() + ", below"
	case reflect.Bool:
		return "true or false"
	case reflect.Float64:
		return "number"
	case reflect.String:
		if words := s.words[of.Name()]; len(words) > 0 && of.PkgPath() != "" {
			return "one of " + strings.Join(words, ", ")
		}
		return "text"
	}
	return "whole number"
}

// rows are the fields of a type, those of embedded ones among them.
func (s source) rows(b *strings.Builder, first string, of reflect.Type, objects map[string]reflect.Type) {
	for _, f := range reflect.VisibleFields(of) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		owner := of
		for _, i := range f.Index[:len(f.Index)-1] {
			owner = owner.Field(i).Type
		}
		fmt.Fprintf(b, "| %s`%s` | %s | %s |\n", first, name, s.form(f.Type, objects), strings.ReplaceAll(s.says[owner.Name()+"."+f.Name], "|", "\\|"))
	}
}

// eventForms are the forms of the fields of all details, and examples.
func eventForms(t *testing.T) string {
	s, objects := readSource(t), map[string]reflect.Type{}
	var b strings.Builder
	b.WriteString(formsHead)
	b.WriteString("\n| event, field | form | says |\n| --- | --- | --- |\n")
	for _, d := range agency.Details() {
		s.rows(&b, "`"+string(agency.NewEvent("r", agency.SeverityInfo, "", d).Type)+"` ", reflect.TypeOf(d).Elem(), objects)
	}
	b.WriteString("\n| object, field | form | says |\n| --- | --- | --- |\n")
	for done := map[string]bool{}; ; {
		var next []reflect.Type
		for name, of := range objects {
			if !done[name] {
				next = append(next, of)
			}
		}
		if len(next) == 0 {
			break
		}
		slices.SortFunc(next, func(a, b reflect.Type) int { return cmp.Compare(a.Name(), b.Name()) })
		for _, of := range next {
			done[of.Name()] = true
			s.rows(&b, of.Name()+" ", of, objects)
		}
	}
	return b.String() + examplesHead + examples + "```\n"
}

// overseen are the types of events that the overseer looks at.
func overseen(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	files, err := filepath.Glob("internal/overseer/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range files {
		if strings.HasSuffix(p, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if star, ok := n.(*ast.StarExpr); ok {
				if of, ok := star.X.(*ast.SelectorExpr); ok {
					out[of.Sel.Name] = true
				}
			}
			return true
		})
	}
	return out
}

// TestExamplesOfEventsAreRead holds that the examples have only fields that there are,
// that doctor --overseer takes each, and that none is missing.
func TestExamplesOfEventsAreRead(t *testing.T) {
	shown := map[agency.EventType]bool{}
	for line := range strings.Lines(examples) {
		var e agency.Event
		if err := strictly([]byte(line), &e); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		shown[e.Type] = true
		for _, d := range agency.Details() {
			same := agency.NewEvent("r", agency.SeverityInfo, "", d)
			if same.Type != e.Type || len(e.Details) == 0 {
				continue
			}
			if err := strictly(e.Details, reflect.New(reflect.TypeOf(d).Elem()).Interface()); err != nil {
				t.Errorf("event %d, %s: %v", e.ID, e.Type, err)
			}
		}
	}
	looked := overseen(t)
	for _, d := range agency.Details() {
		of := agency.NewEvent("r", agency.SeverityInfo, "", d).Type
		if looked[reflect.TypeOf(d).Elem().Name()] && !shown[of] {
			t.Errorf("%s has no example", of)
		}
	}
	got, err := doctor.Oversee(strings.NewReader(examples), config.Defaults().Overseer)
	if err != nil || len(got.Warnings) > 0 || len(got.Agents) == 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

func strictly(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	return d.Decode(v)
}
