package tui

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"agency/internal/agency"
	"agency/internal/api"
)

func TestScreenLetsOnlyItsOwnColoursThrough(t *testing.T) {
	for _, tt := range []struct {
		style    Style
		in, want string
	}{
		{Style{}, "\x1b[31mred\x1b[0m \x1b[2J\u009b2J\u202e\r\b\xff", `red 2J\u202e ` + "\ufffd"},
		{Style{Color: true}, "\x1b[31mred\x1b[0m \x1b[2Jx\x1b[1;33mm\x1b[0m", "\x1b[31mred\x1b[0m x\x1b[1;33mm\x1b[0m"},
		{Style{Color: true}, "\x1b[5mblink \x1b[38;5;1mother \x1b]8;;http://e\x07link.", "blink other link."},
		{Style{Color: true, Live: true}, "a\r\x1b[Kb\x1b[1A\x1b[Jc", "a bc"},
	} {
		var out bytes.Buffer
		n, err := NewScreen(&out, tt.style).Write([]byte(tt.in))
		if err != nil || n != len(tt.in) || out.String() != tt.want {
			t.Errorf("%+v of %q: %q, want %q (%d, %v)", tt.style, tt.in, out.String(), tt.want, n, err)
		}
	}
}

// A log moves the cursor, and what it prints does not.
func TestScreenShowsALog(t *testing.T) {
	var out bytes.Buffer
	l := NewLog(NewScreen(&out, Style{Live: true, Width: 80}), LogOptions{Style: Style{Live: true, Width: 80}})
	for range 2 {
		if err := l.Print("x\x1b[2J\r\x1b[Ky\n"); err != nil {
			t.Fatal(err)
		}
		if err := l.Tick(); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Stop(); err != nil {
		t.Fatal(err)
	}
	plain := strings.ReplaceAll(out.String(), "\r\x1b[K", "")
	if strings.ContainsAny(plain, "\x1b\r") || strings.Count(plain, "x y\n") != 2 {
		t.Errorf("%q", out.String())
	}
}

func FuzzScreen(f *testing.F) {
	f.Add("\x1b[31mx\x1b]0;t\x07\x1b[1;33m\u202e", true)
	f.Add("\u009b\x1b[\x1b[31m0m", true)
	f.Fuzz(func(t *testing.T, s string, color bool) {
		var out bytes.Buffer
		_, _ = NewScreen(&out, Style{Color: color}).Write([]byte(s)) // to memory
		got := out.String()
		for i := strings.IndexByte(got, 0x1b); i >= 0; i = strings.IndexByte(got, 0x1b) {
			n := paintLen(got[i:])
			if n == 0 || !color {
				t.Fatalf("%q gives %q", s, out.String())
			}
			got = got[:i] + got[i+n:]
		}
		if !utf8.ValidString(got) || Clean(got) != got {
			t.Errorf("%q gives %q", s, out.String())
		}
	})
}

func FuzzJSON(f *testing.F) {
	f.Add("a\u202e\u009b\x7f\U000e0041\ufeff\xff")
	f.Fuzz(func(t *testing.T, s string) {
		doc, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var was, is string
		clean := JSON(doc)
		if json.Unmarshal(doc, &was) != nil || json.Unmarshal(clean, &is) != nil || was != is || Clean(string(clean)) != string(clean) {
			t.Errorf("%q is %q", doc, clean)
		}
	})
}

// An answer that goes to a file or a program keeps its letters, whatever their direction, and
// has nothing that steers a terminal.
func TestAnswerIsKept(t *testing.T) {
	const said = "\u202bשלום\u200f\u202c\r\n\ufeffA\tB\u2028"
	var file, terminal strings.Builder
	if err := NewScreen(&file, Style{}).Answer(said + "\x1b[2J\u009b1m"); err != nil || file.String() != said+"[2J1m" {
		t.Errorf("%q, %v", file.String(), err)
	}
	if err := NewScreen(&terminal, Style{Width: 80}).Answer(said); err != nil || strings.ContainsAny(terminal.String(), "\u202b\u200f\r") {
		t.Errorf("%q, %v", terminal.String(), err)
	}
}

// What is said now stands above the progress, its newest end where a line is longer than
// the terminal, and both are gone when the next line of the log comes, also on a terminal
// that became narrower.
func TestSayingIsRedrawnInPlace(t *testing.T) {
	var out bytes.Buffer
	width := 60
	start := time.Date(2026, 3, 1, 22, 4, 0, 0, time.UTC)
	l := NewLog(&out, LogOptions{Style: Style{Live: true, Width: 60}, Start: start, Now: func() time.Time { return start.Add(5 * time.Second) }, Width: func() int { return width }})
	_ = l.Event(someEvents()[0])
	out.Reset()
	_ = l.Say(api.Delta{Session: "s", Role: "generalist", Turn: 1, Kind: api.DeltaText, Begins: true, Text: "First\x1b[2J\nI look at " + strings.Repeat("the very long ", 6) + "parser"})
	got := out.String()
	lines := strings.Split(strings.TrimPrefix(got, "\r\x1b[K"), "\n")
	if len(lines) != 4 || lines[0] != "  First" || columns(lines[1]) > 59 || !strings.HasPrefix(lines[1], "  I look at the very") || !strings.HasSuffix(lines[2], "long parser") || !strings.HasPrefix(lines[3], "running ·") {
		t.Errorf("shows %q", got)
	}
	out.Reset()
	width = 30 // each line is broken in two
	_ = l.Event(someEvents()[2])
	if !strings.HasPrefix(out.String(), "\r\x1b[5A\x1b[J") {
		t.Errorf("takes away %q", out.String())
	}
	out.Reset()
	_ = l.Say(api.Delta{Session: "s", Turn: 1, Done: true})
	if !strings.Contains(out.String(), "parser") { // its calls are carried out
		t.Errorf("what is said is gone: %q", out.String())
	}
	out.Reset()
	_ = l.Event(agency.NewEvent("r", agency.SeverityInfo, "turn 1", agency.TurnCompleted{Session: "s", Turn: 1}))
	if strings.Contains(out.String(), "parser") {
		t.Errorf("what is said stays: %q", out.String())
	}
}

// What an agent of a team says is known by its contract, and calls are a line each.
func TestLatest(t *testing.T) {
	var s Saying
	before := s
	s.Add(api.Delta{Session: "a", Contract: "parser", Role: "scaffolder", Turn: 1, Kind: api.DeltaThinking, Text: "hm", Begins: true},
		api.Delta{Session: "a", Contract: "parser", Role: "scaffolder", Turn: 1, Kind: api.DeltaTool, Text: "read_file {\"path\":"})
	for width, want := range map[int]string{80: "  hm|  read_file {\"path\":", 15: "  hm|  read_file|  {\"path\":"} {
		if got := strings.Join(s.Seen(Style{Width: width + 1}), "|"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	b := s
	b.Add(api.Delta{Session: "b", Contract: "docs", Turn: 1, Kind: api.DeltaText, Text: "I too", Begins: true})
	if got := strings.Join(b.Seen(Style{Width: 21}), "|"); got != "parser: …le {\"path\":|docs: I too" {
		t.Errorf("two say %q", got)
	}
	b.Add(api.Delta{Session: "a", Turn: 1, Kind: api.DeltaTool, Text: "\"a\\tb\\n\"}"}, api.Delta{Session: "a", Turn: 1, Done: true})
	b.Take(&agency.TurnCompleted{Session: "b", Turn: 1})
	b.Told("a", 1)
	if got := strings.Join(b.Seen(Style{Width: 41}), "|"); got != "  read_file {\"path\":\"a    b|  \"}" {
		t.Errorf("what is carried out: %q", got)
	}
	b.Add(api.Delta{Session: "b", Turn: 1, Kind: api.DeltaText, Text: "late", Begins: true})
	if got := b.Seen(Style{Width: 41}); len(got) != 2 {
		t.Errorf("what is over is said: %q", got)
	}
	if s.Doing() != "" || strings.Join(before.Seen(Style{Width: 81}), "") != "" || s.Text(Style{}, "a", 1) != "" || s.Text(Style{}, "a", 0) != "hm\nread_file {\"path\":" {
		t.Errorf("%q, %q", before.Seen(Style{Width: 81}), s.Text(Style{}, "a", 0))
	}
}

// A line that is left goes with all the rows that the terminal has broken it into.
func TestClearLineTakesAllItsRows(t *testing.T) {
	for line, want := range map[string]string{
		"":                      "\r\x1b[J",
		"why not? half":         "\r\x1b[J",
		strings.Repeat("x", 20): "\r\x1b[J",
		strings.Repeat("x", 21): "\r\x1b[1A\x1b[J",
		strings.Repeat("界", 25): "\r\x1b[2A\x1b[J",
	} {
		var out bytes.Buffer
		if err := NewScreen(&out, Style{Live: true}).ClearLine(line, 20); err != nil || out.String() != want {
			t.Errorf("%q: %q, %v", line, out.String(), err)
		}
	}
}
