package agency_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"agency/internal/agency"
)

var update = flag.Bool("update", false, "write docs/events.md anew")

const eventsHead = `# Events

<!-- Generated from internal/agency/detail.go; a test compares. Do not edit. -->

What happens in a run is told as it happens: ` + "`agency watch RUN --json`" + ` prints one event a line, the record keeps
them, and every view is made from them. An event is an object: ` + "`id`" + ` (increasing), ` + "`run_id`, `time`, `category`, `type`, `severity`" + `
(debug, info, warning, error, critical), ` + "`agent_id`, `role`, `tier`, `contract_id`, `summary`, `details`" + `.

| type | category | says | details |
| --- | --- | --- | --- |
`

// eventsPage is the page that lists the events, as the code has them.
func eventsPage(t *testing.T) string {
	says := map[string]string{}
	for _, name := range []string{"internal/agency/detail.go", "internal/agency/tiers.go", "internal/agency/route.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.TypeSpec); ok && s.Doc != nil {
				text := strings.Join(strings.Fields(s.Doc.Text()), " ")
				says[s.Name.Name] = strings.TrimPrefix(strings.TrimPrefix(text, s.Name.Name+" "), "says ")
			}
			return true
		})
	}
	var b strings.Builder
	b.WriteString(eventsHead)
	for _, d := range agency.Details() {
		ev, of := agency.NewEvent("r", agency.SeverityInfo, "", d), reflect.TypeOf(d).Elem()
		var fields []string
		for _, f := range reflect.VisibleFields(of) {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
				fields = append(fields, "`"+name+"`")
			}
		}
		if says[of.Name()] == "" {
			t.Errorf("%s does not say what it is", of.Name())
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", ev.Type, ev.Category, strings.ReplaceAll(says[of.Name()], "|", "\\|"), strings.Join(fields, ", "))
	}
	b.WriteString(eventForms(t))
	return b.String()
}

// TestEventsAreListed compares the page that lists the events with the code.
func TestEventsAreListed(t *testing.T) {
	const page = "docs/events.md"
	want := eventsPage(t)
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(page); err != nil || string(got) != want {
		t.Errorf("%s is not what the code says; write it by: go test . -run TestEventsAreListed -update (%v)", page, err)
	}
}

var listed = regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|")

// TestEventsHappen holds that each event that the page lists is told by something.
func TestEventsHappen(t *testing.T) {
	page, err := os.ReadFile("docs/events.md")
	if err != nil {
		t.Fatal(err)
	}
	made := composites(t)
	names := map[string]string{}
	for _, d := range agency.Details() {
		names[string(agency.NewEvent("r", agency.SeverityInfo, "", d).Type)] = reflect.TypeOf(d).Elem().Name()
	}
	all := listed.FindAllStringSubmatch(string(page), -1)
	if len(all) < 40 {
		t.Fatalf("%d events are listed", len(all))
	}
	for _, m := range all {
		if !made[names[m[1]]] {
			t.Errorf("nothing tells %s (agency.%s)", m[1], names[m[1]])
		}
	}
}

// composites are the types of package agency of which the product makes values.
func composites(t *testing.T) map[string]bool {
	out := map[string]bool{}
	err := filepath.WalkDir("internal", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(p) != ".go" || strings.HasSuffix(p, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			var types []ast.Expr
			switch n := n.(type) {
			case *ast.CompositeLit:
				types = append(types, n.Type)
			case *ast.FuncType: // some are filled in on their way out
				if n.Results != nil {
					for _, r := range n.Results.List {
						types = append(types, r.Type)
					}
				}
			}
			for _, of := range types {
				switch of := of.(type) {
				case *ast.SelectorExpr:
					if pkg, ok := of.X.(*ast.Ident); ok && pkg.Name == "agency" {
						out[of.Sel.Name] = true
					}
				case *ast.Ident:
					if file.Name.Name == "agency" {
						out[of.Name] = true
					}
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
