package linters

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"agency/internal/agency"
	"agency/internal/bounded"
	"agency/internal/quality"
	"agency/internal/text"
)

// Bounds of what is read of one analyzer.
const (
	maxValues   = 300_000 // keys and values of a document
	maxLines    = 50_000  // of a document a line
	maxFindings = 5_000
	maxMessage  = 300
)

// Said is what a call came to in the sandbox.
type Said struct {
	Out   []byte // standard output
	Exit  int
	Last  string // the last line that it printed, of either output
	Cause string // why it did not end by itself; empty: it did
	Full  bool   // it printed more than is kept
	Root  string // where it saw the checkout
}

// ErrMissing says that an analyzer is not there.
var ErrMissing = errors.New("not installed")

// reader reads what an analyzer prints. Files are as it names them.
type reader func(out []byte, root string) ([]agency.QualityFinding, error)

// Read reads what a call printed: the findings in the files that it was asked about.
func (c Call) Read(s Said) ([]agency.QualityFinding, error) {
	switch {
	case s.Cause != "":
		return nil, errors.New(s.Cause)
	case s.Full:
		return nil, errors.New("it printed more than is read")
	case s.Exit == missing:
		return nil, ErrMissing
	}
	all, err := c.of.read(s.Out, s.Root)
	if err != nil || len(all) == 0 && s.Exit != 0 {
		return nil, fmt.Errorf("it ended with %d: %s", s.Exit, text.FirstLine(said(s.Last, err), 200))
	}
	var out []agency.QualityFinding
	for _, f := range all {
		if file, ok := c.file(f.File, s.Root); ok && f.Line > 0 && len(out) < maxFindings {
			f.Analyzer, f.File, f.Message = c.Analyzer, file, text.FirstLine(f.Message, maxMessage)
			f.Rule = text.FirstLine(f.Rule, 80)
			out = append(out, meant(f))
		}
	}
	slices.SortFunc(out, agency.CompareFindings)
	return slices.Compact(out), nil
}

func said(last string, err error) string {
	if last == "" && err != nil {
		return err.Error()
	}
	return last
}

// file is the changed file that a name stands for: relative to where the call ran, or to a
// folder above, as that of a workspace of Cargo is. Another is none of what it was asked about.
func (c Call) file(name, root string) (string, bool) {
	if filepath.IsAbs(name) {
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return "", false
		}
		return rel, slices.Contains(c.Files, rel)
	}
	for dir := c.Dir; ; dir = path.Dir(dir) {
		if p := path.Join(dir, name); slices.Contains(c.Files, p) {
			return p, true
		}
		if dir == "." {
			return "", false
		}
	}
}

func sarif(out []byte, root string) ([]agency.QualityFinding, error) {
	all, err := quality.ReadSARIF(out, root)
	for _, f := range all {
		if f.Rule == "typecheck" { // of golangci-lint: it could not read the sources
			return nil, errors.New(f.Message)
		}
	}
	return all, err
}

// whole reads a document of JSON.
func whole(out []byte, into any) error {
	if err := bounded.JSON(bytes.NewReader(out), maxValues, func([]string, json.Token) error { return nil }); err != nil {
		return err
	}
	return json.Unmarshal(out, into)
}

// eachLine reads documents of JSON, one a line; what is no object says nothing.
func eachLine[T any](out []byte, each func(T) error) error {
	n := 0
	for line := range bytes.Lines(out) {
		if n++; n > maxLines {
			return fmt.Errorf("more than %d lines", maxLines)
		}
		if len(line) < 3 || line[0] != '{' {
			continue
		}
		var one T
		if err := whole(line, &one); err != nil {
			return err
		}
		if err := each(one); err != nil {
			return err
		}
	}
	return nil
}

