package quality_test

import (
	"bytes"
	"context"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"agency/internal/agency"
	"agency/internal/code"
	"agency/internal/quality"
)

// What was measured of the table, held: fewer found or more false alarms are a step back.
const (
	leastFound  = 39
	mostAlarms  = 0
	ofThePlants = 40
)

var syntax = code.New(code.Options{})

func TestMain(m *testing.M) {
	status := m.Run()
	if err := syntax.Close(); err != nil {
		panic(err)
	}
	os.Exit(status)
}

// file is a new file, all of whose lines a change brought.
func file(name, text string) quality.File {
	f := quality.File{Path: name, After: []byte(text)}
	for i := range strings.Count(text, "\n") {
		f.Added = append(f.Added, i+1)
	}
	return f
}

func look(t *testing.T, files []quality.File, others map[string][]byte) []agency.QualityFinding {
	t.Helper()
	r, err := quality.Analyze(t.Context(), syntax, files)
	if err != nil {
		t.Fatal(err)
	}
	return append(r.Findings, quality.Copies(files, others).Findings...)
}

// The worth of the analyzers that are built in: planted defects found, and alarms on
// changes that are as they should be.
func TestPlantedAndClean(t *testing.T) {
	raw, err := os.ReadFile("testdata/table.txtar")
	if err != nil {
		t.Fatal(err)
	}
	type plant struct {
		rule, name string
		file       quality.File
		others     map[string][]byte
	}
	var plants []plant
	clean, alarms, found := 0, 0, 0
	var missed []string
	for _, f := range txtar.Parse(raw).Files {
		parts := strings.Split(f.Name, "/")
		switch {
		case parts[0] == "clean":
			clean++
			for _, alarm := range look(t, []quality.File{file(path.Base(f.Name), string(f.Data))}, nil) {
				alarms++
				t.Logf("false alarm: %s: %s", f.Name, alarm)
			}
		case parts[3] == "other":
			plants[len(plants)-1].others[path.Base(f.Name)] = f.Data
		default:
			plants = append(plants, plant{parts[2], f.Name, file(path.Base(f.Name), string(f.Data)), map[string][]byte{}})
		}
	}
	for _, p := range plants {
		all := look(t, []quality.File{p.file}, p.others)
		if slices.ContainsFunc(all, func(f agency.QualityFinding) bool { return f.Rule == p.rule }) {
			found++
		} else {
			missed = append(missed, p.name)
		}
	}
	t.Logf("%d planted: %d found, %d missed %s; %d clean: %d false alarms", len(plants), found, len(missed), missed, clean, alarms)
	if len(plants) != ofThePlants || clean != 40 || found < leastFound || alarms > mostAlarms {
		t.Errorf("want %d of %d found, and at most %d false alarms of 40", leastFound, ofThePlants, mostAlarms)
	}
}

// Only what a change brought counts, and the same change gives the same findings.
func TestOnlyAddedLines(t *testing.T) {
	before := "package p\n\nimport \"os\"\n\nfunc a(p string) []byte {\n\tb, _ := os.ReadFile(p)\n\treturn b\n}\n"
	f := file("a.go", before+"\nfunc c(p string) []byte {\n\tb, _ := os.ReadFile(p)\n\treturn b\n}\n")
	f.Before, f.Added = []byte(before), []int{9, 10, 11, 12, 13}
	all := look(t, []quality.File{f}, nil)
	if len(all) != 1 || all[0].Line != 11 || all[0].Rule != "ignored-error" {
		t.Errorf("findings %v", all)
	}
	if diff := cmp.Diff(all, look(t, []quality.File{f}, nil)); diff != "" {
		t.Error(diff)
	}
	f.Test = true
	if all := look(t, []quality.File{f}, nil); len(all) != 0 {
		t.Errorf("of a test: %v", all)
	}
}

// A function that was too large before is told of only where it grew.
func TestGrowth(t *testing.T) {
	body := strings.Repeat("\tif a > 0 {\n\t\ta--\n\t}\n", 21)
	before := "package p\n\nfunc f(a int) int {\n" + body + "\treturn a\n}\n"
	grown := strings.Replace(before, "\treturn a\n", "\tif a > 9 {\n\t\ta = 9\n\t}\n\treturn a\n", 1)
	same := strings.Replace(before, "return a\n", "return a + 1\n", 1)
	rules := func(text string) (out []string) {
		f := file("a.go", text)
		f.Before = []byte(before)
		for _, x := range look(t, []quality.File{f}, nil) {
			out = append(out, x.Rule)
		}
		return out
	}
	if got := rules(grown); !slices.Equal(got, []string{"complex-function"}) {
		t.Errorf("grown: %v", got)
	}
	if got := rules(same); len(got) != 0 {
		t.Errorf("as large as before: %v", got)
	}
}

func TestSARIF(t *testing.T) {
	all := []agency.QualityFinding{
		{Analyzer: "agency", Rule: "secret", Severity: agency.IssueCritical, Dimension: agency.Security, File: "a b.go", Line: 3, Message: "a key"},
		{Analyzer: "coverage", Rule: "unreached", Severity: agency.IssueMinor, Dimension: agency.Correctness, File: "c.go", Message: "no test"},
	}
	var b bytes.Buffer
	if err := quality.WriteSARIF(&b, all); err != nil {
		t.Fatal(err)
	}
	back, err := quality.ReadSARIF(b.Bytes(), "/repo")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(all, back); diff != "" {
		t.Error(diff)
	}
	theirs := `{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"gosec","rules":[{"id":"G1","defaultConfiguration":{"level":"error"}}]}},"results":[
		{"ruleId":"G1","message":{"text":"bad"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"file:///repo/x/y.go"},"region":{"startLine":7}}}]},
		{"ruleId":"G2","message":{"text":"nowhere"}}]}]}`
	want := []agency.QualityFinding{{Analyzer: "gosec", Rule: "G1", Severity: agency.IssueMajor, Dimension: agency.Security, File: "x/y.go", Line: 7, Message: "bad"}}
	if back, err = quality.ReadSARIF([]byte(theirs), "/repo"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, back); diff != "" {
		t.Error(diff)
	}
	if _, err := quality.ReadSARIF([]byte(`{"version":"1.0"}`), "/"); err == nil {
		t.Error("an old version was read")
	}
}

// A context that ended ends the reading.
func TestEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := quality.Analyze(ctx, syntax, []quality.File{file("a.py", "x = 1\n")}); err == nil {
		t.Error("no error")
	}
}
