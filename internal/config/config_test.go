package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agency/internal/agency"
)

func envOf(pairs ...string) Env {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return func(name string) (string, bool) { v, ok := m[name]; return v, ok }
}

func repoInput(text string) Input {
	return Input{RepoFile: Source{Path: "agency.yaml", Data: []byte(text)}, Env: envOf(), Home: "/home/u", Repo: "/home/u/repo", State: "/home/u/.local/state/agency"}
}

func load(t *testing.T, in Input) *Loaded {
	t.Helper()
	l, err := Load(in)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func fileOf(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The values that the manual prints are the defaults, but for the commands,
// which init detects.
func TestPrintedValuesAreTheDefaults(t *testing.T) {
	l := load(t, repoInput(string(fileOf(t, "testdata/printed.yaml"))))
	want := Defaults()
	want.Commands = Commands{Test: "go test ./...", Lint: "go vet ./...", Build: "go build ./...", TimeoutSeconds: 1800}
	want.Routing.Roles = []string{"test_engineer", "cleanup", "generalist", "t4_implementer"} // it names the scaffolder's model
	if diff := cmp.Diff(want, l.Config); diff != "" {
		t.Error(diff)
	}
	for _, w := range l.Warnings {
		key, told := strings.CutSuffix(w.Text, " has no effect in this version")
		if !told || InEffect(key) || w.Origin.Line == 0 {
			t.Errorf("warning %v", w)
		}
	}
	if len(l.Widenings) != 0 || len(l.Warnings) < 7 {
		t.Errorf("widenings %v, warnings %v", l.Widenings, l.Warnings)
	}
}

func TestNothingIsTheDefaults(t *testing.T) {
	for _, text := range []string{"", "\n", "# only a comment\n", "---\n", "---\n# x\n", "\ufeff# bom\n", "budget:\n  # usd: 3\n", "null\n"} {
		l := load(t, repoInput(text))
		if diff := cmp.Diff(Defaults(), l.Config); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
	load(t, Input{}) // no file, no environment
}

func TestFaults(t *testing.T) {
	for _, c := range []struct{ name, yaml, want string }{
		{"unknown key", "moed: single", "agency.yaml:1:1: unknown key moed (did you mean mode?)"},
		{"unknown key below", "sandbox:\n  memory: 3", "agency.yaml:2:3: unknown key sandbox.memory"},
		{"misplaced key", "memory_mb: 3", "unknown key memory_mb (it stands under sandbox:)"},
		{"unknown role", "agents: {generalst: {}}", "agency.yaml:1:10: unknown key agents.generalst (did you mean generalist?)"},
		{"unknown level", "models: {cheap: [local/x]}", "unknown key models.cheap"},
		{"enum", "mode: tierd", `agency.yaml:1:7: mode: "tierd" must be one of single, contract, producer_critic, multi_agent, tiered, full (did you mean tiered?)`},
		{"wrong type", "budget: 5", `agency.yaml:1:9: budget must be a mapping, not a whole number ("5")`},
		{"list for text", "branch_prefix: [a]", "branch_prefix must be text, not a list"},
		{"text for list", "shared_writes: go.sum", "shared_writes must be a list"},
		{"yes", "improve: {enabled: yes}", "improve.enabled must be true or false: write true"},
		{"float", "retry_budget: 1.5", "retry_budget must be a whole number"},
		{"no number", "budget: {usd: .nan}", "budget.usd must be a number"},
		{"huge", "budget: {tokens: 99999999999999999999999}", "budget.tokens"},
		{"no slot", "resources: {gpu: 0}", "resources.gpu must be from 1 to 1000"},
		{"resource that is no file's name", "resources: {../gpu: 1}", "resources: \"../gpu\" is no name of a resource"},
		{"needs what is not there", "resources: {gpu: 1}\ncommands: {needs: {test: [gpu, gqu]}}", "commands.needs.test: no resource \"gqu\" (did you mean gpu?): those of resources are gpu"},
		{"needs where there is nothing", "commands: {needs: {build: [cpu]}}", "commands.needs.build: no resource \"cpu\": there are none; set resources: {cpu: 1}"},
		{"needs of no command", "commands: {needs: {tests: []}}", "unknown key commands.needs.tests"},
		{"zero money", "budget: {usd: 0}", "budget.usd must be more than 0 (US dollars), not 0"},
		{"negative", "commands: {timeout_seconds: -1}", "commands.timeout_seconds must be from 1 to 86400"},
		{"number for text", "branch_prefix: 5", `branch_prefix must be text: write "5" in quotes`},
		{"null", "mode:", "mode has no value: want text"},
		{"version", "version: 2", "version must be 1"},
		{"duplicate", "mode: single\nmode: single", "agency.yaml:2:1: mode twice: it stands already on line 1"},
		{"alias role twice", "agents: {critic: {}, reviewer: {}}", "agents.reviewer twice"},
		{"glob", "shared_writes: ['a[']", "is no pattern"},
		{"glob up", "shared_writes: ['../x']", `contains ".."`},
		{"branch", "branch_prefix: 'a..b'", "branch_prefix: "},
		{"branch slash", "branch_prefix: a/b", "contains '/'"},
		{"branch empty", "branch_prefix: ''", "is empty"},
		{"model", "models: {capable: [gpt]}", "is no provider/model"},
		{"model provider", "models: {capable: [opnai/x]}", `no provider "opnai" for "opnai/x" (did you mean openai?)`},
		{"no models", "models: {capable: []}", "models.capable is empty"},
		{"agent model", "agents: {generalist: {model: cappable}}", "did you mean capable?"},
		{"runtime", "agents: {generalist: {runtime: claud}}", "did you mean claude?"},
		{"price key", "prices: {gpt: {in: 1, out: 2}}", "is no provider/model"},
		{"price without out", "prices: {local/x: {in: 1}}", "prices.local/x has no out"},
		{"provider type", "providers: {x: {base_url: http://127.0.0.1/v1}}", "agency.yaml:1:16: providers.x has no type"},
		{"provider url", "providers: {x: {type: openai, base_url: 'localhost:1'}}", "must begin with http:// or https://"},
		{"provider password", "providers: {x: {type: openai, base_url: 'http://u:p@h/'}}", "holds a user name or password"},
		{"provider api", "providers: {x: {type: anthropic, api: chat}}", "only type openai has it"},
		{"provider reference", "providers: {x: {type: openai, api_key: '${A B}'}}", "is no ${NAME}"},
		{"host", "sandbox: {allow_hosts: ['*.x.org']}", "is a pattern"},
		{"host address", "sandbox: {allow_hosts: ['10.0.0.1']}", "is an address"},
		{"read root", "sandbox: {read: ['/']}", "is the whole file system"},
		{"read home", "sandbox: {read: ['~/']}", "home folder"},
		{"read state", "sandbox: {read: ['~/.local/state/agency/runs']}", "this program's own folder"},
		{"read above home", "sandbox: {read: ['/home']}", "this program's own folder"},
		{"read climbs to the home", "sandbox: {read: ['..']}", "this program's own folder"},
		{"network", "sandbox: {network: full}", "sandbox.network"},
		{"notify", "notify: [{type: slack}]", "type slack needs a url"},
		{"notify type", "notify: [{type: pigeon}]", "must be one of webhook, slack, email, desktop"},
		{"mcp", "mcp: {x: {command: [a], url: 'http://h/'}}", "has both command and url"},
		{"store", "store: {url: 'mysql://h/x'}", "postgres://"},
		{"routing", "routing: {simple_max_files: 9}", "routing.simple_max_files (9) must be less than routing.complex_min_files (5)"},
		{"overseer", "overseer: {warn_threshold: critical, force_stop_threshold: low}", "must not be above"},
		{"agent tokens", "agents: {generalist: {max_tokens: 200, max_tokens_per_session: 100}}", "must be at most agents.generalist.max_tokens_per_session (100)"},
		{"perfect", "producer_critic: {require_perfect: true, allow_major_issues_on_approval: true}", "contradict"},
		{"t1 gate", "visibility: {inspection_gates: {t1_plan: false}}", "cannot be turned off"},
		{"repeated", "triggers: [manual_request, manual_request]", `"manual_request" twice`},
		{"escape in a value", `branch_prefix: "a\e[31m"`, "U+001B, which does not print"},
		{"direction in a value", `sandbox: {read: ["/a\u202e/b"]}`, "U+202E"},
		{"escape in a key", `prices: {"local/\e[2J": {in: 1, out: 1}}`, "does not print"},
		{"unknown key with an escape", `"a\e[2J": 1`, `unknown key "a\x1b[2J"`},
		{"tab", "budget:\n\tusd: 1", "agency.yaml:2:1: a tab: indent with spaces"},
		{"not utf-8", "mode: \xff", "agency.yaml:1:7: not UTF-8"},
		{"control", "mode: \x01", "control character"},
		{"two documents", "mode: single\n---\nmode: single\n", "a second document"},
		{"list at the top", "- a", "a list where keys are wanted"},
		{"syntax", "mode: [single", "agency.yaml:1:7: "},
		{"tag", "mode: !!str single", "a YAML tag"},
		{"alias", "mode: *x", "agency.yaml:1:7: "},
		{"merge of text", "budget:\n  <<: [a]\n", "<< wants an alias of a mapping"},
		{"deep", "mode: " + strings.Repeat("[", 2000), "nested deeper"},
		{"blank lines", "a: |" + strings.Repeat("\n", 5000), "blank lines in a row"},
		{"size", "# " + strings.Repeat("x", maxFile), "more than 1 MiB"},
		{"complex key", "? [a, b]\n: 1", "key"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Load(repoInput(c.yaml))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
			if agency.KindOf(err) != agency.KindInvalid {
				t.Errorf("kind %v", agency.KindOf(err))
			}
		})
	}
}

func TestAllFaultsAtOnceWithCaret(t *testing.T) {
	in := repoInput("mode: tierd\nbudget:\n  usd: -1\r\nfoo: 1\n")
	in.UserFile = Source{Path: "config.yaml", Data: []byte("land: maybe\n")}
	in.Flags = []Flag{{Key: "max_parallel_agents", Value: "many", Name: "--max-parallel"}}
	_, err := Load(in)
	want := `config: config.yaml:1:7: land: "maybe" must be one of branch, merge, pull_request
    1 | land: maybe
      |       ^
agency: config: agency.yaml:1:7: mode: "tierd" must be one of single, contract, producer_critic, multi_agent, tiered, full (did you mean tiered?)
    1 | mode: tierd
      |       ^
agency: config: agency.yaml:3:8: budget.usd must be more than 0 (US dollars), not -1
    3 |   usd: -1
      |        ^
agency: config: agency.yaml:4:1: unknown key foo
    4 | foo: 1
      | ^
agency: config: --max-parallel: max_parallel_agents must be a whole number, not text ("many")`
	if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
		t.Error(diff)
	}
	var fs Faults
	if !errors.As(err, &fs) || len(fs) != 5 {
		t.Errorf("%d faults", len(fs))
	}
}

func TestColumnsCountCharacters(t *testing.T) {
	_, err := Load(repoInput("commands: {test: \"häß\", lnt: x}\n"))
	if err == nil || !strings.Contains(err.Error(), "agency.yaml:1:25: unknown key commands.lnt (did you mean lint?)") {
		t.Error(err)
	}
}

func TestManyFaultsAreCut(t *testing.T) {
	_, err := Load(repoInput(strings.Repeat("a: 1\n", 1) + keysOf(500)))
	var fs Faults
	if !errors.As(err, &fs) || len(fs) != maxFaults+1 || !strings.Contains(err.Error(), "and 451 more faults") {
		t.Errorf("%d faults", len(fs))
	}
}

func keysOf(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "zz%d: 1\n", i)
	}
	return b.String()
}

