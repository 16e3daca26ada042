package node

import (
	"encoding/json"
	"io"
	"path"
	"strings"

	"agency/internal/agency"
	"agency/internal/ecosystem"
	"agency/internal/regexp"
	"agency/internal/testreport"
)

// The runners.
const (
	nodeTest = "node --test"
	jest     = "jest"
	vitest   = "vitest"
	mocha    = "mocha"
)

func runners() []ecosystem.Runner {
	var out []ecosystem.Runner
	for _, name := range []string{jest, vitest, mocha, nodeTest} {
		of := func(c ecosystem.Call) nodeCall { return nodeCall{c, name} }
		r := ecosystem.Runner{
			Name:          name,
			Runs:          func(words []string) bool { return runs(name, words) },
			ByEnvironment: name == nodeTest,
			Ask:           func(c ecosystem.Call, q ecosystem.Query) (ecosystem.Asked, bool) { return of(c).ask(q) },
			Reports:       "*",
			Read:          ecosystem.ReadReporter,
			Select: func(c ecosystem.Call, s ecosystem.Selection, repo ecosystem.Repo) ([]ecosystem.Edit, bool) {
				return of(c).pick(s, repo)
			},
			Names: func(test string) bool {
				file, _, inFile := strings.Cut(test, testreport.Separator)
				return inFile && path.Ext(file) != ""
			},
			Pick: func(test string) (file, name string) {
				file, name, _ = strings.Cut(test, testreport.Separator)
				return file, repeated.ReplaceAllString(name, "")
			},
			Shuffle:  func(c ecosystem.Call, repo ecosystem.Repo) []ecosystem.Edit { return of(c).reordered(repo) },
			Sources:  []string{".js", ".cjs", ".mjs", ".jsx", ".ts", ".cts", ".mts", ".tsx", ".vue", ".svelte"},
			Language: ecosystem.Node,
			Together: name == mocha,
			Config: func(c ecosystem.Call, repo ecosystem.Repo) string {
				return of(c).scriptTexts(repo) + c.Configs(repo, configs...)
			},
			Affected: func(c ecosystem.Call, a ecosystem.Affected, repo ecosystem.Repo) ([]ecosystem.Edit, func(string) bool, bool) {
				edits, ok := of(c).affected(a, repo)
				return edits, nil, ok
			},
			Coverage: readV8,
		}
		if name == jest || name == vitest {
			r.Read = func(r ecosystem.Report) (complete, ok bool) { return readJest(r.Doc, r.At, r.Tests), true }
			r.Coverage = func(m ecosystem.Measured) {
				m.Each("-cov/lcov.info", 1, func(doc io.Reader) { m.Profile.ReadLCOV(doc, m.At) })
			}
		}
		out = append(out, r)
	}
	return out
}

// repeated tells tests of one name apart.
var repeated = regexp.MustCompile(` \(\d+\)$`)

// configs are the files in which the runners name others.
var configs = []string{
	"jest.config.*", "jest-preset.*", "vitest.config.*", "vitest.workspace.*", "vite.config.*", ".mocharc*", "test/mocha.opts",
	"babel.config.*", ".babelrc*", ".swcrc", ".taprc",
}

// runs tells whether words are a call of a runner that runs tests.
func runs(name string, w []string) bool {
	base := strings.TrimSuffix(path.Base(w[0]), ".js")
	switch name {
	case jest:
		return base == "jest" && !ecosystem.HasWord(w, "--listTests", "--watch", "--watchAll", "--showConfig", "--version", "--help", "--json")
	case vitest:
		return (base == "vitest" || base == "vitest.mjs") && !ecosystem.HasWord(w, "watch", "dev", "bench", "list", "--watch", "-w", "--ui", "--help", "--version")
	case mocha:
		return (base == "mocha" || base == "_mocha") && !ecosystem.HasWord(w, "--watch", "-w", "--list-files", "--reporter", "-R", "--help", "--version", "--list-reporters")
	}
	return (base == "node" || base == "tsx") && runsNodeTests(w)
}

// runsNodeTests tells whether --test stands before the first file.
func runsNodeTests(w []string) bool {
	for _, a := range w[1:] {
		if a == "--test" {
			return !ecosystem.HasWord(w, "--watch")
		}
		if !strings.HasPrefix(a, "-") && !strings.HasPrefix(a, ".") && a != "tsx" && a != "ts-node/esm" {
			return false
		}
	}
	return false
}

