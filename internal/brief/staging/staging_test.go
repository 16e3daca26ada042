package staging

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"agency/internal/agency"

	"github.com/google/go-cmp/cmp"
)

func repository(pairs ...string) fstest.MapFS {
	out := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return out
}

// shop is a small Go repository, with one thing in other languages.
func shop() fstest.MapFS {
	out := repository(
		"go.mod", "module shop\n\ngo 1.26\n",
		"README.md", "A shop. Timeouts are configured in seconds.\n",
		"config/timeout.go", "package config\n\nimport \"shop/internal/units\"\n\n// Timeout reads a timeout in seconds.\nfunc Timeout(s string) (int, error) { return units.Seconds(s) }\n",
		"config/timeout_test.go", "package config\n\nfunc TestTimeout(t *testing.T) { Timeout(\"1\") }\n",
		"config/retry.go", "package config\n\n// Retry reads a number of tries in a string.\nfunc Retry(s string) (int, error) { return units.Seconds(s) }\n",
		"internal/units/units.go", "package units\n\n// Seconds parses whole seconds.\nfunc Seconds(s string) (int, error) { return 0, nil }\n\nfunc hidden() {}\n",
		"server/server.go", "package server\n\nimport \"shop/config\"\n\n// Serve serves.\nfunc Serve() { config.Timeout(\"3\") }\n",
		"web/app.ts", "import { load } from './load.js'\nexport function app() { load() }\n",
		"web/load.ts", "export function load() {}\n",
		"web/app.test.ts", "import { app } from './app'\n",
		"tools/job.py", "from tools.lib import run\n\ndef main():\n    run()\n",
		"tools/lib.py", "def run():\n    pass\n",
		"tests/test_job.py", "from tools.job import main\n",
		"vendor/x/x.go", "package x // Timeout Timeout Timeout\n",
		"logo.png", "\x00\x01",
	)
	for i := range 40 {
		out[fmt.Sprintf("other/file%02d.go", i)] = &fstest.MapFile{Data: []byte("package other\n")}
	}
	return out
}

func contract(words string, set ...func(*agency.Contract)) agency.Contract {
	c := agency.Contract{ID: "main", Title: words, Description: words, AcceptanceCriteria: []agency.Criterion{{ID: "goal", Text: words}}}
	for _, f := range set {
		f(&c)
	}
	return c
}