func TestLayers(t *testing.T) {
	in := repoInput("budget:\n  usd: 7\nagents: {generalist: {max_turns: 9}}\ncommands: {test: 'echo ${HOME}'}\nshared_writes: ['${BASE}/x']\n")
	in.UserFile = Source{Path: "own.yaml", Data: []byte("budget: {usd: 5, tokens: 9}\nmax_parallel_agents: 2\nproviders: {mine: {type: openai, base_url: '${BASE}/v1', api_key: none}}\n")}
	in.Flags = []Flag{{Key: "budget.usd", Value: "3", Name: "--budget"}}
	in.Env = envOf("BASE", "http://127.0.0.1:9")
	l := load(t, in)
	if got := l.Config.Budget; got != (Budget{USD: 3, Tokens: 9, WallMinutes: 480}) {
		t.Errorf("budget %+v", got)
	}
	if g := l.Config.Agents["generalist"]; g.MaxTurns != 9 || g.TimeoutSeconds != 1800 {
		t.Errorf("generalist %+v", g)
	}
	if l.Config.Commands.Test != "echo ${HOME}" {
		t.Errorf("command %q: its reference is the shell's", l.Config.Commands.Test)
	}
	if l.Config.SharedWrites[0] != "${BASE}/x" {
		t.Errorf("%q: a repository's file expands in trusted keys only", l.Config.SharedWrites)
	}
	if p := l.Config.Providers["mine"]; p.BaseURL != "http://127.0.0.1:9/v1" {
		t.Errorf("provider %+v", p)
	}
	for key, want := range map[string]string{
		"budget.usd": "--budget", "budget.tokens": "own.yaml:1", "budget.wall_minutes": "default",
		"agents.generalist.max_turns": "agency.yaml:3", "max_parallel_agents": "own.yaml:2",
	} {
		if got := l.Origin(key).String(); got != want {
			t.Errorf("%s from %s, want %s", key, got, want)
		}
	}
}

