package check

import (
	"io"

	"agency/internal/agency"
)

// parseJest adds the results of one report to t: what `jest --json` and Vitest's
// json reporter write.
func parseJest(doc io.Reader, p paths, t *tally) (complete bool) {
	j, seen := newJSON(doc), map[string]int{}
	err := j.object(func(key string) error {
		if key != "testResults" {
			return j.skip()
		}
		complete = true
		return j.array(func() error { return jestFile(j, p, t, seen) })
	})
	return complete && err == nil
}

// jestTest is a test of a file whose name comes later.
type jestTest struct {
	name   []string
	status agency.TestStatus
	out    *kept
}

// jestFile adds the results of one file.
func jestFile(j *jsonReader, p paths, t *tally, seen map[string]int) error {
	var file, status string
	var tests []jestTest
	message := newKept(4 * maxTestOutput)
	failed, outputs, names := false, 0, 0
	err := j.object(func(key string) (err error) {
		switch key {
		case "name":
			file, err = j.word()
		case "status":
			status, err = j.word()
		case "message":
			message, err = j.text(4 * maxTestOutput)
		case "assertionResults":
			return j.array(func() error {
				test, err := jestAssertion(j)
				if err != nil {
					return err
				}
				failed = failed || test.status == agency.TestFailed
				for _, part := range test.name {
					names += len(part)
				}
				if len(tests) >= maxTests || names > maxNames {
					t.dropped++
					return nil
				}
				if outputs += test.out.size(); outputs > maxKept { // more than is ever shown
					test.out = nil
				}
				tests = append(tests, test)
				return nil
			})
		default:
			return j.skip()
		}
		return err
	})
	for _, a := range tests {
		addEvent(reportEvent{File: file, Name: a.name, Status: a.status}, a.out, p, t, seen)
	}
	if status == "failed" && !failed { // the file could not be loaded, or a hook failed
		addEvent(reportEvent{File: file, Status: agency.TestFailed}, message.plain(), p, t, seen)
	}
	return err
}

func jestAssertion(j *jsonReader) (a jestTest, err error) {
	title, status := "", ""
	a.out = newKept(4 * maxTestOutput) // with its colours
	err = j.object(func(key string) (err error) {
		switch key {
		case "ancestorTitles":
			return j.array(func() error {
				above, err := j.word()
				if above != "" && len(a.name) < maxReportDepth { // Vitest's root has no title
					a.name = append(a.name, above)
				}
				return err
			})
		case "title":
			title, err = j.word()
		case "status":
			status, err = j.word()
		case "failureMessages":
			first := true
			return j.array(func() error {
				if !first {
					_, _ = a.out.Write([]byte("\n")) // never fails
				}
				first = false
				return j.into(a.out)
			})
		default:
			return j.skip()
		}
		return err
	})
	if title != "" {
		a.name = append(a.name, title)
	}
	if a.status = jestStatus(status); a.status == agency.TestFailed {
		a.out.plain()
	} else {
		a.out = newKept(0)
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
