package config

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

var update = flag.Bool("update", false, "write the generated files")

func fresh(t *testing.T, path string, want []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(got), string(want)); diff != "" {
		t.Errorf("%s is stale: go test ./internal/config -update\n%s", path, diff)
	}
}

func TestSchemaIsFresh(t *testing.T) { fresh(t, "schema.json", generatedSchema()) }

func TestReferenceIsFresh(t *testing.T) {
	fresh(t, "../../docs/configuration.md", Reference())
}

func TestEveryKeyIsDocumented(t *testing.T) {
	for _, line := range strings.Split(string(Reference()), "\n") {
		if strings.HasPrefix(line, "| `") && (strings.HasSuffix(line, "|  |") || strings.Contains(line, "| text list |")) {
			t.Error(line)
		}
	}
}

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("agency.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("agency.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func asJSON(t *testing.T, text []byte) any {
	t.Helper()
	var v any
	if err := yaml.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	out, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestSchemaAcceptsWhatLoadAccepts(t *testing.T) {
	s := compiled(t)
	for name, text := range map[string][]byte{
		"printed":  fileOf(t, "testdata/printed.yaml"),
		"shown":    Show(load(t, repoInput(""))),
		"template": Template(Detected{Commands: Commands{Test: "go test ./..."}}),
		"aliases":  []byte("agents: {critic: {runtime: 'acp:x y'}}\nnotify: [{type: email, url: 'smtp://h', to: [a@b]}]\nmcp: {x: {command: [a, a]}}\nprices: {local/x/y: {in: 0, out: 0}}"),
	} {
		if err := s.Validate(asJSON(t, text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		load(t, repoInput(string(text)))
	}
}

func TestSchemaRefusesWhatLoadRefuses(t *testing.T) {
	s := compiled(t)
	for _, text := range []string{
		"moed: single", "mode: tierd", "budget: {usd: 0}", "retry_budget: 1.5", "agents: {generalst: {}}", "models: {cheap: [a/b]}",
		"models: {capable: [gpt]}", "prices: {x: {in: 1, out: 1}}", "prices: {a/x: {in: 1}}", "providers: {x: {type: foo}}",
		"sandbox: {mode: open}", "visibility: {inspection_gates: {t1_plan: false}}", "triggers: [a]", "triggers: [manual_request, manual_request]",
		"agents: {reviewer: {runtime: claud}}", "overseer: {model: foo}", "version: 2", "notify: [{type: pigeon}]", "mcp: {x: {roles: [boss]}}",
	} {
		if s.Validate(asJSON(t, []byte(text))) == nil {
			t.Errorf("the schema accepts %s", text)
		}
		if _, err := Load(repoInput(text)); err == nil {
			t.Errorf("Load accepts %s", text)
		}
	}
}

func TestTemplateRoundTrip(t *testing.T) {
	commands := Commands{
		Test: `go test ./... && echo "a: b # c" '<>'`, Lint: "go vet ./...", Build: "true", Setup: "line one\nline two", Typecheck: "", TimeoutSeconds: 1800,
	}
	text := Template(Detected{Commands: commands, Notes: []string{"found go.mod\nmode: full"}})
	l := load(t, repoInput(string(text)))
	want := Defaults()
	want.Commands = commands
	if diff := cmp.Diff(want, l.Config); diff != "" {
		t.Errorf("%s\n%s", diff, text)
	}
	if len(l.Widenings) != 0 {
		t.Errorf("%v", l.Widenings)
	}
}

// The comments of the template show defaults: uncommented, it is the same.
func TestTemplateCommentsAreTheDefaults(t *testing.T) {
	var b strings.Builder
	for line := range strings.Lines(string(Template(Detected{}))) {
		body := strings.TrimPrefix(line, "# ")
		key, _, _ := strings.Cut(body, ":")
		_, known := fieldNamed(reflect.TypeFor[Config](), key)
		if known || body != line && strings.HasPrefix(body, "  ") {
			line = body
		}
		b.WriteString(strings.Replace(line, "  # timeout", "  timeout", 1))
	}
	l := load(t, repoInput(b.String()))
	if diff := cmp.Diff(Defaults(), l.Config); diff != "" {
		t.Errorf("%s\n%s", diff, b.String())
	}
	if l.Origin("budget.usd").Layer != LayerRepo || l.Origin("models.capable").Layer != LayerRepo {
		t.Error("nothing was uncommented")
	}
}

func TestShow(t *testing.T) {
	in := repoInput("budget: {usd: 7}\nland: pull_request\nnotify: [{type: desktop}]\n")
	in.UserFile = Source{Path: "own.yaml", Data: []byte("providers: {anthropic: {api_key: secret-text}}\nmax_parallel_agents: 2\n")}
	in.Env = envOf("OPENAI_API_KEY", "x")
	in.Flags = []Flag{{Key: "retry_budget", Value: "1", Name: "--retries"}}
	text := string(Show(load(t, in)))
	for _, want := range []string{
		"  usd: 7  # agency.yaml:1\n", "land: pull_request  # not in this version; agency.yaml:2\n", "max_parallel_agents: 2  # own.yaml:2\n",
		"retry_budget: 1  # --retries\n", "    api_key: \"********\"  # own.yaml:1\n", "    api_key: \"${OPENAI_API_KEY}\"  # set; default\n",
		"    api_key: \"${GEMINI_API_KEY}\"  # GEMINI_API_KEY is not set; default\n", "  -\n", "    type: desktop  # no effect yet; agency.yaml:3\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	plain := Show(load(t, repoInput("")))
	if diff := cmp.Diff(Defaults(), load(t, repoInput(string(plain))).Config); diff != "" {
		t.Error(diff)
	}
}