func TestAnchorsAndMergeKeys(t *testing.T) {
	l := load(t, repoInput(`
agents:
  generalist: &base {max_turns: 7, max_tokens: 100}
  reviewer:
    <<: *base
    max_turns: 8
  pm: *base
`))
	a := l.Config.Agents
	if a["reviewer"].MaxTurns != 8 || a["reviewer"].MaxTokens != 100 || a["project_manager"].MaxTurns != 7 {
		t.Errorf("%+v", a)
	}
}

func TestModelsWithoutAKey(t *testing.T) {
	catalogue := map[string]map[string][]string{
		"anthropic": {LevelCapable: {"claude-x"}, LevelReasoningHeavy: {"claude-y"}, LevelFastCheap: {"claude-z"}},
		"openai":    {LevelCapable: {"gpt-x", "gpt-w"}, LevelReasoningHeavy: {"gpt-y"}},
	}
	for _, c := range []struct {
		name, yaml, want string
		env              []string
	}{
		{"anthropic first", "", "anthropic/claude-x", []string{"OPENAI_API_KEY", "o", "ANTHROPIC_API_KEY", "a"}},
		{"openai", "", "openai/gpt-x", []string{"OPENAI_API_KEY", "o"}},
		{"empty counts as unset", "", "openai/gpt-x", []string{"OPENAI_API_KEY", "o", "ANTHROPIC_API_KEY", ""}},
		{"none set", "", "anthropic/claude-sonnet-4-5", nil},
		{"own", "models: {capable: [local/qwen/2.5]}", "local/qwen/2.5", []string{"OPENAI_API_KEY", "o"}},
		{"nearest level", "models: {fast-cheap: [local/small]}", "local/small", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := repoInput(c.yaml)
			in.Env, in.Catalogue = envOf(c.env...), catalogue
			l := load(t, in)
			refs, err := l.Config.ModelsOf("generalist")
			if err != nil || refs[0].String() != c.want {
				t.Errorf("%v %v", refs, err)
			}
			for _, level := range levels() {
				if len(l.Config.Models[level]) == 0 {
					t.Errorf("no model for %s", level)
				}
			}
		})
	}
}

