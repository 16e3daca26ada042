package check

import (
	"testing"

	"agency/internal/agency"
	"agency/internal/ecosystem"
	"agency/internal/testreport"
)

func TestInstrument(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{"go test ./...", "go test -json -count=1 ./..."},
		{"cd sub && go test ./...", "cd sub && go test -json -count=1 ./..."},
		{"GOFLAGS=-short go test ./a ./b", "GOFLAGS=-short go test -json -count=1 ./a ./b"},
		{"env CGO_ENABLED=1 go test -race ./...", "env CGO_ENABLED=1 go test -json -count=1 -race ./..."},
		{"go test ./... && (cd x && go test ./...)", "go test -json -count=1 ./... && (cd x && go test -json -count=1 ./...)"},
		{"go vet ./... ; go test -json ./... 2>&1", "go vet ./... ; go test -count=1 -json ./... 2>&1"},
		{"for d in a b; do go test ./$d; done", "for d in a b; do go test -json -count=1 ./$d; done"},
		{"if true; then go test .; else go test ./x; fi", "if true; then go test -json -count=1 .; else go test -json -count=1 ./x; fi"},
		{"go test './a b/...' -args -v", "go test -json -count=1 './a b/...' -args -v"},
		{"go test ./... 2>/dev/null", "go test -json -count=1 ./... 2>/dev/null"},
		// What these print is not the line's own output, or has another form.
		{"go test ./... | tee log", ""},
		{"go test ./... > log", ""},
		{"! go test ./...", ""},
		{"go test ./... &", ""},
		{"x=$(go test ./...)", ""},
		{"go test -c ./...", ""},
		{"go test -list . ./...", ""},
		{"make test", ""},
		{"gotestsum -- ./...", ""},
		{"echo go test ./...", ""},
		{"t() { go test ./...; }; t", ""},
		{"go test ./... (", ""},
		{"", ""},
	} {
		calls := directly(findCalls(tt.line, ecosystem.Repo{}), true)
		n := len(calls)
		var edits []ecosystem.Edit
		for _, c := range calls {
			asked, _ := c.runner.Ask(c.Call, ecosystem.Query{})
			edits = append(edits, asked.Edits...)
		}
		got := apply(tt.line, edits)
		if tt.want == "" {
			tt.want = tt.line
			if n != 0 {
				t.Errorf("%s: taken for a plain go test", tt.line)
			}
		}
		if got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.line, got, tt.want)
		}
	}
}

func TestNarrow(t *testing.T) {
	for _, tt := range []struct{ line, target, want string }{
		{"go test ./...", "", "go test ./..."},
		{"go test ./...", "./internal/x", "go test ./internal/x"},
		{"go test -race ./...", "TestA", "go test -run '^(TestA)$' -race ./..."},
		{"cd m && go test -timeout 30s ./a ./b", "TestA/x ./c", "cd m && go test -run '^(TestA)$/^(x)$' -timeout 30s ./c "},
		{"go test", "./a; rm -rf /", "ERR"},
		{"go test ./...", "-exec ./evil ./...", "ERR"},
		{"make test", "TestA", "ERR"},
		{"go test -run X ./...", "TestA", "ERR"},
	} {
		got, err := Narrow(tt.line, tt.target)
		if err != nil {
			if agency.KindOf(err) != agency.KindInvalid {
				t.Errorf("%s, %s: %v", tt.line, tt.target, err)
			}
			got = "ERR"
		}
		if got != tt.want {
			t.Errorf("%s, %s:\n got %s\nwant %s", tt.line, tt.target, got, tt.want)
		}
	}
	if got, err := Narrow("go test ./...", "./a;reboot $(x) 'q"); err != nil || got != `go test './a;reboot' '$(x)' \'q` && got != `go test './a;reboot' '$(x)' "'q"` {
		t.Errorf("words of a target are not quoted: %s, %v", got, err)
	}
}

func TestRerun(t *testing.T) {
	line, ok := Rerun("go test -race ./...", []string{"ex.com/b.TestB/case.with/slash", "ex.com/a.TestA", "ex.com/a.TestA/x"}, nil)
	if want := "go test -run '^(TestA|TestB)$' -race ex.com/a ex.com/b"; !ok || line != want {
		t.Errorf("got %s, %v\nwant %s", line, ok, want)
	}
	for _, bad := range [][]string{nil, {"suite.case"}} {
		if _, ok := Rerun("go test ./...", bad, nil); ok {
			t.Errorf("%v can be run again", bad)
		}
	}
	if _, ok := Rerun("go test -run X ./...", []string{"ex.com/a.TestA"}, nil); ok {
		t.Error("a line with a -run of its own can be narrowed")
	}
}

func TestSplitGo(t *testing.T) {
	for full, want := range map[string][2]string{
		"ex.com/a.b/c.TestX":          {"ex.com/a.b/c", "TestX"},
		"ex.com/c.TestX/127.0.0.1/a.": {"ex.com/c", "TestX/127.0.0.1/a."},
		"ex.com/c.ExampleT_m":         {"ex.com/c", "ExampleT_m"},
		"ex.com/c [build failed]":     {"", ""},
	} {
		pkg, test, _ := testreport.SplitGo(full)
		if pkg != want[0] || test != want[1] {
			t.Errorf("%s: %q %q", full, pkg, test)
		}
	}
}
