package report

import (
	"testing"

	"agency/internal/agency"
	"agency/internal/text/texttest"
)

// No text of an agent or of a repository makes a line of the report.
func TestAgentsMakeNoLinesOfTheReport(t *testing.T) {
	r := texttest.Plant[agency.Report]()
	for name, as := range map[string]func(agency.Report) (string, error){"the report": Markdown, "at the gate": Gate} {
		got, err := as(r)
		if err != nil {
			t.Fatal(err)
		}
		texttest.Check(t, name, got)
	}
	texttest.Check(t, "in one line", Summary(r)+"\n"+LocalText(r.Local))
}

// A return between words is not lost: it would join them.
func TestReturnsStandBetweenWords(t *testing.T) {
	if got := Quote("one\rtwo\r\nthree"); got != "> one two\n> three" {
		t.Errorf("%q", got)
	}
}