func TestPriceWithoutCachedInIsNeverCheaper(t *testing.T) {
	l := load(t, repoInput("prices: {local/a: {in: 3, out: 15}, local/b: {in: 3, cached_in: 0, out: 15}}"))
	a, _ := l.Config.PriceOf(ModelRef{"local", "a"})
	b, _ := l.Config.PriceOf(ModelRef{"local", "b"})
	if a.CachedIn != 3 || b.CachedIn != 0 {
		t.Errorf("%+v %+v", a, b)
	}
}

func TestSupported(t *testing.T) {
	for yaml, want := range map[string]string{
		"mode: tiered":       "",
		"land: pull_request": "land: pull_request is not in this version",

		"agents: {generalist: {runtime: claude}}": "runtime claude is not in this version",
		"store: {url: 'postgres://h/db'}":         "store.url is not in this version",

		"models: {capable: [openai/x]}\nproviders: {openai: {api: responses}}": "",

		"models: {capable: [google/gemini-x]}":  "",
		"providers: {openai: {api: responses}}": "",
		"notify: [{type: desktop}]":             "",
		"mode: single":                          "",
	} {
		err := load(t, repoInput(yaml)).Supported()
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", yaml, err)
		}
		if err != nil && agency.KindOf(err) != agency.KindInvalid {
			t.Errorf("%s: kind %v", yaml, agency.KindOf(err))
		}
	}
	in := repoInput("land: pull_request")
	in.Flags = []Flag{{Key: "land", Value: "merge", Name: "--land"}}
	if err := load(t, in).Supported(); err != nil {
		t.Errorf("the flag wins: %v", err)
	}
}

const canary = "sk-canary-0123456789"

