package staging

import (
	"strings"
	"testing"
	"time"

	"agency/internal/agency"
)

func TestAlike(t *testing.T) {
	done := func(id, title, text string, files ...string) agency.Contract {
		c := agency.Contract{ID: agency.ContractID(id), RunID: "r", Title: title, Description: text, Status: agency.StatusComplete, CompletedAt: time.Unix(int64(len(id)), 0)}
		c.ActualOutputs.FilesModified = files
		return c
	}
	ended := []agency.Contract{
		done("css", "Colour the buttons", "the buttons of the shop are to be blue"),
		done("hours", "Parse durations such as 1h30m in the loader", "the loader of the configuration takes durations", "config/load.go"),
		done("days", "Parse durations with days in the loader", "the loader takes 2d, too", "config/load.go"),
		done("docs", "Write the manual", "how the shop is installed"),
	}
	c := agency.Contract{ID: "weeks", Title: "Parse durations with weeks in the loader", Description: "the loader takes 3w as a duration", RelevantFiles: []string{"config/load.go"}}
	var got []string
	for _, e := range Alike(c, ended) {
		got = append(got, string(e.ID))
	}
	if want := "hours days"; strings.Join(got, " ") != want {
		t.Errorf("alike are %v, want %s", got, want)
	}
	if other := Alike(agency.Contract{ID: "x", Title: "Send mails", Description: "over the queue"}, ended); len(other) > 0 {
		t.Errorf("alike are %v", other)
	}
}

func TestEndedItem(t *testing.T) {
	c := agency.Contract{ID: "days", RunID: "r", Title: "Parse days", Description: "2d", Status: agency.StatusComplete}
	i := Ended{c, []string{"a test was red"}, strings.Repeat("+ a line\n", 1000)}.Item()
	for _, want := range []string{"Parse days", "- a test was red", "+ a line", "left out"} {
		if !strings.Contains(i.Text, want) {
			t.Errorf("no %q in %s", want, i.Text)
		}
	}
	if i.Path != "r/days" || i.Whole || len(i.Text) > maxEnded+100 || !strings.Contains(i.Why, "has landed") {
		t.Errorf("%+v", i)
	}
	c.Status = agency.StatusFailed
	if i := (Ended{Contract: c}).Item(); !i.Whole || !strings.Contains(i.Why, "failed") {
		t.Errorf("%+v", i)
	}
}
