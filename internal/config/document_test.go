package config

import (
	"strings"
	"testing"

	"agency/internal/agency"

	"github.com/google/go-cmp/cmp"
)

// A document's faults are those of a configuration: in order, with the line that the
// file has, and keys masked.
func TestDocument(t *testing.T) {
	text := "---\ntext: a\nwhole: 70\nbool: 1\nlist: {}\nmap: []\nnone:\nprint: \"\\e\"\ntoken: abcdefghijkl\n---\nbelow"
	lines := strings.Split(text, "\n")
	d := ReadDocument(Source{Path: "x.md", Data: []byte(strings.Join(lines[:9], "\n"))}, lines, "text: a")
	d.Fault(11, 1, "below the YAML")
	d.Fault(0, 0, "as a whole")
	for _, p := range d.Pairs() {
		switch p.Key {
		case "text":
			if s, ok := d.Text(p.Value, p.Key); s != "a" || !ok || p.Line != 2 {
				t.Errorf("%q, %v, line %d", s, ok, p.Line)
			}
		case "whole":
			if n, ok := d.Whole(p.Value, p.Key, 70, 70); n != 70 || !ok {
				t.Errorf("%d, %v", n, ok)
			}
			d.Whole(p.Value, p.Key, 1, 69)
		case "bool":
			d.Bool(p.Value, p.Key)
		case "list":
			d.List(p.Value, p.Key)
		case "map":
			d.Map(p.Value, p.Key)
		case "none", "print":
			d.Text(p.Value, p.Key)
		case "token":
			d.Fault(p.Line, p.Col, "a key")
		}
	}
	var got []string
	for line := range strings.SplitSeq(d.Faults().Err().Error(), "\n") {
		if !strings.HasSuffix(line, "^") {
			got = append(got, strings.TrimPrefix(line, "agency: "))
		}
	}
	if diff := cmp.Diff([]string{
		"config: x.md: as a whole",
		`config: x.md:3:8: whole must be from 1 to 69, not "70"`, "    3 | whole: 70",
		`config: x.md:4:7: bool must be true or false, not a whole number ("1")`, "    4 | bool: 1",
		"config: x.md:5:7: list must be a list, not a mapping", "    5 | list: {}",
		"config: x.md:6:6: map must be a mapping, not a list", "    6 | map: []",
		"config: x.md:7:6: none has no value: want text", "    7 | none:",
		"config: x.md:8:8: print contains the character U+001B, which does not print", `    8 | print: "\e"`,
		"config: x.md:9:1: a key", "    9 | token: ************",
		"config: x.md:11:1: below the YAML", "   11 | below",
	}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := d.Faults().Err(); agency.KindOf(err) != agency.KindInvalid {
		t.Errorf("kind %s", agency.KindOf(err))
	}
	if err := ReadDocument(Source{Path: "x.md", Data: []byte("- a")}, []string{"- a"}, "text: a").Faults().Err(); err == nil || !strings.Contains(err.Error(), "for instance text: a") {
		t.Errorf("%v", err)
	}
	if err := (Faults{}).Err(); err != nil {
		t.Errorf("no faults: %v", err)
	}
}