func TestSecretsStayOutOfEverythingPrinted(t *testing.T) {
	in := repoInput("")
	in.UserFile = Source{Path: "own.yaml", Data: []byte(`
providers:
  anthropic: {api_key: ` + canary + `}
  openai: {api_key: "${KEY}"}
notify: [{type: slack, url: "https://hooks.example.com/` + canary + `"}]
`)}
	in.Env = envOf("KEY", canary+"-env")
	l := load(t, in)
	encoded, err := json.Marshal(l.Config)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"json": string(encoded), "show": string(Show(l)),
		"%v": fmt.Sprintf("%v", l.Config), "%+v": fmt.Sprintf("%+v", l.Config), "%#v": fmt.Sprintf("%#v", l.Config.Providers["anthropic"]),
	} {
		if strings.Contains(text, canary) {
			t.Errorf("%s holds the key: %s", name, text)
		}
	}
	got, err := l.Secrets([]string{"anthropic", "openai", "local", "rehearsal"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"anthropic": canary, "openai": canary + "-env", "notify[0].url": "https://hooks.example.com/" + canary}, got); diff != "" {
		t.Error(diff)
	}
	var copied Config
	if err := json.Unmarshal(encoded, &copied); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(l.Config, copied); diff != "" {
		t.Errorf("the run's copy differs: %s", diff)
	}
	if got, err := l.SecretsFor(copied, []string{"anthropic", "openai"}); err != nil || got["anthropic"] != canary || got["openai"] != canary+"-env" {
		t.Errorf("%v %v", got, err)
	}
}

func TestFaultsShowNoSecret(t *testing.T) {
	for _, yaml := range []string{
		"providers: {x: {typ: openai, api_key: " + canary + "}}",
		"providers: {x: {type: openai, api_key: \"" + canary + " \"}}",
		"providers: {x: {type: openai, base_url: 'http://u:" + canary + "@h/v1'}}",
		"providers: {x: {type: openai, api_key: '" + canary + "${'}}",
		"providers: {x: {type: openai, \"api_key\": \"" + canary + "\", zz: 1}}",
		"store: {url: 'mysql://u:" + canary + "@h/x'}",
		"notify: [{type: slack, url: 'http://h/" + canary + "'}]",
		"providers: {x: {type: openai, api_key: " + canary + "}\n",
		"providers:\n  x:\n    type: openai\n    api_key: [" + canary + "]\n",
		"providers:\n  anthropic: " + canary + "\n",
		"providers:\n  x:\n    api_key:\n      " + canary + "\n      - x\n",
		"providers:\n  x:\n    api_key: |\n      a\n      " + canary + "\n     x\n",
		"providers: {x: {type: openai, api_key: >-\n  " + canary + "\n  x: y}}",
	} {
		// a key of a known form is hidden anywhere, another one by its place
		for _, key := range []string{canary, "hunter-canary-012345"} {
			if key != canary && strings.Contains(yaml, "anthropic: ") {
				continue
			}
			_, err := Load(repoInput(strings.ReplaceAll(yaml, canary, key)))
			if err == nil || strings.Contains(err.Error(), key) {
				t.Errorf("%s:\n%v", yaml, err)
			}
		}
	}
}

func TestAnUnsetVariableIsAnErrorOnlyWhenAModelNeedsIt(t *testing.T) {
	l := load(t, repoInput(""))
	if _, err := l.Secrets([]string{"local", "rehearsal"}); err != nil {
		t.Error(err)
	}
	_, err := l.Secrets([]string{"anthropic"})
	if agency.KindOf(err) != agency.KindInvalid || !strings.Contains(fmt.Sprint(err), "ANTHROPIC_API_KEY is not set") || !strings.Contains(agency.MendOf(err), "export ANTHROPIC_API_KEY") {
		t.Errorf("%v, mend %q", err, agency.MendOf(err))
	}
	in := repoInput("")
	in.UserFile = Source{Path: "own.yaml", Data: []byte("providers: {m: {type: openai, base_url: '${BASE}', api_key: none}}\nsandbox: {read: ['${DIR}/x', '../lib']}\n")}
	l = load(t, in)
	if _, err := l.Secrets([]string{"m"}); err == nil || !strings.Contains(err.Error(), "own.yaml:1:41: providers.m.base_url: BASE is not set") {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"/home/u/lib"}, l.Config.Sandbox.Read); diff != "" || len(l.Warnings) != 1 {
		t.Errorf("%s %v", diff, l.Warnings)
	}
}