func staticcheck(out []byte, _ string) (all []agency.QualityFinding, err error) {
	type problem struct {
		Code, Message string
		Location      struct {
			File string
			Line int
		}
	}
	err = eachLine(out, func(p problem) error {
		if p.Code == "compile" || p.Code == "config" {
			return errors.New(strings.ReplaceAll(p.Message, "\n", " "))
		}
		all = append(all, agency.QualityFinding{Rule: p.Code, Severity: agency.IssueMinor, Dimension: agency.Correctness, File: p.Location.File, Line: p.Location.Line, Message: p.Message})
		return nil
	})
	return all, err
}

// levels are the words of analyzers for how bad something is.
var levels = map[string]agency.IssueSeverity{
	"HIGH": agency.IssueMajor, "MEDIUM": agency.IssueMinor, "LOW": agency.IssueNitpick, "error": agency.IssueMajor, "warning": agency.IssueMinor,
}

func bandit(out []byte, _ string) (all []agency.QualityFinding, err error) {
	var doc struct {
		Results []struct {
			Filename      string `json:"filename"`
			IssueSeverity string `json:"issue_severity"`
			IssueText     string `json:"issue_text"`
			LineNumber    int    `json:"line_number"`
			TestID        string `json:"test_id"`
		} `json:"results"`
	}
	err = whole(out, &doc)
	for _, r := range doc.Results {
		all = append(all, agency.QualityFinding{
			Rule: r.TestID, Severity: levels[r.IssueSeverity], Dimension: agency.Security, File: r.Filename, Line: r.LineNumber, Message: r.IssueText,
		})
	}
	return all, err
}

func gosec(out []byte, _ string) (all []agency.QualityFinding, err error) {
	var doc struct {
		Issues []struct {
			Severity string `json:"severity"`
			RuleID   string `json:"rule_id"`
			Details  string `json:"details"`
			File     string `json:"file"`
			Line     string `json:"line"` // or lines: 6-8
		}
	}
	err = whole(out, &doc)
	for _, i := range doc.Issues {
		from, _, _ := strings.Cut(i.Line, "-")
		line, _ := strconv.Atoi(from) // 0: nowhere
		all = append(all, agency.QualityFinding{Rule: i.RuleID, Severity: levels[i.Severity], Dimension: agency.Security, File: i.File, Line: line, Message: i.Details})
	}
	return all, err
}

func eslint(out []byte, _ string) (all []agency.QualityFinding, err error) {
	var doc []struct {
		FilePath string `json:"filePath"`
		Messages []struct {
			RuleID   string `json:"ruleId"`
			Severity int    `json:"severity"`
			Line     int    `json:"line"`
			Message  string `json:"message"`
			Fatal    bool   `json:"fatal"`
		} `json:"messages"`
	}
	err = whole(out, &doc)
	for _, f := range doc {
		for _, m := range f.Messages {
			if m.Fatal {
				return nil, errors.New(m.Message)
			}
			severity := agency.IssueMinor
			if m.Severity == 2 {
				severity = agency.IssueMajor
			}
			if m.RuleID != "" { // without one it speaks of itself
				all = append(all, agency.QualityFinding{Rule: m.RuleID, Severity: severity, Dimension: agency.Readability, File: f.FilePath, Line: m.Line, Message: m.Message})
			}
		}
	}
	return all, err
}

func clippy(out []byte, _ string) (all []agency.QualityFinding, err error) {
	type message struct {
		Reason  string
		Message struct {
			Message, Level string
			Code           struct{ Code string }
			Spans          []struct {
				File    string `json:"file_name"`
				Line    int    `json:"line_start"`
				Primary bool   `json:"is_primary"`
			}
		}
	}
	err = eachLine(out, func(m message) error {
		for _, s := range m.Message.Spans {
			if m.Reason == "compiler-message" && s.Primary && m.Message.Code.Code != "" {
				all = append(all, agency.QualityFinding{
					Rule: m.Message.Code.Code, Severity: levels[m.Message.Level], Dimension: agency.Readability, File: s.File, Line: s.Line, Message: m.Message.Message,
				})
				break
			}
		}
		return nil
	})
	return all, err
}