// affected has a call run what a change can affect.
func (c nodeCall) affected(a ecosystem.Affected, repo ecosystem.Repo) ([]ecosystem.Edit, bool) {
	switch c.runner {
	case mocha:
		return a.Ignoring(c.Call, c.At, "--ignore ")
	case nodeTest:
		return c.naming(a, repo)
	}
	return c.related(a, repo)
}

// packageScripts are the lines that a package.json names.
func packageScripts(manifest []byte) map[string]string {
	var pkg struct {
		Scripts map[string]string `json:"scripts"`
	}
	if json.Unmarshal(manifest, &pkg) != nil {
		return nil
	}
	return pkg.Scripts
}

// readJest adds the results of one report to t: what `jest --json` and Vitest's
// json reporter write.
func readJest(doc io.Reader, p testreport.Paths, t *testreport.Tally) (complete bool) {
	j, seen := testreport.NewJSON(doc), map[string]int{}
	err := j.Object(func(key string) error {
		if key != "testResults" {
			return j.Skip()
		}
		complete = true
		return j.Array(func() error { return jestFile(j, p, t, seen) })
	})
	return complete && err == nil
}

// jestTest is a test of a file whose name comes later.
type jestTest struct {
	name   []string
	status agency.TestStatus
	out    *testreport.Excerpt
}

// jestFile adds the results of one file.
func jestFile(j *testreport.JSON, p testreport.Paths, t *testreport.Tally, seen map[string]int) error {
	var file, status string
	var tests []jestTest
	message := testreport.NewExcerpt(4 * testreport.MaxTestOutput)
	failed, outputs, names := false, 0, 0
	err := j.Object(func(key string) (err error) {
		switch key {
		case "name":
			file, err = j.Word()
		case "status":
			status, err = j.Word()
		case "message":
			message, err = j.Text(4 * testreport.MaxTestOutput)
		case "assertionResults":
			return j.Array(func() error {
				test, err := jestAssertion(j)
				if err != nil {
					return err
				}
				failed = failed || test.status == agency.TestFailed
				for _, part := range test.name {
					names += len(part)
				}
				if len(tests) >= testreport.MaxTests || names > testreport.MaxNames {
					t.Dropped++
					return nil
				}
				if outputs += test.out.Size(); outputs > testreport.MaxKept { // more than is ever shown
					test.out = nil
				}
				tests = append(tests, test)
				return nil
			})
		default:
			return j.Skip()
		}
		return err
	})
	for _, a := range tests {
		testreport.AddEvent(testreport.Event{File: file, Name: a.name, Status: a.status}, a.out, p, t, seen)
	}
	if status == "failed" && !failed { // the file could not be loaded, or a hook failed
		testreport.AddEvent(testreport.Event{File: file, Status: agency.TestFailed}, message.Plain(), p, t, seen)
	}
	return err
}

func jestAssertion(j *testreport.JSON) (a jestTest, err error) {
	title, status := "", ""
	a.out = testreport.NewExcerpt(4 * testreport.MaxTestOutput) // with its colours
	err = j.Object(func(key string) (err error) {
		switch key {
		case "ancestorTitles":
			return j.Array(func() error {
				above, err := j.Word()
				if above != "" && len(a.name) < testreport.MaxDepth { // Vitest's root has no title
					a.name = append(a.name, above)
				}
				return err
			})
		case "title":
			title, err = j.Word()
		case "status":
			status, err = j.Word()
		case "failureMessages":
			first := true
			return j.Array(func() error {
				if !first {
					_, _ = a.out.Write([]byte("\n")) // never fails
				}
				first = false
				return j.Into(a.out)
			})
		default:
			return j.Skip()
		}
		return err
	})
	if title != "" {
		a.name = append(a.name, title)
	}
	if a.status = jestStatus(status); a.status == agency.TestFailed {
		a.out.Plain()
	} else {
		a.out = testreport.NewExcerpt(0)
	}
	return a, err
}

func jestStatus(s string) agency.TestStatus {
	switch s {
	case "passed":
		return agency.TestPassed
	case "failed":
		return agency.TestFailed
	default: // pending, skipped, todo, disabled, focused
		return agency.TestSkipped
	}
}