func TestHostIdle(t *testing.T) {
	for v, want := range map[string]time.Duration{"": time.Minute, "90s": 90 * time.Second, "5": 5 * time.Second, "0": 0, "300ms": 300 * time.Millisecond} {
		if got, err := HostIdle(envOf("AGENCY_HOST_IDLE", v)); err != nil || got != want {
			t.Errorf("%q: %v %v", v, got, err)
		}
	}
	for _, v := range []string{"-1s", "soon", "9999999h"} {
		if _, err := HostIdle(envOf("AGENCY_HOST_IDLE", v)); agency.KindOf(err) != agency.KindInvalid {
			t.Errorf("%q: %v", v, err)
		}
	}
}

// Names of local models hold colons, which stay part of the word in every way
// to write a list.
func TestModelNamesWithColons(t *testing.T) {
	const provider = "providers: {p: {type: openai, base_url: \"http://127.0.0.1:1/v1\", api_key: none}}\n"
	for _, models := range []string{
		"models: {capable: [p/m:7b, p/a/b:1:2-c]}",
		"models: {capable: [p/m:7b , p/a/b:1:2-c ]}",
		"models: {capable: [\"p/m:7b\", 'p/a/b:1:2-c']}",
		"models: {capable: [\n  p/m:7b,\n  p/a/b:1:2-c\n]}",
		"models:\n  capable: [p/m:7b, p/a/b:1:2-c]",
		"models:\n  capable:\n    - p/m:7b\n    - p/a/b:1:2-c",
	} {
		l := load(t, repoInput(provider+models))
		if got := l.Config.Models["capable"]; !slices.Equal(got, []string{"p/m:7b", "p/a/b:1:2-c"}) {
			t.Errorf("%s: %q", models, got)
		}
	}
}

// Every key of the schema does something or is named where a file sets it, also one
// that stands in a list or in an entry of a map; a safety setting that does nothing
// is refused.
func TestNoKeyIsSilentlyIdle(t *testing.T) {
	l := load(t, repoInput("vcs: {type: github}\nnotify: [{type: desktop}, {type: desktop}]\nimprove: {allow_tool_creation: true}\nretry_budget: 2\nagents: {overseer: {talent: x}, scaffolder: {max_turns: 9}}\n"))
	var got []string
	for _, w := range l.Warnings {
		got = append(got, w.Origin.String()+" "+w.Text)
	}
	want := []string{
		"agency.yaml:5 agents.overseer.talent has no effect in this version", "agency.yaml:3 improve.allow_tool_creation has no effect in this version",
		"agency.yaml:1 vcs.type has no effect in this version",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for text, want := range map[string]string{
		"overseer: {enabled: false, loop_detection_window: 6}":                                  "overseer.loop_detection_window has no effect while overseer.enabled is false",
		"overseer: {patterns: {loop_detection: false}, failure_increase_threshold: 6}":          "overseer.failure_increase_threshold has no effect while overseer.patterns.loop_detection is false",
		"overseer: {patterns: {stagnation_detection: false}, stagnation_token_threshold: 6000}": "overseer.stagnation_token_threshold has no effect while overseer.patterns.stagnation_detection is false",
		"overseer: {max_nudges_per_agent: 0, nudge_cooldown_seconds: 6}":                        "overseer.nudge_cooldown_seconds has no effect while overseer.max_nudges_per_agent is 0",
		"routing: {strategy: fixed, simple_max_files: 2}":                                       "routing.simple_max_files has no effect while routing.strategy is fixed",
		"context: {embeddings_model: a/b}\nproviders: {a: {type: openai, api_key: none}}":       "context.embeddings_model has no effect while context.vector_search is false",
	} {
		var got []string
		for _, w := range load(t, repoInput(text+"\n")).Warnings {
			if strings.Contains(w.Text, " no effect ") {
				got = append(got, w.Text)
			}
		}
		if !slices.Equal(got, []string{want}) {
			t.Errorf("%s: %q", text, got)
		}
	}
	if _, err := Load(repoInput("overseer: {enabled: false, halt_on_critical: true}\n")); err == nil || !strings.Contains(err.Error(), "nothing is halted while overseer.enabled is false") {
		t.Error(err)
	}
	rules := load(t, repoInput("quality: {block_on_low_score: true, min_security_score: 90}\n")).Config.QualityRules()
	judged := &agency.QualityRules{Block: true, Off: []agency.Dimension{agency.Performance}, Least: map[agency.Dimension]float64{agency.Overall: 70, agency.Correctness: 80, agency.Security: 90}}
	if diff := cmp.Diff(judged, rules); diff != "" {
		t.Error(diff)
	}
	if load(t, repoInput("quality: {enabled: false}\n")).Config.QualityRules() != nil {
		t.Error("a score that nobody wants has rules")
	}
}