func stage(t *testing.T, in Input) []string {
	t.Helper()
	if in.FS == nil {
		in.FS = shop()
	}
	if in.Limits == (Limits{}) {
		in.Limits = Limits{MaxTokens: 20_000, Tests: true, Similar: true}
	}
	got, err := Stage(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	room := in.Limits.MaxTokens * bytesPerToken
	for _, i := range got {
		if room -= int64(len(i.Text)+len(i.Path)) + overhead; room < 0 {
			t.Errorf("more than %d tokens", in.Limits.MaxTokens)
		}
		out = append(out, string(i.Kind)+" "+i.Path)
	}
	return out
}

func TestStage(t *testing.T) {
	for name, tt := range map[string]struct {
		in   Input
		want []string // among the staged, the first of them first
		not  []string
	}{
		"by words": {
			Input{Contract: contract("config.Timeout must also read durations like 1h30m")},
			[]string{"source config/timeout.go", "tests config/timeout_test.go", "apis internal/units/units.go", "source server/server.go"},
			[]string{"source vendor/x/x.go", "source other/file01.go"},
		},
		"named": {
			Input{Contract: contract("mend it", func(c *agency.Contract) { c.RelevantFiles = []string{"tools/job.py"} })},
			[]string{"source tools/job.py", "tests tests/test_job.py", "apis tools/lib.py"},
			nil,
		},
		"by writes": {
			Input{Contract: contract("mend it", func(c *agency.Contract) { c.Writes = []string{"web/app.ts#app"} })},
			[]string{"source web/app.ts", "tests web/app.test.ts", "apis web/load.ts"},
			nil,
		},
		"by history": {
			Input{
				Contract: contract("mend it", func(c *agency.Contract) { c.RelevantFiles = []string{"tools/job.py"} }),
				Recent:   [][]string{{"tools/job.py", "server/server.go"}},
			},
			[]string{"source tools/job.py", "apis server/server.go"},
			nil,
		},
		"without tests and examples": {
			Input{Contract: contract("config.Timeout must read durations"), Limits: Limits{MaxTokens: 20_000}},
			[]string{"source config/timeout.go"},
			[]string{"tests config/timeout_test.go", "examples config/retry.go"},
		},
		"small": {
			Input{Contract: contract("config.Timeout must read durations"), Limits: Limits{MaxTokens: 110, Tests: true}},
			[]string{"source config/timeout.go"},
			[]string{"tests config/timeout_test.go"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := stage(t, tt.in)
			if len(got) == 0 || got[0] != tt.want[0] {
				t.Fatalf("staged %q, want first %q", got, tt.want[0])
			}
			all := strings.Join(got, "\n") + "\n"
			for _, w := range tt.want {
				if !strings.Contains(all, w+"\n") {
					t.Errorf("%s is not staged:\n%s", w, all)
				}
			}
			for _, w := range tt.not {
				if strings.Contains(all, w+"\n") {
					t.Errorf("%s is staged:\n%s", w, all)
				}
			}
			for range 5 {
				if diff := cmp.Diff(got, stage(t, tt.in)); diff != "" {
					t.Fatalf("another order:\n%s", diff)
				}
			}
		})
	}
}

func TestNothingIsStagedWithoutABudget(t *testing.T) {
	got, err := Stage(t.Context(), Input{FS: shop(), Contract: contract("Timeout")})
	if err != nil || len(got) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

// Of a long file the parts are staged that the contract speaks of.
func TestPartsOfALongFile(t *testing.T) {
	var b strings.Builder
	b.WriteString("package long\n")
	for i := range 3000 {
		fmt.Fprintf(&b, "// line %d of nothing\n", i)
		if i == 2000 {
			b.WriteString("func ParseTimeout() {}\n")
		}
	}
	got, err := Stage(t.Context(), Input{
		FS: repository("long.go", b.String()), Contract: contract("ParseTimeout reads too little"), Limits: Limits{MaxTokens: 50_000},
	})
	if err != nil || len(got) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	i := got[0]
	if i.Whole || len(i.Text) > wholeFile || !strings.Contains(i.Text, "func ParseTimeout() {}") || !strings.Contains(i.Text, "left out") {
		t.Errorf("whole %v, %d bytes", i.Whole, len(i.Text))
	}
}

func FuzzStage(f *testing.F) {
	f.Add("Timeout", "config/*.go", "../x")
	f.Add("", "[", "**/x**")
	f.Fuzz(func(t *testing.T, words, writes, relevant string) {
		c := contract(words, func(c *agency.Contract) { c.Writes, c.RelevantFiles = []string{writes}, []string{relevant} })
		if _, err := Stage(t.Context(), Input{FS: shop(), Contract: c, Limits: Limits{MaxTokens: 1000, Tests: true, Similar: true}}); err != nil {
			t.Fatal(err)
		}
	})
}

// A large repository is staged within a second or two.
func BenchmarkStage(b *testing.B) {
	files := shop()
	for i := range 5000 {
		files[fmt.Sprintf("gen/p%d/f%d.go", i%100, i)] = &fstest.MapFile{Data: []byte("package p\n\nimport \"shop/config\"\n" + strings.Repeat("// some words of code and Timeout\n", 80))}
	}
	for b.Loop() {
		if _, err := Stage(b.Context(), Input{
			FS: files, Contract: contract("config.Timeout must also read durations like 1h30m"), Limits: Limits{MaxTokens: 100_000, Tests: true, Similar: true},
		}); err != nil {
			b.Fatal(err)
		}
	}
}
