package testreport

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agency/internal/agency"
)

func TestJUnitShapes(t *testing.T) {
	for name, tt := range map[string]struct {
		doc  string
		want map[string]agency.TestStatus
	}{
		"surefire": {
			`<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="com.x.CalcTest" tests="3"><properties><property name="a" value="b"/></properties>
<testcase name="adds" classname="com.x.CalcTest" time="0.1"/>
<testcase name="divides" classname="com.x.CalcTest"><error message="/ by zero" type="E"><![CDATA[at Calc.java:3]]></error></testcase>
<testcase name="later" classname="com.x.CalcTest"><skipped/></testcase>
<testcase name="shaky" classname="com.x.CalcTest"><flakyFailure message="once"/></testcase></testsuite>`,
			map[string]agency.TestStatus{
				"com.x.CalcTest.adds": agency.TestPassed, "com.x.CalcTest.divides": agency.TestFailed,
				"com.x.CalcTest.later": agency.TestSkipped, "com.x.CalcTest.shaky": agency.TestPassed,
			},
		},
		"pytest": {
			`<testsuites><testsuite name="pytest" errors="0" failures="1"><testcase classname="tests.test_a" name="test_x[1-2]"/>
<testcase classname="tests.test_a" name="test_y"><failure message="assert 1 == 2">def test_y</failure><system-out>noise</system-out></testcase></testsuite></testsuites>`,
			map[string]agency.TestStatus{"tests.test_a.test_x[1-2]": agency.TestPassed, "tests.test_a.test_y": agency.TestFailed},
		},
		"jest": {
			`<testsuites name="jest tests"><testsuite name="math"><testcase classname="math adds" name="math adds"/>
<testcase classname="math subtracts" name="math subtracts"><failure>Error</failure></testcase></testsuite></testsuites>`,
			map[string]agency.TestStatus{"math adds": agency.TestPassed, "math subtracts": agency.TestFailed},
		},
		"gotestsum": {
			`<testsuites><testsuite name="ex.com/p"><testcase classname="ex.com/p" name="TestA/sub"/></testsuite></testsuites>`,
			map[string]agency.TestStatus{"ex.com/p.TestA/sub": agency.TestPassed},
		},
		"no classes, same name twice": {
			`<testsuite name="s"><testcase name="a"><failure/></testcase><testcase name="a"/></testsuite>`,
			map[string]agency.TestStatus{"s.a": agency.TestFailed},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tl := NewTally()
			if complete, err := ReadJUnit(strings.NewReader(tt.doc), Paths{}, tl); err != nil || !complete {
				t.Fatalf("complete %v, %v", complete, err)
			}
			if diff := cmp.Diff(tt.want, byName(tl)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A report is written by the code under test: it must not cost more than its
// size, nor reach anything.
func TestJUnitAttacks(t *testing.T) {
	bomb := `<!DOCTYPE testsuites [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;">]>
<testsuites><testsuite name="&c;"><testcase name="x"/></testsuite></testsuites>`
	outside := `<!DOCTYPE testsuites [<!ENTITY x SYSTEM "file:///etc/passwd">]><testsuites><testsuite><testcase name="&x;"/></testsuite></testsuites>`
	deep := "<testsuites>" + strings.Repeat("<a>", 1000)
	for name, doc := range map[string]string{"bomb": bomb, "outside": outside, "deep": deep, "cut": "<testsuite><testcase name='a'>"} {
		tl := NewTally()
		if complete, err := ReadJUnit(strings.NewReader(doc), Paths{}, tl); err == nil && complete {
			t.Errorf("%s was taken for whole: %v", name, tl.List())
		}
		for _, r := range tl.List() {
			if strings.Contains(r.Name, "root:") || len(r.Name) > 1000 {
				t.Errorf("%s: %.100s", name, r.Name)
			}
		}
	}
	for _, doc := range []string{"", "PASS", "<html><testsuite/></html>", "<project/>", "{}"} {
		if _, err := ReadJUnit(strings.NewReader(doc), Paths{}, NewTally()); err == nil {
			t.Errorf("%q was taken for a report", doc)
		}
	}
}
